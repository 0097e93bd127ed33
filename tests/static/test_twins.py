"""Expensive ops that a program reads in two shapes, or forward and backward, are computed once."""

import numpy as np
import pytest

import nbgrad

RNG = np.random.default_rng(4)
# Short rows would be written out.
W, B, U = 0.2 * RNG.normal(size=(36, 40)), RNG.normal(size=40), RNG.normal(size=(40, 3))
X = RNG.normal(size=(4, 5, 36))
LAYERS = {
    "gelu": (nbgrad.gelu, {"erfc(": 1, "exp(": 1}),
    "by erf": (lambda x: 0.5 * x * (1.0 + nbgrad.erf(0.5 * x)), {"erf(": 1, "exp(": 1}),
    "tanh": (np.tanh, {"tanh(": 1, "sigmoid_slope(": 1}),
    "expm1": (np.expm1, {"expm1(": 1, "exp(": 1}),
}


def times(loops: object, called: str) -> int:
    return str(loops).count(" " + called)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("lead", [(4, 5), (20,), (2, 2, 5)], ids=str)
def test_a_layer_on_samples(name, lead):
    """The sum for the bias runs over all samples; products of matrices take them as rows."""
    function, counts = LAYERS[name]

    def loss(w, b, u, x):
        return np.mean((function(x @ w + b) @ u) ** 2)

    args = (W, B, U, X.reshape(*lead, 36))
    both = nbgrad.value_and_grad(loss, (0, 1, 2, 3))
    f = nbgrad.compile(both)
    value, slopes = f(*args)
    expected, eager = both(*args)
    np.testing.assert_allclose(value, expected, 1e-14)
    for one, other in zip(slopes, eager, strict=True):
        np.testing.assert_allclose(one, other, 1e-12, 1e-14)
    for called, count in counts.items():
        assert times(f.loops, called) == count, called


def test_read_in_two_shapes_without_a_product():
    def loss(x):
        raised = np.exp(x)
        rows = raised.reshape(10, 72)
        return np.sum(np.sum(rows, axis=0) ** 2) + np.sum(np.sum(raised, axis=(0, 1)) ** 3)

    f = nbgrad.compile(loss)
    np.testing.assert_allclose(f(X), loss(X), 1e-14)
    assert times(f.loops, "exp(") == 1
    slope = nbgrad.compile(nbgrad.grad(loss))
    np.testing.assert_allclose(slope(X), nbgrad.grad(loss)(X), 1e-13)


def test_read_in_one_shape_needs_no_buffer():
    def loss(x):
        return np.sum(np.exp(x).reshape(10, 72) * np.arange(72.0))

    f = nbgrad.compile(loss)
    np.testing.assert_allclose(f(X), loss(X), 1e-14)
    assert times(f.loops, "exp(") == 1 and "w0" not in str(f.loops)
