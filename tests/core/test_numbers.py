"""Numbers of Python's beside arrays of float32: they take their dtype, as NumPy has it, in every
mode; what NumPy makes an array of first is float64."""

from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import at, compile, grad, jvp, track, vmap

X = np.array([0.3, 0.6, 0.9], np.float32)
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


def assigned(value):
    def f(x):
        y = x * 1.0
        y[1:] = value
        return y

    return f


# NumPy's own functions: what they give for a plain array is right.
NUMPY = {
    "add": lambda x: x + 0.5,
    "power": lambda x: x**0.5,
    "integer power": lambda x: x**20,
    "base": lambda x: 2.0**x,
    "remainder": lambda x: x % 0.5,
    "maximum": lambda x: np.maximum(x, 0.5),
    "where": lambda x: np.where(x > 0.5, x, 0.0),
    "clip": lambda x: np.clip(x, 0.4, 0.5),
    "clip integers": lambda x: np.clip(x, 0, 1),
    "pad": lambda x: np.pad(x, 1, constant_values=0.5),
    "copysign": lambda x: np.copysign(x, -1.0),
    "hypot": lambda x: np.hypot(x, 2.0),
    "arctan2": lambda x: np.arctan2(x, 2.0),
    "diff": lambda x: np.diff(x, prepend=0.0),
    "outer": lambda x: np.outer(x, 2.0),
    "einsum": lambda x: np.einsum("i,->i", x, 2.0),
    "concatenate": lambda x: np.concatenate([x, [0.5]]),
    "stack": lambda x: np.stack([x[0], 0.5]),
    "list": lambda x: x * [1.0, 2.0, 3.0],
    "dot": lambda x: np.dot(x, [1.0, 2.0, 3.0]),
    "float64 number": lambda x: x * np.float64(0.5),
}
OURS = {
    "set": (lambda x: at(x)[0].set(0.5), [0.5, 0.6, 0.9]),
    "set integer": (lambda x: at(x)[0].set(1), [1.0, 0.6, 0.9]),
    "set list": (lambda x: at(x)[:2].set([1, 0.5]), [1.0, 0.5, 0.9]),
    "set by array": (lambda x: at(x)[[0, 2]].set(0.5), [0.5, 0.6, 0.5]),
    "add": (lambda x: at(x)[0].add(0.5), [0.8, 0.6, 0.9]),
    "add list": (lambda x: at(x)[1:].add([1, 2]), [0.3, 1.6, 2.9]),
    "multiply": (lambda x: at(x)[0].multiply(0.5), [0.15, 0.6, 0.9]),
    "evalpoly": (lambda x: nbgrad.evalpoly(x, (1, 2.0)), [1.6, 2.2, 2.8]),
    "leaky_relu": (lambda x: nbgrad.leaky_relu(-x, 0.5), [-0.15, -0.3, -0.45]),
    "loop": (lambda x: nbgrad.loop(2, lambda i, s: s * 0.5, x), [0.075, 0.15, 0.225]),
}
MODES = {
    "eager": lambda f: f(track(X)).data,
    "vmap": lambda f: vmap(f)(X[None])[0],
    "compiled": lambda f: compile(f)(X),
    "compiled vmap": lambda f: compile(vmap(f))(X[None])[0],
    "jvp": lambda f: jvp(f, (X,), (X,))[0],
    "tangent": lambda f: jvp(f, (X,), (0.0 * X,))[1] + f(X),
}


def check(mode, f: Any, dtype, expected):
    out = MODES[mode](f)
    assert np.asarray(out).dtype == dtype
    np.testing.assert_allclose(out, expected, rtol=2e-6)
    slope = grad(lambda x: np.sum(f(x)))
    for g in (slope, compile(slope)) if mode == "compiled" else (slope,):
        assert g(X).dtype == F32


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NUMPY)
def test_as_numpy_has_it(name, mode):
    expected = NUMPY[name](X)
    check(mode, NUMPY[name], np.asarray(expected).dtype, expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OURS)
def test_functions_of_ours(name, mode):
    f, expected = OURS[name]
    check(mode, f, F32, expected)


@pytest.mark.parametrize("mode", ["eager", "vmap", "jvp"])
@pytest.mark.parametrize("value", [0.5, 1, [0.5, 2]])
def test_assignment(value, mode):
    f = assigned(value)
    check(mode, f, F32, f(X))


def test_an_array_of_float64_widens_and_is_cast_where_it_is_assigned():
    value = np.array([1.0, 2.0])
    assert at(track(X))[:2].set(value).dtype == at(track(X))[:2].add(value).dtype == F64
    assert assigned(value)(track(X)).dtype == X.dtype
