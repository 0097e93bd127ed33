"""Functions under Numba's `@njit` in modules that import `nbgrad.numpy`."""

import numpy
import pytest
from numba import njit

import nbgrad
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


def of_tracked(x):
    return by_name(x)[1]


def of_filled(x):
    y = np.zeros(3)
    y[0] = x[0]
    return by_name(y)[1]


def of_number(x):
    return by_name(np.sum(x))


MODES = {
    "grad": nbgrad.grad,
    "jvp": lambda f: lambda x: nbgrad.jvp(f, (x,), (x,)),
    "vmap": lambda f: lambda x: nbgrad.vmap(f)(x[None]),
    "compile": nbgrad.compile,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [of_tracked, of_filled, of_number])
def test_njit_functions_refuse_tracked_values_by_name(f, mode):
    with pytest.raises(nbgrad.NoRuleError, match=r"by_name .*cannot be differentiated"):
        MODES[mode](f)(numpy.ones(3))
