"""Arrays whose elements are set once: nothing clears their cotangents behind the first store."""

import re

import numpy as np
import pytest

import nbgrad


def two_axes(a):
    made = np.zeros((a.shape[0], a.shape[1]))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            made[i, j] += a[i, j] * a[i, j]
    return np.sum(made)


def an_axis_of_length_1(a):
    made = np.zeros((a.shape[0], 1, a.shape[1]))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            made[i, 0, j] += a[i, j] * a[i, j]
    return np.sum(made)


def a_stack_of_rows(a):
    made = np.reshape(a, (a.shape[0], 1, a.shape[1])) @ np.ones((3, 3))
    return np.sum(made * made)


def set_again(a):
    made = np.zeros((a.shape[0], 1, a.shape[1]))
    made[0] = a[1]
    return np.sum(made * made)


def rows_that_are_set_again(a):
    made = np.zeros((a.shape[0], 3))
    for i in range(a.shape[0]):
        made[i, 0] += a[i, 0] * a[i, 1]
    made[1, 0] = a[2, 2]
    return np.sum(made * made * made)


ONCE = [two_axes, an_axis_of_length_1, a_stack_of_rows]
FUNCTIONS = [*ONCE, set_again, rows_that_are_set_again]
A = np.linspace(0.5, 2.0, 12).reshape(4, 3)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_cotangents_are_cleared_where_elements_are_set_again(function):
    f = nbgrad.njit(function)
    slope = nbgrad.grad(f)(A)
    step = np.cos(np.arange(12.0)).reshape(4, 3)
    found = (function(A + 1e-5 * step) - function(A - 1e-5 * step)) / 2e-5
    np.testing.assert_allclose(np.sum(slope * step), found, rtol=1e-8)
    cleared = re.findall(r"new\w*_bar\[.*\] = 0\.0", f.source)
    assert bool(cleared) == (function not in ONCE)
