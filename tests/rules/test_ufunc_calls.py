"""Ufuncs with keywords: dtype=, casting=, axes=, where= and out= of computed arrays."""

from typing import Any

import numpy as np
import pytest

import nbgrad

MASK = np.array([True, False, True])
X = np.array([1.0, 2.0, 3.0])


def into(x):
    y = x * 2.0
    np.exp(x, out=y, where=MASK)
    np.multiply(y, x, out=y)
    return np.sum(y)


SLOPE = np.where(MASK, np.exp(X) * (1 + X), 4 * X)


def test_out_and_where_in_every_mode():
    np.testing.assert_allclose(nbgrad.grad(into)(X), SLOPE, rtol=1e-15)
    assert nbgrad.jvp(into, (X,), (X,))[1] == pytest.approx(SLOPE @ X, rel=1e-14)
    np.testing.assert_allclose(nbgrad.vmap(into)(np.stack([X, 2 * X])), [into(X), into(2 * X)])
    value, slope = nbgrad.compile(nbgrad.value_and_grad(into))(X)
    assert value == pytest.approx(into(X), rel=1e-14)
    np.testing.assert_allclose(slope, SLOPE, rtol=1e-14)


def test_out_is_what_it_returns():
    x = nbgrad.track(X)
    y = x * 1.0
    assert np.add(x, 1, out=y) is y
    np.testing.assert_array_equal(y.data, X + 1)


@pytest.mark.parametrize("make", [np.exp, lambda x, **k: np.add(x, 0.1, **k), np.square])
@pytest.mark.parametrize("options", [
    {"dtype": np.float32}, {"dtype": "f4", "casting": "same_kind"}, {"casting": "unsafe"},
    {"order": "F"}, {"subok": False}, {"dtype": np.float64},
])  # fmt: skip
def test_dtypes_and_casting(make, options):
    expected = make(X, **options)
    for found in (
        make(nbgrad.track(X), **options).data,
        nbgrad.compile(lambda x: make(x, **options))(X),
        nbgrad.vmap(lambda x: make(x, **options))(X),
    ):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6 if expected.dtype == "f4" else 1e-15)


@pytest.mark.parametrize("ufunc, options", [
    (np.vecdot, {"axis": 0}), (np.vecdot, {"axis": 1, "keepdims": True}),
    (np.vecdot, {"keepdims": True}), (np.vecdot, {"axes": [0, 1]}),
    (np.vecdot, {"axes": [(0,), (2,), ()]}),
    (np.matmul, {"axes": [(0, 1), (2, 0), (1, 2)]}),
    (np.matmul, {"axes": [(0, 1), (2, 0), (-1, 0)]}),
])  # fmt: skip
def test_vectors_and_matrices_along_other_axes(ufunc, options):
    x, y = np.sin(np.arange(27.0)).reshape(3, 3, 3), np.cos(np.arange(27.0)).reshape(3, 3, 3)
    f, expected = lambda x, y: ufunc(x, y, **options), ufunc(x, y, **options)
    for found in (f(nbgrad.track(x), y).data, nbgrad.compile(f)(x, y)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14, strict=True)
    nbgrad.check_grads(f, (x, y))


def test_what_does_not_fit():
    x: Any = nbgrad.track(X)
    matmul: Any = np.matmul
    with pytest.raises(TypeError, match="give axes"):
        matmul(np.reshape(x, (1, 3)), x, axis=0)
    with pytest.raises(ValueError, match="one entry for each operand and for the result"):
        matmul(np.reshape(x, (1, 3)), x, axes=[(0, 1), (0,)])
    with pytest.raises(TypeError, match="No loop matching"):
        np.sin(x, dtype=int)
    with pytest.raises(TypeError, match="casting rule"):
        np.add(x, 1.0, dtype=np.float32, casting="safe")
    with pytest.raises(nbgrad.NoRuleError, match=r"give it out=\.\.\., or write np.where"):
        np.add(x, 1.0, where=MASK)
    with pytest.raises(nbgrad.UntrackedError, match="like=x"):
        np.add(x, 1.0, out=np.zeros(3))
    with pytest.raises(nbgrad.GraphError, match=r"out=x\.data"):
        np.add(x, 1.0, out=x)
    with pytest.raises(nbgrad.DimensionMismatch, match="does not fit out"):
        np.add(x, np.ones((2, 3)), out=x * 1.0)
    with pytest.raises(TypeError, match="cannot cast values of dtype float64"):
        np.add(x, 1.0, out=x.astype(np.float32), casting="safe")
