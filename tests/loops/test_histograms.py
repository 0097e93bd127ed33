"""`np.histogram` of a number of bins in functions with loops."""

import numpy as np
import pytest

import nbgrad
from nbgrad import njit

A = np.random.default_rng(0).normal(size=200)
W = np.random.default_rng(1).normal(size=200)


def weighted(a, w):
    return (np.histogram(a, 7, weights=w)[0] ** 2).sum()


def test_weights_have_derivatives():
    value, slope = nbgrad.value_and_grad(njit(weighted), 1)(A, W)
    assert np.isclose(value, weighted(A, W))
    sums, edges = np.histogram(A, 7, weights=W)
    places = np.clip(np.searchsorted(edges, A, "right") - 1, 0, 6)
    np.testing.assert_allclose(slope, 2.0 * sums[places])


CALLS = {
    "bins": lambda a: np.histogram(a, bins=12),
    "default": lambda a: np.histogram(a),
    "range": lambda a: np.histogram(a, 5, (-1.0, 1.0)),
    "one": lambda a: np.histogram(a[:1], 3),
    "on edges": lambda a: np.histogram(np.floor(4.0 * a), 8),
    "empty range": lambda a: np.histogram(a, 4, (0.5, 0.5)),
}


@pytest.mark.parametrize("name", CALLS)
def test_counts_and_edges(name):
    call = CALLS[name]

    def loss(a):
        found, edges = call(a)
        return (found**2).sum() * a[3] + (edges * edges).sum()

    found, edges = call(A)
    value, slope = nbgrad.value_and_grad(njit(loss))(A)
    assert np.isclose(value, loss(A))
    assert np.isclose(slope[3], (found**2).sum()) or name == "one"
    assert edges.size == found.size + 1


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda a: np.histogram(a / 0.0, 3)[1][0], "inf or nan"),
        (lambda a: np.histogram(a, 3, (1.0, 0.0))[1][0], "must not be below its start"),
        (lambda a: np.histogram(a, a.size - 200)[1][0], "bins must be 1 or more"),
    ],
    ids=range(3),
)
def test_wrong_ranges_are_named(call, text):
    with pytest.raises(ValueError, match=text):
        nbgrad.grad(njit(call, error_model="numpy"))(A)
