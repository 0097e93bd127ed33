"""Subscripts of arrays whose lengths are numbers: accesses at one element are not apart."""

import numpy as np
import pytest

import nbgrad


def rows_of_three(a):
    made = np.zeros((a.shape[0], 3))
    made[1, 0] = a[2]
    for i in range(a.shape[0]):
        made[i, 0] = a[i] * made[1, 0]
    return np.sum(made * made)


def an_axis_of_three(a):
    made = np.zeros((a.shape[0], 3, a.shape[0]))
    for i in range(a.shape[0]):
        made[i, 2, 0] = a[i] * a[0]
    made[1, 2, 0] *= a[2]
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            made[i, 1, j] += made[1, 2, j] * made[i, 2, 0] * a[j]
    return np.sum(made * made)


def three_rows(a):
    made = np.zeros((3, a.shape[0]))
    made[1, 0] = a[2]
    for i in range(a.shape[0]):
        made[1, i] = a[i] * made[1, 0]
        made[2, a.shape[0] - 1 - i] = made[1, i] * a[i]
    return np.sum(made * made)


@pytest.mark.parametrize("function", [rows_of_three, an_axis_of_three, three_rows])
def test_constant_subscripts_and_variable_ones(function):
    a, step = np.linspace(0.5, 1.7, 4), np.cos(np.arange(4.0))
    value, slope = nbgrad.value_and_grad(nbgrad.njit(function))(a)
    assert np.isclose(value, function(a), rtol=1e-14)
    found = (function(a + 1e-5 * step) - function(a - 1e-5 * step)) / 2e-5
    np.testing.assert_allclose(slope @ step, found, rtol=1e-8)
