"""Products in loops, of which all rounds are computed before the loop: beside forward mode, which
leaves the loop as it is."""

import re

import numpy as np
import pytest
from helpers.daily import daily

import nbgrad

RNG = np.random.default_rng(0)


def covariances(a, b):
    made = np.zeros((a.shape[1], a.shape[1]))
    for i in range(a.shape[1]):
        made[i:, i] = made[i, i:] = a[:, i] @ a[:, i:] / 3.0
    return np.sum(made * made) + b[0, 0]


def without_diagonal(a, b):
    n = a.shape[1]
    made = np.eye(n)
    for i in range(n - 1):
        made[i + 1 : n, i] = made[i, i + 1 : n] = a[:, i] @ a[:, i + 1 : n]
    return np.sum(made * np.sin(made)) + b[0, 0]


def triangular(a, b):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    return np.sum(b * b)


def growing(a, b):
    """The lengths are the least of two numbers."""
    made = np.zeros((a.shape[0], b.shape[1]))
    for i in range(1, a.shape[0]):
        made[i, : i + 1] = a[i] @ b[:, : i + 1]
    return np.sum(made * made)


def rows(a, b):
    made = np.empty(a.shape)
    for i in range(a.shape[0]):
        made[i] = np.tanh(a[i] @ b)
    return np.sum(made * made)


def columns(a, b):
    made = np.empty(a.shape)
    for i in range(a.shape[1]):
        made[:, i] = np.tanh(b @ a[:, i])
    return np.sum(made * made)


def in_a_loop_over_time(a, b):
    for _ in range(3):
        made = np.empty(a.shape)
        for i in range(a.shape[0]):
            made[i] = a[i] @ b
        a[:] = np.tanh(made)
    return np.sum(a * a)


def reading_rows_that_are_written_later(a, b):
    for i in range(a.shape[0] - 1):
        a[i] = np.sin(a[i + 1] @ b)
    return np.sum(a * a)


def two_products(a, b):
    made = np.zeros(a.shape)
    for i in range(a.shape[0]):
        made[i] = (a[i] @ b) * (b @ a[i])
    return np.sum(made * made)


def dots_of_rows_and_columns(a, b):
    made = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            made[i, j] = np.dot(a[i], b[:, j]) * a[i, 0]
    return np.sum(made * made)


SPLIT = (
    covariances, without_diagonal, triangular, rows, columns, in_a_loop_over_time,
    reading_rows_that_are_written_later, two_products, dots_of_rows_and_columns,
)  # fmt: skip


def recurrence(a, b):
    for i in range(1, a.shape[0]):
        a[i] = np.sin(a[i - 1] @ b)
    return np.sum(a * a)


def matrices_that_change(a, b):
    made = np.zeros(a.shape)
    for i in range(a.shape[0]):
        made[i] = a[i] @ b
        b[0, i] = made[i, 0]
    return np.sum(made * made)


def sums(a, b):
    """Nothing is stored: the vectors of all rounds would be memory that the loop does not take."""
    total = 0.0
    for i in range(a.shape[0]):
        total += np.sum(np.sin(a[i] @ b))
    return total


def three_numbers_of_each(a, b):
    made = np.zeros((a.shape[0], 3))
    for i in range(a.shape[0]):
        vector = a[i] @ b
        for j in range(3):
            made[i, j] = vector[j]
    return np.sum(made * made)


def one_row(a, b):
    made = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        made[:] = a[i] @ b
    return np.sum(made * made)


def until(a, b):
    made = np.zeros(a.shape)
    for i in range(a.shape[0]):
        if a[i, 0] > 2.0:
            break
        made[i] = a[i] @ b
    return np.sum(made * made)


def of_some_rows(a, b):
    made = np.zeros(a.shape)
    for i in range(a.shape[0]):
        if a[i, 0] > 0.0:
            made[i] = a[i] @ b
    return np.sum(made * made)


def two_layers(a, b):
    """The vectors of the first layer are not stored."""
    made = np.zeros(a.shape)
    for i in range(a.shape[0]):
        made[i] = np.sin((a[i] @ b) @ b)
    return np.sum(made * made)


def raising_by_elements(a, b):
    made = np.zeros(a.shape)
    for i in range(a.shape[0]):
        made[i] = a[i] @ b
        if a[i, 0] > 9.0:
            raise ValueError("large")
    return np.sum(made * made)


def dots_in_order(a, b):
    made = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for p in range(b.shape[0]):
                total += a[i, p] * b[p, j]
            made[i, j] = total
    return np.sum(made * made)


WHOLE = (
    recurrence, growing, matrices_that_change, sums, three_numbers_of_each, one_row, until,
    of_some_rows, two_layers, raising_by_elements, dots_in_order,
)  # fmt: skip


def check(compiled, n, dtype: type = np.float64):
    given = [(RNG.normal(size=(n, n)) / np.sqrt(n + 1)).astype(dtype) for _ in range(2)]
    steps = [RNG.normal(size=x.shape).astype(dtype) for x in given]
    value, slopes = nbgrad.value_and_grad(compiled, (0, 1))(*given)
    wanted, dot = nbgrad.jvp(compiled, tuple(given), tuple(steps))
    tolerance = 1e-3 if dtype == np.float32 else 1e-10
    assert value == pytest.approx(wanted, rel=tolerance)
    found = sum(np.sum(x * y) for x, y in zip(slopes, steps, strict=True))
    assert found == pytest.approx(dot, rel=tolerance, abs=tolerance)


def products(source):
    """The calls of products of one round, and of all rounds: those have more arguments."""
    counts = [len(x.split(",")) for x in re.findall(r"product\((.*)\)", source)]
    return sum(x == 12 for x in counts), sum(x > 12 for x in counts)


@pytest.mark.parametrize("function", SPLIT)
def test_products_that_move(function):
    compiled = nbgrad.njit(function)
    for n in (1, 2, 9, 120):
        check(compiled, n)
    one, series = products(compiled.source)
    assert not one
    assert series >= 3


@pytest.mark.parametrize("function", daily(SPLIT, 3))
def test_products_in_float32(function):
    check(nbgrad.njit(function), 9, np.float32)


@pytest.mark.parametrize("function", WHOLE)
def test_products_that_stay(function):
    compiled = nbgrad.njit(function)
    for n in (4, 60):
        check(compiled, n)
    assert products(compiled.source)[1] == 0


def test_no_round_reads_behind_an_array():
    """What raises an exception does so before the products."""

    @nbgrad.njit
    def product(a, b):
        made = np.zeros((a.shape[0], b.shape[1]))
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                made[i, j] = np.dot(a[i], b[:, j])
        return np.sum(made)

    gradient = nbgrad.grad(product)
    with pytest.raises(ValueError, match="different lengths"):
        gradient(np.ones((3, 4)), np.ones((5, 2)))
    assert gradient(np.ones((3, 4)), np.ones((5, 0))).shape == (3, 4)
    assert gradient(np.ones((0, 4)), np.ones((5, 2))).shape == (0, 4)


def test_second_derivatives():
    for function in (covariances, rows, two_products):
        compiled = nbgrad.njit(function)
        a, b, step = (RNG.normal(size=(5, 5)) for _ in range(3))
        found = nbgrad.hvp(lambda a, f=compiled, b=b: f(a, b))(a, step)
        gradient = nbgrad.grad(lambda a, f=compiled, b=b: f(a, b))
        wanted = (gradient(a + 1e-5 * step) - gradient(a - 1e-5 * step)) / 2e-5
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
