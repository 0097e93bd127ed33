"""`nbgrad.scipy.integrate.solve_ivp`."""

import numpy as np
import scipy.integrate

import nbgrad
from nbgrad.scipy import integrate


def decay(t, y, rate):
    return -rate * y


def test_plain_values_are_scipys_and_tracked_ones_have_gradients():
    def end(rate, method="RK45"):
        found = integrate.solve_ivp(
            decay, (0.0, 1.0), np.ones(2), method, args=(rate,), t_eval=[1.0], rtol=1e-9, atol=1e-9
        )
        return found.y[0, -1]

    right = scipy.integrate.solve_ivp(decay, (0.0, 1.0), np.ones(2), args=(2.0,)).y
    assert np.array_equal(integrate.solve_ivp(decay, (0, 1), np.ones(2), args=(2.0,)).y, right)
    assert np.isclose(nbgrad.grad(end)(2.0), -np.exp(-2.0), 1e-7)
    assert np.isclose(nbgrad.grad(end)(2.0, "Radau"), -np.exp(-2.0), 1e-6)
