"""What nbgrad gives for a function is pickled as the function and its options."""

import copy
import functools
import multiprocessing
import pickle
import types
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import cloudpickle
import numpy as np
import pytest
from helpers.children import run

import nbgrad


def loss(w, x):
    return np.sum(np.tanh(w * x) ** 2)


def curve(x):
    return np.tanh(x) * x


def clipped_back(ct, out, x):
    return ct * np.minimum(out, 10.0)


def with_rest(x):
    return np.sin(x), "rest"


def scale(x, factor):
    return factor * x * x


def one(x, out):
    return 2.0 * x


@nbgrad.compile
def named(x):
    return np.sum(np.tanh(x) ** 2)


@nbgrad.custom_rule(pullback=clipped_back)
def clipped(x):
    return np.exp(x)


@nbgrad.custom_elementwise(partials=[one])
def squared(x):
    return x * x


@nbgrad.vmap
def rows(x):
    return np.sum(x)


class Model:
    @nbgrad.checkpoint
    def forward(self, x):
        return x * x


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
    "compile of custom": (nbgrad.compile(nbgrad.grad(clipped)), (5.0,)),
    "grad of elementwise": (nbgrad.grad(squared), (5.0,)),
    "custom_rule": (nbgrad.custom_rule(np.exp, pullback=clipped_back), (5.0,)),
    "custom_elementwise": (nbgrad.custom_elementwise("x * x", partials=[one]), (5.0,)),
    "partial": (nbgrad.grad(functools.partial(scale, factor=3.0)), (2.0,)),
    "partial of compiled": (functools.partial(nbgrad.compile(scale), factor=3.0), (2.0,)),
    "vjp": (nbgrad.vjp(curve, X)[1], (W,)),
    "vjp with aux": (nbgrad.vjp(with_rest, X, has_aux=True)[1], (W,)),
    "pullback": (nbgrad.pullback(curve, X)[1], (W,)),
    "rrule": (nbgrad.rrule(np.sin, X)[1], (W,)),
    "linearize": (nbgrad.linearize(curve, X)[1], (W,)),
    "transpose of linearize": (nbgrad.linearize(loss, W, X)[1].transpose, (1.0,)),
    "linear_transpose": (nbgrad.linear_transpose(np.cumsum, X), (W,)),
    "compile": (nbgrad.compile(nbgrad.value_and_grad(loss)), (W, X)),
}


def parts(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("way", [lambda f: pickle.loads(pickle.dumps(f)), copy.deepcopy, copy.copy])
@pytest.mark.parametrize("name", MADE)
def test_a_copy_gives_the_same(name, way):
    f, args = MADE[name]
    other = way(f)
    assert getattr(other, "__name__", "") == getattr(f, "__name__", "")
    for a, b in zip(parts(other(*args)), parts(f(*args)), strict=True):
        np.testing.assert_array_equal(a, b)  # None equals None


@pytest.mark.parametrize("f", [named, clipped, squared, rows, Model.forward])
def test_a_decorated_function_is_pickled_by_its_name(f):
    assert pickle.loads(pickle.dumps(f)) is f
    assert copy.deepcopy(f) is f


def test_a_compiled_one_finds_its_program_in_the_cache(tmp_path):
    first = run(
        """
import pickle, nbgrad, numpy as np
f = nbgrad.compile(nbgrad.grad(np.tanh))
result = float(f(0.5)), pickle.dumps(f).hex()
""",
        NBGRAD_CACHE_DIR=str(tmp_path),
    )
    value, pickled = first.result
    second = run(
        f"""
import pickle, nbgrad
f = pickle.loads(bytes.fromhex({pickled!r}))
value = f(0.5)
result = float(value), nbgrad.stats()["compiled"]
""",
        NBGRAD_CACHE_DIR=str(tmp_path),
    )
    assert second.result == [value, 0]


def test_what_a_transformed_closure_holds_gets_a_gradient():
    def scaled(a):
        return lambda x: a * x**3

    state, x_bar = nbgrad.pullback(nbgrad.grad(scaled(2.0)), 1.5)[1](1.0)
    assert state == {"function": {"a": 3.0 * 1.5**2}} and x_bar == 6.0 * 2.0 * 1.5


SCRIPT = """
import cloudpickle, pickle, nbgrad, numpy as np, sys
__name__ = "__main__"
def back(ct, out, x):
    return 2 * ct * x
@nbgrad.{decorator}
def f(x):
    return np.sum(x * x)
sys.modules["__main__"].f, sys.modules["__main__"].back = f, back
x = np.arange(3.0)
sent = cloudpickle.dumps(f)
here = pickle.loads(pickle.dumps(f))
del sys.modules["__main__"].f
result = float(np.sum(here(x))), float(np.sum(cloudpickle.loads(sent)(x))), float(np.sum(f(x)))
"""


@pytest.mark.parametrize("decorator", ["compile", "grad", "custom_rule(pullback=back)"])
def test_a_script_can_send_its_decorated_functions(decorator):
    by_name, by_value, own = run(SCRIPT.format(decorator=decorator)).result
    assert by_name == by_value == own


def test_lambdas_and_closures_are_pickled_by_value():
    def scaled(a):
        return nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(a * np.tanh(x))))

    f = pickle.loads(cloudpickle.dumps(scaled(2.0)))
    value, slope = f(X)
    np.testing.assert_allclose(value, 2.0 * np.tanh(X).sum(), rtol=1e-14)
    np.testing.assert_allclose(slope, 2.0 / np.cosh(X) ** 2, rtol=1e-14)
    swish = nbgrad.custom_elementwise(lambda x: x * x, partials=[lambda x, out: 2.0 * x])
    assert nbgrad.grad(pickle.loads(cloudpickle.dumps(swish)))(3.0) == 6.0
    rule = nbgrad.custom_rule(lambda x: x * x, pullback=lambda ct, out, x: 3.0 * ct * x)
    assert nbgrad.grad(pickle.loads(cloudpickle.dumps(rule)))(3.0) == 9.0


def test_a_process_pool_takes_compiled_functions():
    f = nbgrad.compile(nbgrad.grad(loss, 1))
    f(W, X)
    points = [X, X + 1.0, X - 1.0]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(functools.partial(f, W), points))
    for x, slope in zip(points, found, strict=True):
        t = np.tanh(W * x)
        np.testing.assert_allclose(slope, 2 * t * (1 - t * t) * W, rtol=1e-13)


def test_joblib_takes_compiled_lambdas():
    joblib = pytest.importorskip("joblib")  # scikit-learn brings it
    f = nbgrad.compile(nbgrad.grad(lambda x: np.sum(x**3)))
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(f)(x) for x in (X, W))
    np.testing.assert_allclose(found, [3 * X**2, 3 * W**2], rtol=1e-14)


def _public(module: Any) -> list[str]:
    """The full names of a module's public values, and of those of the modules among them."""
    found = []
    for name in module.__all__:
        value = getattr(module, name)
        found.append(f"{module.__name__}.{name}")
        if isinstance(value, types.ModuleType):
            found += _public(value) if hasattr(value, "__all__") else []
    return found


@pytest.mark.parametrize("name", _public(nbgrad))
def test_each_public_name_and_a_function_that_uses_it_are_pickled_by_value(name):
    value = eval(name)
    kept = cloudpickle.loads(cloudpickle.dumps(value))
    assert kept is value or type(kept) is type(value)
    reads = eval(f"lambda: {name}", {"nbgrad": nbgrad})
    assert cloudpickle.loads(cloudpickle.dumps(reads))() is value
    for holds in (eval("lambda: x", {"x": value}), functools.partial(max, value), [value]):
        cloudpickle.loads(cloudpickle.dumps(holds))


def test_a_loss_that_holds_a_module_of_nbgrad():
    stats = nbgrad.stats
    f = cloudpickle.loads(cloudpickle.dumps(lambda w: stats.norm.logpdf(w)))
    assert nbgrad.grad(f)(0.5) == -0.5
    assert pickle.loads(pickle.dumps(stats)) is copy.copy(stats) is copy.deepcopy(stats) is stats


def test_the_children_of_an_array_say_that_they_are_not_copied():
    x = nbgrad.track(2.0)
    y = x * x
    assert list(copy.copy(x.children)) == [y]
    for way in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="alive"):
            way(x.children)
    assert copy.deepcopy(x).item() == 2.0


def test_what_a_compiled_closure_holds_gets_a_gradient():
    def scaled(a):
        return nbgrad.compile(lambda x: a * x**3)

    state, x_bar = nbgrad.pullback(scaled(2.0), 1.5)[1](1.0)
    assert state == {"function": {"a": 1.5**3}} and x_bar == 6.0 * 1.5**2
    of_argument, x_bar = nbgrad.pullback(lambda f, x: f(x), scaled(2.0), 1.5)[1](1.0)[1:]
    assert of_argument == {"function": {"a": 1.5**3}} and x_bar == 6.0 * 1.5**2
    nested = nbgrad.pullback(nbgrad.grad(scaled(2.0)), 1.5)[1](1.0)[0]
    assert nested == {"function": {"function": {"a": 3.0 * 1.5**2}}}
