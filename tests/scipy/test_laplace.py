"""`nbgrad.laplace`: covariances in closed form, errors of functions, and refusals."""

import copy
import pickle
from typing import Any, cast

import numpy as np
import pytest

import nbgrad
from nbgrad.errors import ArgumentError, ArgumentTypeError, MatrixError
from nbgrad.scipy import least_squares, minimize

T = np.linspace(0.0, 1.0, 30)
DATA = 1.0 + 2.0 * T + 0.1 * np.cos(40.0 * T)
START = {"a": 0.0, "b": np.zeros(1)}
DESIGN = np.stack([np.ones(30), T], axis=1)


def line(p, t):
    return p["a"] + p["b"] * t


def residuals(p):
    return line(p, T) - DATA


@pytest.mark.parametrize("compile", [False, True])
def test_least_squares_has_the_covariance_of_regression(compile):
    found = least_squares(residuals, START, compile=compile)
    near = nbgrad.laplace(found)
    miss = DATA - DESIGN @ np.linalg.lstsq(DESIGN, DATA)[0]
    exact = miss @ miss / 28 * np.linalg.inv(DESIGN.T @ DESIGN)
    np.testing.assert_allclose(near.covariance, exact, rtol=1e-8)
    np.testing.assert_allclose(near.errors["a"], np.sqrt(exact[0, 0]), rtol=1e-8)
    assert near.errors["b"].shape == (1,) and near.mean["b"].shape == (1,)
    known = nbgrad.laplace(found, noise=0.5)
    np.testing.assert_allclose(known.covariance, 0.25 * np.linalg.inv(DESIGN.T @ DESIGN), rtol=1e-8)
    np.testing.assert_allclose(np.diag(near.correlation), 1.0)


@pytest.mark.parametrize("compile", [False, True])
@pytest.mark.parametrize("method", ["BFGS", "trust-exact", "Nelder-Mead"])
def test_minimize_has_the_inverse_hessian(method, compile):
    def density(p, data):
        return 0.5 * np.sum(((line(p, T) - data) / 0.1) ** 2)

    found = minimize(density, START, args=(DATA,), method=method, compile=compile, tol=1e-6)
    near = nbgrad.laplace(found)
    np.testing.assert_allclose(near.covariance, 0.01 * np.linalg.inv(DESIGN.T @ DESIGN), rtol=1e-8)


def test_bands_are_those_of_the_delta_method():
    near = nbgrad.laplace(least_squares(residuals, START))
    ahead = np.array([0.5, 3.0])
    value, error = near.band(line, ahead)
    rows = np.stack([np.ones(2), ahead], axis=1)
    np.testing.assert_allclose(value, 1.0 + 2.0 * ahead, atol=0.1)
    np.testing.assert_allclose(
        error, np.sqrt(np.einsum("ki,ij,kj->k", rows, near.covariance, rows)), rtol=1e-10
    )
    tree = near.band(lambda p: {"sum": p["a"] + p["b"][0], "double": 2.0 * p["b"]})
    np.testing.assert_allclose(tree.error["double"], 2.0 * near.errors["b"])
    assert np.shape(tree.error["sum"]) == ()
    with pytest.raises(ArgumentTypeError, match="pass the function itself"):
        near.band(cast(Any, 1.0))


def test_draws_have_the_covariance():
    near = nbgrad.laplace(least_squares(residuals, START))
    drawn = near.sample(50_000, seed=1)
    assert drawn["a"].shape == (50_000,) and drawn["b"].shape == (50_000, 1)
    both = np.cov(drawn["a"], drawn["b"][:, 0])
    np.testing.assert_allclose(both, near.covariance, rtol=0.05)
    np.testing.assert_array_equal(near.sample(3)["a"], near.sample(3)["a"])


def test_it_shows_itself():
    near = nbgrad.laplace(least_squares(residuals, START))
    assert "a: " in repr(near) and "+-" in repr(near)
    assert "<table>" in near._repr_html_()


def test_what_is_not_determined_is_named():
    twice = lambda p: 0.5 * (p["a"] + p["b"] - 1.0) ** 2  # noqa: E731
    with pytest.raises(MatrixError, match=r"Hessian is singular: the data do not determine [ab], "):
        nbgrad.laplace(minimize(twice, {"a": 0.0, "b": 0.0}))
    with pytest.raises(MatrixError, match=r"J\^T J is singular.* c"):
        nbgrad.laplace(least_squares(lambda p: p["a"] - T + 0.0 * p["c"], {"a": 0.0, "c": 0.0}))


def test_points_that_are_no_minimum_are_refused():
    saddle = lambda x: x[0] ** 2 - x[1] ** 2  # noqa: E731
    with pytest.raises(MatrixError, match=r"negative eigenvalue: the point is a saddle.*x\[1\]"):
        nbgrad.laplace(minimize(saddle, np.zeros(2)))
    square = lambda x: 0.5 * np.sum((x - 5.0) ** 2)  # noqa: E731
    early = minimize(square, np.zeros(2), method="L-BFGS-B", options={"maxiter": 0})
    with pytest.raises(ArgumentError, match="the point is no minimum: a Newton step lowers"):
        nbgrad.laplace(early)
    held = minimize(square, np.zeros(2), bounds=[(0.0, 1.0)] * 2)
    with pytest.raises(ArgumentError, match="leave out parameters that are at their bounds"):
        nbgrad.laplace(held)
    held = least_squares(lambda x: x - 5.0 + T, np.zeros(1), bounds=(-1.0, 1.0))
    with pytest.raises(ArgumentError, match=r"x\[0\] at a bound"):
        nbgrad.laplace(held)


def test_other_arguments_are_refused():
    found = least_squares(residuals, START)
    for other in (None, found.x, pickle.loads(pickle.dumps(found)), copy.copy(found)):
        with pytest.raises(ArgumentTypeError, match="pass the result of nbgrad"):
            nbgrad.laplace(other)
    with pytest.raises(ArgumentError, match=r"noise=-1\.0 must be a positive number"):
        nbgrad.laplace(found, noise=-1.0)
    with pytest.raises(ArgumentError, match="noise= is for least_squares"):
        nbgrad.laplace(minimize(lambda x: np.sum(x**2), np.ones(1)), noise=1.0)
    with pytest.raises(ArgumentError, match="no degree of freedom"):
        nbgrad.laplace(least_squares(lambda x: x - 1.0, np.zeros(2)))
    with pytest.raises(ArgumentError, match="pass noise="):
        nbgrad.laplace(least_squares(residuals, START, loss="soft_l1"))
    assert "problem" not in found and "problem" not in repr(found)
