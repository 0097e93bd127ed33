"""Functions under Numba's `@njit` in modules that import `nbgrad.numpy`."""

import numpy
from numba import njit

import nbgrad.numpy as np
import nbgrad.numpy.linalg as la
from nbgrad.numpy import zeros


@njit
def by_module(x):
    y = np.zeros(3)
    for i in range(3):
        y[i] = np.mean(x) * i + np.pi
    return np.linalg.norm(y) + la.norm(x) + np.exp(y).sum()


@njit
def by_name(x):
    y = zeros(3)
    y[1] = x[0]
    return y


def test_njit_functions_see_functions_of_numpy():
    x = numpy.ones(3)
    assert by_module(x) == by_module.py_func(x)
    assert by_name(x).tolist() == [0.0, 1.0, 0.0]
