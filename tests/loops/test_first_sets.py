"""Shadows that the first loops set: which ones, and that the gradients are the same."""

import numpy as np
import pytest

import nbgrad
from nbgrad import njit
from nbgrad.loops.calls import Bound
from nbgrad.loops.packed import derivative
from nbgrad.loops.packing import Packing


def set_first(function, *args):
    """The arguments whose gradients need not be 0 at first."""
    signature = Bound(njit(function), args, {}).signature
    floats = tuple(i for i, leaf in enumerate(signature.leaves) if leaf.is_float)
    of = derivative(signature, (), floats, is_seeded=True)
    return {name.removesuffix(".bar") for name in Packing(of, False)._set_first}


def whole(a, x):
    return np.sum((2.0 * a) @ x)


def by_loops(a, x):
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j] * a[i, j] * x[j]
    return total


def columns(a, x):
    total = 0.0
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            total += a[i, j] ** 3 * x[j]
    return total


def shifted(a, x):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * x[0]
    return total + a[0]


def a_part(a, x):
    total = 0.0
    for i in range(a.shape[0] - 1):
        total += a[i] * x[0]
    return total


def twice(a, x):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * a[0] * x[0]
    return total


def sometimes(a, x):
    total = 0.0
    for i in range(a.shape[0]):
        if a[i] > 0.0:
            total += a[i] * x[0]
    return total


def left_early(a, x):
    total = 0.0
    for i in range(a.shape[0]):
        if a[i] > 0.5:
            break
        total += a[i] * x[0]
    return total


def repeated(a, x):
    total = 0.0
    for _ in range(3):
        for i in range(a.shape[0]):
            total += a[i] * x[0]
    return total


def diagonal(a, x):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i, i]
    return np.sum(a + total) * x[0]


def of_another_length(a, x):
    total = 0.0
    for i in range(x.shape[0]):
        total += a[i] * x[i]
    return total


def by_choice(a, x):
    total = 0.0
    for i in range(a.shape[0]):
        if a[i] > 0.0:
            for j in range(x.shape[0]):
                total += a[i] * x[j] * x[j]
    return total


VECTOR, MATRIX = np.linspace(-0.6, 0.9, 6), np.linspace(-1.0, 1.0, 12).reshape(3, 4)


@pytest.mark.parametrize(
    ("function", "a", "expected"),
    [
        (whole, MATRIX, {"a"}), (by_loops, MATRIX, {"a"}), (columns, MATRIX, set()),
        (diagonal, MATRIX[:, :3], {"a"}), (shifted, VECTOR, set()), (sometimes, VECTOR, {"a"}),
        (a_part, VECTOR, set()), (twice, VECTOR, set()), (by_choice, VECTOR, {"a"}),
        (left_early, VECTOR, set()), (repeated, VECTOR, set()),
        (of_another_length, VECTOR, set()),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)  # fmt: skip
def test_which_gradients_are_set(function, a, expected):
    a = np.ascontiguousarray(a)
    x = np.linspace(0.5, 2.0, 4 if a.ndim == 2 else 5)
    if function is diagonal:
        x = x[:3].copy()
    assert set_first(function, a, x) & {"a"} == expected
    compiled = njit(function)
    for _ in range(2):  # memory that was used before
        found = nbgrad.grad(compiled, (0, 1))(a, x)
        plain = nbgrad.grad(function, (0, 1))(a, x)
        for mine, other in zip(found, plain, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-12)


def test_cotangents_of_0_set_zeros():
    """The loops that are skipped for them set elements, too."""

    @njit
    def chosen(a, x):
        total = 0.0
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                total += a[i, j] * a[i, j]
        return max(total, 100.0) * x[0]

    slope = nbgrad.grad(chosen)
    for _ in range(3):
        np.full((3, 4), np.nan)  # for memory that is used again
        assert np.all(slope(MATRIX, VECTOR) == 0.0)
    np.testing.assert_allclose(slope(9.0 * MATRIX, VECTOR), -0.6 * 18.0 * MATRIX)


def test_cotangents_of_arrays_that_are_written_are_kept():
    """Shadows of these hold cotangents at first."""

    @njit
    def moved(x, w):
        total = 0.0
        for i in range(x.shape[0]):
            total += x[i] * w[i]
        for i in range(x.shape[0]):
            x[i] += 1.0
        return total

    def loss(start):
        x = start * 1.0
        total = moved(x, VECTOR)
        return total + (x * x).sum()

    np.testing.assert_allclose(nbgrad.grad(loss)(VECTOR), VECTOR + 2.0 * (VECTOR + 1.0))


def test_a_gradient_of_nothing_is_empty():
    found = nbgrad.grad(njit(by_loops))(np.zeros((0, 4)), np.ones(4))
    assert found.shape == (0, 4)
    assert np.all(nbgrad.grad(njit(whole), 1)(np.zeros((0, 4)), np.ones(4)) == 0.0)
