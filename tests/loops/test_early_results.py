"""Functions that are called and return arrays from inside of loops."""

import numpy as np
import pytest

import nbgrad
from nbgrad import njit


def newton(a):
    x = a.copy()
    for _ in range(50):
        y = 0.5 * (x + a / x)
        if np.max(np.abs(y - x)) < 1e-13:
            return y
        x = y
    return x


def forever(a):
    x = a.copy()
    while True:
        y = 0.5 * (x + a / x)
        if np.max(np.abs(y - x)) < 1e-13:
            return y
        x = y


def nested(a):
    for i in range(3):
        for j in range(3):
            if a[0] * (i + 1) * (j + 1) > 5.0:
                return a * (i + j)
    return a * 0.5


def raising(a):
    for _ in range(5):
        if a[0] > 10.0:
            return a * 2.0
        a = a * 1.7
    raise ValueError("it does not grow")


def of_two_lengths(a):
    if a[0] < 0.0:
        return -a
    for i in range(a.size):
        if a[i] > 1.0:
            return a[i:] * 2.0
    return a


def in_the_else_of_a_loop(a):
    for i in range(3):
        if a[i] > 5.0:
            return a * 2.0
    else:
        a = a * 3.0
    return a


def loss_of(function):
    def loss(a):
        total = 0.0
        for factor in (0.01, 1.0, 100.0):
            found = function(a * factor)
            total += (found * found * np.arange(1.0, found.size + 1)).sum()
        return total

    return loss


A = np.array([2.0, 3.0, 0.7])


@pytest.mark.parametrize("function", [newton, forever, nested, of_two_lengths])
def test_results_and_derivatives(function):
    loss = loss_of(function)
    value, slope = nbgrad.value_and_grad(njit(loss))(A)
    assert np.isclose(value, loss(A))
    np.testing.assert_allclose(slope, nbgrad.grad(loss)(A), rtol=1e-9)


def test_a_loop_that_returns_or_what_follows_raises():
    compiled = njit(lambda a: raising(a).sum())
    np.testing.assert_allclose(nbgrad.grad(compiled)(A), nbgrad.grad(lambda a: raising(a).sum())(A))
    with pytest.raises(ValueError, match="does not grow"):
        nbgrad.grad(compiled)(0.01 * A)


def test_functions_with_rules_may_return_in_loops():
    root = nbgrad.custom_rule(forever, pullback=lambda ct, out, a: 3.0 * ct / (2.0 * out))
    slope = nbgrad.grad(njit(lambda a: root(a).sum()))(A)
    np.testing.assert_allclose(slope, 1.5 / np.sqrt(A))


def test_what_is_refused_is_named():
    with pytest.raises(nbgrad.NoRuleError, match="in the else of a loop: return it at the end"):
        nbgrad.grad(njit(lambda a: in_the_else_of_a_loop(a).sum()))(A)
