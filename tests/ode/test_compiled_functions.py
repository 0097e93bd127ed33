"""Right-hand sides that Numba compiles, and C functions in them."""

import ctypes
import ctypes.util
from collections.abc import Callable

import numba
import numpy as np
import pytest

import nbgrad
from nbgrad import ode
from nbgrad.errors import LoopError
from nbgrad.ode.rates import Recorded

OPTIONS: dict = {"t_eval": [1.0], "rtol": 1e-9, "atol": 1e-9}
P, Y0 = np.array([1.0, 0.5, 0.3]), np.array([1.0, 2.0])


@numba.njit
def predators(t, y, p):
    out = np.empty(2)
    out[0] = p[0] * y[0] - p[1] * y[0] * y[1]
    out[1] = p[1] * y[0] * y[1] - p[2] * y[1]
    return out


def of_arrays(t, y, p):
    return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[1] * y[0] * y[1] - p[2] * y[1]])


@pytest.mark.full
@pytest.mark.parametrize("method", ["RK45", "Rosenbrock"])
def test_functions_of_numba_have_both_gradients(method):
    def end(p, f, gradient="discrete"):
        return ode.solve(
            f, (0.0, 1.0), Y0, args=(p,), method=method, gradient=gradient, **OPTIONS
        ).y[0, 0]

    right = nbgrad.grad(end)(P, of_arrays)
    assert np.allclose(nbgrad.grad(end)(P, predators), right, 1e-9)
    assert np.allclose(nbgrad.grad(end)(P, predators, "adjoint"), right, 1e-6)


@pytest.mark.full
def test_functions_of_numba_in_all_modes():
    def end(p, f: Callable = predators):
        return ode.solve(f, (0.0, 1.0), Y0, args=(p,), method="Rosenbrock", **OPTIONS).y[0, 0]

    by_arrays = nbgrad.hessian(lambda p: end(p, of_arrays))(P)
    assert np.allclose(nbgrad.hessian(end)(P), by_arrays, 1e-8)
    assert np.isclose(nbgrad.jvp(end, (P,), (P,))[1], nbgrad.grad(end)(P) @ P, 1e-9)
    slopes = nbgrad.vmap(nbgrad.grad(end))(np.stack([P, P]))
    assert np.allclose(slopes[1], nbgrad.compile(nbgrad.grad(end))(P), 1e-12)


def test_pullbacks_in_loops_begin_with_cotangents_of_zero():
    def slopes(y):
        return nbgrad.vjp(lambda y: nbgrad.njit(predators.py_func)(0.0, y, P), y)[1](np.ones(2))[0]

    again = Recorded(slopes, "slopes", [(2,)])

    @nbgrad.njit
    def last(y, n):
        found = y
        for _ in range(n):
            found = again(y)
        return found

    found = [nbgrad.compile(lambda y, n=n: last(y, n))(Y0) for n in (1, 3)]
    assert np.array_equal(*found)


# -- C functions ----------------------------------------------------------------------------------

LIBRARY = ctypes.CDLL(ctypes.util.find_library("m"))
CUBE_ROOT = LIBRARY.cbrt
CUBE_ROOT.argtypes, CUBE_ROOT.restype = [ctypes.c_double], ctypes.c_double


@numba.cfunc("float64(float64)")
def cube_root_of_numba(x):
    return x ** (1.0 / 3.0)


OF_NUMBA = cube_root_of_numba.ctypes


def slope(ct, out, x):
    return ct / (3.0 * out * out)


@nbgrad.custom_rule(pullback=slope)
def cube_root(x):
    return CUBE_ROOT(x)


@nbgrad.custom_rule(pullback=slope)
def other_root(x):
    return OF_NUMBA(x)


def drained(t, y, k):
    return np.array([-k * cube_root(y[0]), -k * y[1]])


def drained_by_numba(t, y, k):
    return np.array([-k * other_root(y[0]), -k * y[1]])


def drained_without_rule(t, y, k):
    return np.array([-k * CUBE_ROOT(y[0]), -k * y[1]])


def left(k, f, method="RK45", gradient="discrete"):
    return ode.solve(f, (0.0, 1.0), Y0, args=(k,), method=method, gradient=gradient, **OPTIONS).y[
        0, 0
    ]


@pytest.mark.parametrize("f", [drained, pytest.param(drained_by_numba, marks=pytest.mark.full)])
def test_c_functions_with_a_rule(f):
    value, by_k = nbgrad.value_and_grad(left)(0.5, f)
    assert np.isclose(value, (2.0 / 3.0) ** 1.5, 1e-8)
    assert np.isclose(by_k, -((2.0 / 3.0) ** 0.5), 1e-7)


@pytest.mark.full
def test_c_functions_in_other_modes():
    right = -((2.0 / 3.0) ** 0.5)
    assert np.isclose(nbgrad.jvp(lambda k: left(k, drained), (0.5,), (1.0,))[1], right, 1e-7)
    assert np.isclose(nbgrad.compile(nbgrad.grad(lambda k: left(k, drained)))(0.5), right, 1e-7)
    assert np.isclose(nbgrad.grad(left)(0.5, drained, "RK45", "adjoint"), right, 1e-6)
    assert np.isclose(nbgrad.grad(left)(0.5, drained, "Rosenbrock"), right, 1e-7)


def test_c_functions_without_a_rule_have_values_only():
    assert np.isclose(left(0.5, drained_without_rule), (2.0 / 3.0) ** 1.5, 1e-8)
    with pytest.raises(LoopError, match=r"C function has no derivative.*custom_rule"):
        nbgrad.grad(left)(0.5, drained_without_rule)
