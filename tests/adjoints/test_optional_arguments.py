"""Arguments that may be None, and functions that are handed to functions which return arrays."""

import numpy as np
import pytest

import nbgrad
from nbgrad import njit


@njit
def scaled(x, window=None):
    if window is not None and window != 1.0:
        if window < 0.0:
            raise ValueError("a negative window")
        return x * window
    return x * x


@njit
def bounded(x, least=None, most=None):
    if least is None or least < -10.0:
        y = x * x
    else:
        y = x * least
    if (most is not None and most > 0.0) and y > most:
        y = most * x
    return y


@pytest.mark.parametrize(
    ("f", "args", "slope"),
    [
        (scaled, (1.5,), 3.0), (scaled, (1.5, 0.5), 0.5), (scaled, (1.5, 1.0), 3.0),
        (bounded, (1.5,), 3.0), (bounded, (1.5, 2.0), 2.0), (bounded, (1.5, -11.0), 3.0),
        (bounded, (1.5, None, 2.0), 2.0), (bounded, (1.5, 4.0, 5.0), 5.0),
    ],
)  # fmt: skip
def test_what_follows_a_test_for_none_is_not_read(f, args, slope):
    value, found = nbgrad.value_and_grad(f)(*args)
    assert (value, found) == (f(*args), slope)


@njit
def over_starts(f, x):
    out = np.zeros(x.size)
    for i in range(x.size):
        out[i] = f(x[: i + 1])
    return out


@njit
def weighted(x, c):
    def weigh(part):
        return np.sum(part) * c

    return over_starts(weigh, x)


@njit
def total(x, c):
    return np.sum(weighted(x, c))


def test_a_function_with_an_inner_function_returns_an_array():
    x = np.array([1.0, 2.0, 4.0])
    by_x, by_c = nbgrad.grad(total, (0, 1))(x, 3.0)
    np.testing.assert_allclose(by_x, [9.0, 6.0, 3.0])
    assert by_c == pytest.approx(11.0)


@njit
def first_columns(x, n):
    return np.sum((x @ np.eye(x.size, n)) ** 2)


def test_an_identity_with_columns_of_its_own():
    np.testing.assert_allclose(nbgrad.grad(first_columns)(np.ones(3), 2), [2.0, 2.0, 0.0])
