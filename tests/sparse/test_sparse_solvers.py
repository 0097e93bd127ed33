"""SciPy's solvers with sparse derivatives."""

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import NonlinearConstraint

import nbgrad
from nbgrad.errors import ArgumentError


def residuals(u, c):
    return np.concatenate([10.0 * (u[1:] - u[:-1] ** 2), c - u[:-1]])


def loss(u):
    return np.sum(100.0 * (u[1:] - u[:-1] ** 2) ** 2 + (1.0 - u[:-1]) ** 2)


def flow(u):
    inner = u[2:] - 2.0 * u[1:-1] + u[:-2] - 0.1 * u[1:-1] ** 3
    return np.concatenate([u[:1] - 1.0, inner, u[-1:]])


START = np.full(40, 0.5)


def test_least_squares():
    found = nbgrad.scipy.least_squares(residuals, START, args=(1.0,), jac="sparse")
    assert scipy.sparse.issparse(found.jac) and found.cost < 1e-12

    def parts(p):
        return np.concatenate([p["a"] - 1.0, 2.0 * p["b"] - p["a"][0]])

    p = {"a": np.zeros(3), "b": np.zeros(2)}
    found = nbgrad.scipy.least_squares(parts, p, jac="sparse")
    np.testing.assert_allclose(found.x["b"], 0.5, atol=1e-6)


def test_root():
    found = nbgrad.scipy.root(flow, np.zeros(30), jac="sparse")
    assert found.success and np.abs(found.fun).max() < 1e-8


def test_minimize():
    def run(constraint, **settings):
        return nbgrad.scipy.minimize(
            loss, np.zeros(8), method="trust-constr", constraints=[constraint], **settings
        )

    def ring(u):
        return u[1:] ** 2 + u[:-1] ** 2

    expected = run(NonlinearConstraint(ring, 0.0, 1.5))
    sparse: object = "sparse"
    found = run(NonlinearConstraint(ring, 0.0, 1.5, jac=sparse), hess="sparse")  # pyright: ignore
    np.testing.assert_allclose(found.x, expected.x, atol=1e-4)


@pytest.mark.parametrize(
    "call",
    [
        lambda: nbgrad.scipy.minimize(loss, START, hess="sparse"),
        lambda: nbgrad.scipy.minimize(loss, START, jac="sparse"),
        lambda: nbgrad.scipy.root(flow, START, method="krylov", jac="sparse"),
        lambda: nbgrad.scipy.least_squares(
            residuals, START, args=(1.0,), jac="sparse", method="lm"
        ),
    ],
)
def test_methods_that_take_no_sparse_matrix(call):
    with pytest.raises(ArgumentError, match='="sparse" is for'):
        call()
