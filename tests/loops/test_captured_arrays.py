"""Arrays that a function takes from outside, and functions through which nothing flows."""

from collections import namedtuple

import numba
import numpy as np
import pytest

import nbgrad

WEIGHTS = np.array([1.0, 2.0, 3.0])
ORDER = np.array([2, 0, 1])
TURNED = np.arange(6.0).reshape(3, 2)[:, ::-1]
NONE = np.zeros(0)


@nbgrad.njit
def weighted(a):
    total = 0.0
    for i in range(len(WEIGHTS)):
        total += a[ORDER[i]] * WEIGHTS[i] * TURNED[i, 1]
    return total + NONE.sum()


def expected(a):
    return (a[ORDER] * WEIGHTS * TURNED[:, 1]).sum()


SLOPE = np.array([4.0, 12.0, 0.0])


def test_globals():
    a = np.array([0.3, 0.4, 0.5])
    value, gradient = nbgrad.value_and_grad(weighted)(a)
    assert value == pytest.approx(expected(a)) and np.array_equal(gradient, SLOPE)
    assert np.array_equal(nbgrad.compile(nbgrad.grad(weighted))(a), SLOPE)


def test_closures_and_functions_that_are_called_in_loops():
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])

    @numba.njit
    def inner(a, i):
        return (matrix[i] * a).sum()

    @nbgrad.njit
    def outer(a):
        total = 0.0
        for i in range(matrix.shape[0]):
            total += inner(a, i) ** 2
        return total

    a = np.array([0.5, -1.0])
    assert nbgrad.grad(outer)(a) == pytest.approx(2 * matrix.T @ (matrix @ a))


def test_elements_are_read_at_each_call():
    held = np.array([2.0, 3.0])

    @nbgrad.njit
    def product(a):
        return (held * a).sum()

    assert np.array_equal(nbgrad.grad(product)(np.ones(2)), [2.0, 3.0])
    held[0] = 5.0
    assert np.array_equal(nbgrad.grad(product)(np.ones(2)), [5.0, 3.0])


def test_writes_are_refused():
    held = np.zeros(2)

    @nbgrad.njit
    def writes(a):
        held[0] = a[0]
        return a.sum()

    with pytest.raises(nbgrad.NoRuleError, match="test_captured"):
        nbgrad.grad(writes)(np.ones(2))


def test_second_derivatives_of_linear_functions_are_zero():
    a = np.array([0.3, 0.4, 0.5])
    assert np.array_equal(nbgrad.hessian(weighted)(a), np.zeros((3, 3)))
    hessian = nbgrad.hessian(lambda a: weighted(a * a))(a)
    assert hessian == pytest.approx(np.diag(2 * SLOPE))
    gradient = nbgrad.grad(weighted)
    assert np.array_equal(nbgrad.jvp(gradient, (a,), (a,))[1], np.zeros(3))
    assert np.array_equal(nbgrad.jacobian(gradient)(a), np.zeros((3, 3)))


Pair = namedtuple("Pair", "low high")
TUPLE, PAIR = (TURNED, (2.0, WEIGHTS[:2])), Pair(TURNED, 3.0)


def of_tuples(a):
    return (
        np.sum(TUPLE[0] * a) * TUPLE[1][0] + TUPLE[1][1] @ a[0] + np.sum(PAIR.low * a) * PAIR.high
    )


def test_tuples_of_arrays():
    a = np.ones_like(TURNED)
    value, gradient = nbgrad.value_and_grad(nbgrad.njit(of_tuples))(a)
    assert value == pytest.approx(of_tuples(a))
    np.testing.assert_allclose(gradient, nbgrad.grad(of_tuples)(a), rtol=1e-14)
