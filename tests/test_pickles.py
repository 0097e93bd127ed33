"""What nbgrad gives for a function is pickled as the function and its options."""

import copy
import pickle

import numpy as np
import pytest
from children import run

import nbgrad


def loss(w, x):
    return np.sum(np.tanh(w * x) ** 2)


def curve(x):
    return np.tanh(x) * x


W, X = np.array([0.5, -1.0, 2.0]), np.array([1.0, 2.0, 0.3])
MADE = {
    "grad": (nbgrad.grad(loss, (0, 1)), (W, X)),
    "grad of grad": (nbgrad.grad(nbgrad.grad(np.tanh)), (0.5,)),
    "value_and_grad": (nbgrad.value_and_grad(loss, 1), (W, X)),
    "elementwise_grad": (nbgrad.elementwise_grad(curve), (X,)),
    "vmap": (nbgrad.vmap(nbgrad.grad(loss), in_axes=(None, 0)), (W, np.stack([X, W]))),
    "jacobian": (nbgrad.jacobian(curve, mode="reverse"), (X,)),
    "hessian": (nbgrad.hessian(loss), (W, X)),
    "hvp": (nbgrad.hvp(loss), (W, X, X)),
    "checkpoint": (nbgrad.checkpoint(curve), (X,)),
    "compile": (nbgrad.compile(nbgrad.value_and_grad(loss)), (W, X)),
}


def parts(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("way", [lambda f: pickle.loads(pickle.dumps(f)), copy.deepcopy, copy.copy])
@pytest.mark.parametrize("name", MADE)
def test_a_copy_gives_the_same(name, way):
    f, args = MADE[name]
    other = way(f)
    assert other.__name__ == f.__name__
    for a, b in zip(parts(other(*args)), parts(f(*args)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_compiled_one_finds_its_program_in_the_cache():
    f = nbgrad.compile(nbgrad.grad(np.tanh))
    f(0.5)
    session = run(f"""
import pickle, nbgrad
f = pickle.loads({pickle.dumps(f)!r})
value = f(0.5)
result = float(value), nbgrad.stats()["compiled"]
""")
    assert session.result == [f(0.5), 0]


def test_what_a_transformed_closure_holds_gets_a_gradient():
    def scaled(a):
        return lambda x: a * x**3

    state, x_bar = nbgrad.pullback(nbgrad.grad(scaled(2.0)), 1.5)[1](1.0)
    assert state == {"function": {"a": 3.0 * 1.5**2}} and x_bar == 6.0 * 2.0 * 1.5
