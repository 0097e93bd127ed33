"""Derivatives of solvers by the implicit function theorem."""

# What is wrong on purpose, and what NumPy's annotations do not know.
# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false

import numba
import numpy as np
import pytest
from scipy import optimize

import nbgrad
from nbgrad import grad, jvp, vmap

RNG = np.random.default_rng(0)
A = np.array([1.0, 4.0, 9.0])


@nbgrad.implicit(lambda x, a: x**2 - a)
def root(a):
    return optimize.brentq(lambda x: x**2 - a, 0.0, 10.0, xtol=1e-14)


def balance(x, p, start):
    return {"sum": x["a"] + x["b"][0] - p["total"], "mass": [x["a"] ** 2 - p["k"] * x["b"]]}


@nbgrad.implicit(balance)
def equilibrium(p, start):
    def zero(v):
        return np.array([v[0] + v[1] - p["total"], v[0] ** 2 - p["k"] * v[1]])

    v = optimize.root(zero, start, tol=1e-14).x
    return {"a": v[0], "b": v[1:]}


P, START = {"k": 2.0, "total": 3.0, "n": 3}, np.ones(2)


def test_a_root_has_derivatives_of_every_order_in_every_mode():
    assert grad(root)(4.0) == pytest.approx(0.25, rel=1e-14)
    assert grad(grad(root))(4.0) == pytest.approx(-1 / 32, rel=1e-14)
    assert grad(grad(grad(root)))(4.0) == pytest.approx(3 / 256, rel=1e-13)
    assert jvp(root, (4.0,), (1.0,))[1] == pytest.approx(0.25, rel=1e-14)
    assert jvp(grad(root), (4.0,), (1.0,))[1] == pytest.approx(-1 / 32, rel=1e-14)
    assert grad(lambda a: jvp(root, (a,), (1.0,))[1])(4.0) == pytest.approx(-1 / 32, rel=1e-14)
    leaf = nbgrad.track(4.0)
    root(leaf).backward()
    assert leaf.grad == pytest.approx(0.25, rel=1e-14)


def test_samples_are_solved_one_by_one_and_differentiated_together():
    np.testing.assert_allclose(vmap(root)(A), np.sqrt(A), rtol=1e-14)
    np.testing.assert_allclose(vmap(grad(root))(A), 0.5 / np.sqrt(A), rtol=1e-14)
    np.testing.assert_allclose(vmap(grad(grad(root)))(A), -0.25 * A**-1.5, rtol=1e-13)

    def total(a):
        return np.sum(vmap(root)(a))

    np.testing.assert_allclose(grad(total)(A), 0.5 / np.sqrt(A), rtol=1e-14)
    np.testing.assert_allclose(nbgrad.hessian(total)(A), np.diag(-0.25 * A**-1.5), atol=1e-14)
    assert vmap(grad(root))(np.zeros(0)).shape == (0,)


def test_nested_solutions_and_arguments():
    slope = grad(lambda p, start: equilibrium(p, start)["a"], (0, 1))(P, START)
    step = 1e-5
    for name in ("k", "total"):
        ends = [equilibrium(P | {name: P[name] + h}, START)["a"] for h in (step, -step)]
        assert slope[0][name] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-8)
    assert slope[0]["n"] is None
    np.testing.assert_array_equal(slope[1], [0.0, 0.0])
    nbgrad.check_grads(
        lambda k, t: equilibrium({"k": k, "total": t}, START), (2.0, 3.0),
        modes=("reverse", "forward"), order=2,
    )  # fmt: skip


@numba.njit
def compiled(a):
    x = 1.0
    for _ in range(40):
        x = 0.5 * (x + a / x)
    return x


def test_a_solver_that_numba_compiled():
    solve = nbgrad.implicit(lambda x, a: x**2 - a)(compiled)
    assert grad(grad(solve))(4.0) == pytest.approx(-1 / 32, rel=1e-14)
    with pytest.raises(nbgrad.TraceError, match=r"compiled is compiled by Numba.*nbgrad\.njit"):
        nbgrad.compile(solve)(4.0)
    own = nbgrad.implicit(lambda x, a: x**2 - a)(nbgrad.njit(compiled.py_func))  # pyright: ignore
    assert nbgrad.compile(grad(grad(own)))(4.0) == pytest.approx(-1 / 32, rel=1e-14)


def test_tracked_values_in_closures_are_arguments():
    def loss(a, b):
        @nbgrad.implicit(lambda x: x**2 - a * b)
        def inner():
            return optimize.brentq(lambda x: x**2 - a * b, 0.0, 10.0, xtol=1e-14)

        return inner()

    assert grad(loss)(2.0, 2.0) == pytest.approx(0.5, rel=1e-14)
    np.testing.assert_allclose(nbgrad.gradient(loss, 2.0, 2.0), [0.5, 0.5], rtol=1e-14)
    assert grad(grad(loss))(2.0, 2.0) == pytest.approx(-1 / 8, rel=1e-14)


M = RNG.normal(size=(5, 5))
M = M @ M.T + 5.0 * np.eye(5)


def cubic(x, b):
    return M @ x + x**3 - b


def solve_cubic(b):
    return optimize.root(lambda x: cubic(x, b), np.zeros(5), tol=1e-14).x


def conjugate(product, b):
    """Conjugate gradients."""
    x, r = np.zeros_like(b), b
    p = r
    for _ in range(b.size):
        if not np.any(r):
            break
        step = (r @ r) / (p @ product(p))
        x, new = x + step * p, r - step * product(p)
        p, r = new + (new @ new) / (r @ r) * p, new
    return x


@pytest.mark.parametrize("solve", ["gmres", "bicgstab", "cg", conjugate])
def test_linear_solvers_of_products(solve):
    b = RNG.normal(size=5)
    dense = nbgrad.implicit(cubic)(solve_cubic)
    free = nbgrad.implicit(cubic, solve=solve)(solve_cubic)
    for mode in ("reverse", "forward"):
        found = nbgrad.jacobian(free, mode=mode)(b)
        np.testing.assert_allclose(found, nbgrad.jacobian(dense)(b), atol=1e-12)
    bent = [nbgrad.hessian(lambda b, f=f: np.sum(f(b) ** 2))(b) for f in (free, dense)]
    np.testing.assert_allclose(*bent, atol=1e-12)


hidden = [nbgrad.track(2.0)]


def test_wrong_input_is_named():
    with pytest.raises(TypeError, match="implicit: not a function"):
        nbgrad.implicit(3.0)  # pyright: ignore
    with pytest.raises(ValueError, match=r"solve='lu'.*'bicgstab', 'cg', 'gmres'"):
        nbgrad.implicit(cubic, solve="lu")
    two = nbgrad.implicit(lambda x, a: np.stack([x - a, x]))(lambda a: a)
    with pytest.raises(nbgrad.DimensionMismatch, match="optimality returned 2 numbers for 1 unk"):
        grad(two)(1.0)
    lost = nbgrad.implicit(lambda x, a: x**2 - a)(lambda a: np.nan)
    with pytest.raises(nbgrad.NanError, match=r"nan.*not finite: the solver did not converge"):
        grad(lost)(1.0)
    double = nbgrad.implicit(lambda x, a: (x - 1.0) ** 2 * a)(lambda a: 1.0)
    with pytest.raises(np.linalg.LinAlgError, match=r"equation at the solution is singular.*resid"):
        grad(double)(1.0)
    early = nbgrad.implicit(lambda x, a: x**2 - a)(lambda a: 2.1)
    with pytest.raises(RuntimeError, match=r"did not converge: the residual is 0\.41"):
        grad(early)(4.0)
    early = nbgrad.implicit(lambda x, a: x**2 - a, tol=None)(lambda a: 2.1)
    assert grad(early)(4.0) == pytest.approx(0.5 / 2.1)
    outer = nbgrad.implicit(lambda x, a: x - a * hidden[0])(lambda a: 2.0 * a)
    with pytest.raises(TypeError, match="uses a tracked value that is neither an argument"):
        grad(outer)(1.0)
