"""Divisions by zero in functions that are differentiated."""

import numba
import numpy as np
import pytest

import nbgrad


@numba.njit
def remainder(n, k):
    return n % k


@nbgrad.njit
def shared(x, n, k):
    total = 0.0
    for i in range(n):
        total += x[remainder(i, k)] * (6 // k)
    return total


def test_integers_raise_as_in_numba():
    x = np.array([1.0, 2.0, 3.0])
    assert np.array_equal(nbgrad.grad(shared)(x, 4, 3), [4.0, 2.0, 2.0])
    with pytest.raises(ZeroDivisionError):
        shared(x, 4, 0)
    for call in (nbgrad.grad(shared), nbgrad.value_and_grad(shared)):
        with pytest.raises(ZeroDivisionError):
            call(x, 4, 0)
    with pytest.raises(ZeroDivisionError):
        shared(nbgrad.track(x), 4, 0)
    assert np.array_equal(nbgrad.grad(shared)(x, 0, 0), np.zeros(3))


def test_the_error_model_of_numpy():
    @nbgrad.njit(error_model="numpy")
    def quotient(x, y, n):
        return x / y * (3 // n)

    assert quotient(1.0, 0.0, 2) == np.inf and quotient(1.0, 1.0, 0) == 0.0
    assert nbgrad.value_and_grad(quotient)(1.0, 0.0, 2)[0] == np.inf
    assert nbgrad.value_and_grad(quotient)(1.0, 1.0, 0) == (0.0, 0.0)
