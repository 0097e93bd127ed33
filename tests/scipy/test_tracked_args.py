"""SciPy's solvers in losses: derivatives of solutions, in every mode and tier."""

from collections.abc import Callable, Iterable

import numpy as np
import pytest
import scipy.optimize as scipy_optimize

import nbgrad
from nbgrad import compile, grad, jvp, scipy, value_and_grad, vmap

T = np.linspace(0.0, 1.0, 6)


def pair(x, p):
    return np.stack([x[0] + x[1] - 3.0, x[0] * x[1] - p])


def quartic(x, p):
    return np.sum((x - p) ** 4) + np.sum(x**2)


def misfit(q, p):
    return q["a"] * np.exp(-q["b"] * T) - p * np.exp(-p * T) - 0.1 * T**2


FIRST = {"a": 1.0, "b": 1.0}
BOX = ({"a": 0.0, "b": 0.0}, {"a": 9.0, "b": 9.0})

ROOTS: dict[str, Callable] = {
    "brentq": lambda p: scipy.brentq(lambda x, p: x**3 - p, 0.0, 5.0, (p,)),
    "brentq closure": lambda p: scipy.brentq(lambda x: x**3 - p, 0, p),
    "newton": lambda p: scipy.newton(lambda x, p: x**3 - p, 1.0, args=(p,)),
    "fixed_point": lambda p: scipy.fixed_point(lambda x, p: np.cos(x) * p / 4.0, 0.5, p),
    "root_scalar bracket": lambda p: scipy.root_scalar(lambda x: x**3 - p, bracket=(0, 5)).root,
    "root_scalar x0": lambda p: scipy.root_scalar(lambda x, p: x**3 - p, (p,), x0=1.0).root,
    "root": lambda p: scipy.root(pair, [0, 3], (p / 4.0,)).x[0],
    "root tree": lambda p: scipy.root(
        lambda x: [x["a"] + x["b"] - 3.0, x["a"] * x["b"] - p / 4.0], {"a": 0.0, "b": 3.0}
    ).x["a"],
}  # fmt: skip
OPTIMA: dict[str, Callable] = {
    "minimize": lambda p: scipy.minimize(quartic, np.zeros(2), (p,)).x[0],
    "minimize fun": lambda p: scipy.minimize(quartic, [0, 0], p, method="L-BFGS-B").fun,
    "minimize Nelder-Mead": lambda p: scipy.minimize(quartic, 0, p, method="Nelder-Mead").x[0],
    "minimize compiled": lambda p: scipy.minimize(quartic, 0, p, compile=True).x[0],
    "minimize bounds": lambda p: np.sum(
        scipy.minimize(
            lambda x: np.sum((x - p * np.array([1.0, 0.5])) ** 4 + x**2), [0.0, 0.0],
            bounds=[(0, 2), (0, None)],
        ).x
    ),
    "least_squares": lambda p: scipy.least_squares(misfit, FIRST, args=(p,)).x["b"],
    "least_squares loss": lambda p: scipy.least_squares(
        misfit, FIRST, kwargs={"p": p}, loss="cauchy", f_scale=0.1, bounds=BOX
    ).cost,
}  # fmt: skip
ALL = ROOTS | OPTIMA
BENT = {*ROOTS, "minimize", "least_squares loss"}
P, H = 8.0, 1e-3


def sometimes(names: Iterable[str], *long: str) -> list:
    """Return the names, with those that are tested in the full run only marked."""
    return [pytest.param(x, marks=pytest.mark.full) if x in long else x for x in names]


def difference(f: Callable, x: float) -> float:
    """The derivative by differences, with an error of the fourth order."""
    near, far = (f(x + h) - f(x - h) for h in (H, 2.0 * H))
    return (8.0 * near - far) / (12.0 * H)


def exact(f: Callable) -> Callable:
    """Values of f to rounding errors: those of the solution for tracked arguments."""
    return lambda x: float(value_and_grad(f)(x)[0])


@pytest.mark.parametrize(
    "name", sometimes(ALL, "minimize fun", "minimize compiled", "least_squares", "root tree")
)
def test_derivatives_are_those_of_differences(name):
    f = ALL[name]
    value, slope = value_and_grad(f)(P)
    assert value == pytest.approx(f(P), rel=1e-4), "SciPy's tolerance"
    assert slope == pytest.approx(difference(exact(f), P), rel=1e-8, abs=1e-9)
    assert jvp(f, (P,), (1.0,))[1] == pytest.approx(slope, rel=1e-12)
    if name not in BENT:
        return
    bent = difference(lambda x: float(grad(f)(x)), P)
    assert grad(grad(f))(P) == pytest.approx(bent, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("name", ["brentq", "newton", "root tree", "minimize", "least_squares"])
def test_samples(name):
    f, samples = ALL[name], np.array([7.0, 8.5])
    values, slopes = vmap(value_and_grad(f))(samples)
    for value, slope, x in zip(values, slopes, samples, strict=True):
        assert (value, slope) == pytest.approx(value_and_grad(f)(x), rel=1e-12)


@pytest.mark.parametrize("name", sometimes(ROOTS, "root tree", "brentq closure"))
def test_roots_in_compiled_programs(name):
    f = ROOTS[name]
    assert compile(value_and_grad(f))(P) == pytest.approx(value_and_grad(f)(P), rel=1e-10)


VALLEY = np.array([20.0, 0.3])


def valley(x, p):
    """Rosenbrock's function, whose minimum at (1, 1) moves."""
    return (1.0 - x["a"]) ** 2 + p[0] * (x["b"] - x["a"] ** 2) ** 2 + p[1] * x["a"] * x["b"]


def lowest(p, **settings):
    found = scipy.minimize(valley, {"a": -1.2, "b": 1.0}, (p,), **settings)
    return found.x["b"] + found.fun


def test_minima_in_compiled_programs():
    slopes = nbgrad.value_and_grad(lowest)
    for one, other in zip(compile(slopes)(VALLEY), slopes(VALLEY), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_fits_in_compiled_programs():
    def fitted(p):
        found = scipy.least_squares(misfit, FIRST, args=(p,), loss="cauchy", f_scale=0.1)
        return found.x["b"] + found.cost

    slopes = nbgrad.value_and_grad(fitted)
    np.testing.assert_allclose(compile(slopes)(P), slopes(P), rtol=1e-9)


@pytest.mark.full
def test_bends_and_samples_of_compiled_minima():
    bent = nbgrad.hessian(lowest)
    np.testing.assert_allclose(compile(bent)(VALLEY), bent(VALLEY), rtol=1e-7, atol=1e-10)
    many = compile(vmap(lambda p: lowest(p, method="bfgs", options={"gtol": 1e-3})))
    found = many(np.stack([VALLEY, 2.0 * VALLEY]))[0]
    np.testing.assert_allclose(found, nbgrad.value_and_grad(lowest)(VALLEY)[0], rtol=1e-9)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_compiled_minima_of_any_size(size):
    """Steps of BFGS that are far too long or too short at first, and a start at the minimum."""

    def place(p, start):
        return scipy.minimize(lambda x: np.sum(np.logaddexp(x - p, p - x)), start).x

    p, found = np.array([3.0, -2.0]) * size, compile(place)
    for start in (np.zeros(2), p):
        np.testing.assert_allclose(found(p, start), p, rtol=1e-10)


def test_many_roots_at_once():
    a = np.array([1.0, 8.0, 27.0])

    def roots(a):
        return scipy.newton(lambda x, a: x**3 - a, np.ones(3), args=(a,))

    slopes = np.diag(a ** (-2 / 3) / 3.0)
    np.testing.assert_allclose(nbgrad.jacobian(roots)(a), slopes, atol=1e-13)
    total = lambda a: np.sum(roots(a))  # noqa: E731
    np.testing.assert_allclose(compile(grad(total))(a), np.diag(slopes), rtol=1e-12)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        grad(lambda a: np.sum(scipy.newton(lambda x: (x - 1.0) * a * 0.0, np.ones(2))))(1.0)


def test_a_ridge_regression_and_its_penalty():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    x_new, y_new = rng.normal(size=(20, 3)), rng.normal(size=20)

    def loss(w, log_penalty):
        return np.sum((x @ w - y) ** 2) + np.exp(log_penalty) * np.sum(w**2)

    def held_out(log_penalty):
        w = scipy.minimize(loss, np.zeros(3), (log_penalty,)).x
        return np.sum((x_new @ w - y_new) ** 2)

    def closed(log_penalty):
        w = np.linalg.solve(x.T @ x + np.exp(log_penalty) * np.eye(3), x.T @ y)
        return np.sum((x_new @ w - y_new) ** 2)

    assert grad(held_out)(0.5) == pytest.approx(grad(closed)(0.5), rel=1e-10)
    assert grad(grad(held_out))(0.5) == pytest.approx(grad(grad(closed))(0.5), rel=1e-9)


def apart(x, p):
    return np.sum((x - p * np.array([1.0, 2.0, 3.0])) ** 2) + np.sum(x**4)


CONSTRAINTS: dict[str, Callable] = {
    "equality": lambda p: {"type": "eq", "fun": lambda x, q: np.sum(x) - q, "args": (p,)},
    "inequalities": lambda p: [
        {"type": "ineq", "fun": lambda x: np.stack([p - np.sum(x**2), 100.0 - x[0]])}
    ],
    "linear": lambda p: [
        scipy_optimize.LinearConstraint(np.ones((1, 3)), 1.0, 1.0),
        scipy_optimize.LinearConstraint(np.eye(3)[:1], -np.inf, 5.0),
    ],
    "nonlinear": lambda p: scipy_optimize.NonlinearConstraint(
        lambda x: np.sum(x**2) * p, -np.inf, 2.0
    ),
    "bounds": lambda p: {"type": "eq", "fun": lambda x: np.sum(x) - p},
}  # fmt: skip


@pytest.mark.parametrize("name", sometimes(CONSTRAINTS, "linear", "nonlinear"))
def test_constraints_by_differences(name):
    def f(p):
        bounds = [(0.0, 0.7)] * 3 if name == "bounds" else None
        found = scipy.minimize(
            apart, np.ones(3), (p,), constraints=CONSTRAINTS[name](p), bounds=bounds
        )
        return found.x @ np.array([1.0, 2.0, 4.0])

    assert grad(f)(1.0) == pytest.approx(difference(exact(f), 1.0), rel=1e-8)
    assert value_and_grad(f)(1.0)[0] == pytest.approx(f(1.0), rel=1e-3)


def test_an_equality_in_closed_form():
    """The point of x + y = p nearest to (a, 0) is ((p + a) / 2, (p - a) / 2)."""

    def nearest(p, a):
        def distance(x):
            return (x[0] - a) ** 2 + x[1] ** 2

        sums = {"type": "eq", "fun": lambda x: x[0] + x[1] - p}
        return scipy.minimize(distance, [0.0, 0.0], constraints=sums).x

    np.testing.assert_allclose(nbgrad.jacobian(nearest, (0, 1))(2.0, 1.0)[0], [0.5, 0.5])
    np.testing.assert_allclose(nbgrad.jacobian(nearest, (0, 1))(2.0, 1.0)[1], [0.5, -0.5])


def test_many_unknowns_need_no_matrix():
    n = 1500
    target = np.linspace(0.0, 1.0, n)

    def smooth(x, p):
        return np.sum((x - p * target) ** 2) + np.sum((x[1:] - x[:-1]) ** 2)

    slope = grad(lambda p: np.sum(scipy.minimize(smooth, np.zeros(n), p, method="L-BFGS-B").x))
    assert slope(2.0) == pytest.approx(np.sum(target), rel=1e-9)


def test_results():
    leaf = nbgrad.track(2.0)
    found = scipy.minimize(quartic, np.zeros(2), (leaf,))
    assert found.success and found.nit > 0 and "terminated" in found.message
    with pytest.raises(AttributeError, match=r"no hess_inv, which would be a constant.*jacobian"):
        found.hess_inv  # noqa: B018
    found.fun.backward()
    assert leaf.grad == pytest.approx(8.0 * (2.0 - found.x.data[0]) ** 3, rel=1e-10)
    assert found._repr_html_()
    plain = scipy.root(pair, [0, 3], (2.0,))
    assert "success" in plain and "fjac" in plain, "plain arguments give SciPy's result"
    assert scipy.minimize(quartic, nbgrad.track(np.zeros(2)), (2.0,)).x.shape == (2,)


def test_plain_calls_are_scipys():
    assert scipy.brentq(lambda x: x**3 - 8.0, 0, 5, full_output=True)[1].converged
    assert scipy.newton(lambda x: x**3 - 8.0, 1.0) == pytest.approx(2.0)
    assert scipy.newton(lambda x: x**3 - 8.0, 1.0, x1=1.5) == pytest.approx(2.0)
    assert scipy.fixed_point(np.cos, 0.5) == pytest.approx(0.739085133)
    assert scipy.root_scalar(lambda x: x**3 - 8.0, bracket=(0, 5)).converged
    for name in ("brentq", "newton", "fixed_point", "root_scalar"):
        assert getattr(scipy, name) is not getattr(scipy_optimize, name)


NOT_CONVERGED = [
    lambda p: scipy.root(lambda x: x**2 + p, [1.0]).x[0],
    lambda p: scipy.newton(lambda x: x**2 + p, 1.0),
    lambda p: scipy.fixed_point(lambda x: x**2 + p, 1.0, maxiter=30),
    lambda p: scipy.brentq(lambda x: x**3 - p, 0.0, 5.0, maxiter=2),
    lambda p: scipy.minimize(quartic, np.full(2, 9.0), (p,), options={"maxiter": 1}).x[0],
]


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("f", NOT_CONVERGED)
def test_no_convergence_is_an_error_with_the_residual(f):
    with pytest.raises(RuntimeError, match=r"did not converge.*residual of the equations is \d"):
        grad(f)(2.0)


@pytest.mark.parametrize(
    "f", [*NOT_CONVERGED[:2], NOT_CONVERGED[-1], lambda p: scipy.brentq(lambda x: x + p, 0, 5)]
)
def test_no_convergence_of_a_compiled_program_is_an_error(f):
    with pytest.raises(RuntimeError, match="maxiter="):
        compile(value_and_grad(f))(2.0)


def test_refusals_name_the_way():
    with pytest.raises(
        nbgrad.NoRuleError, match=r"bounds holds a tracked value.*pass it as a plain"
    ):
        grad(lambda p: scipy.minimize(quartic, [0.0], (p,), bounds=[(0, p)]).x[0])(2.0)
    with pytest.raises(nbgrad.NoRuleError, match=r"loss=.*'soft_l1'.*use minimize"):
        grad(lambda p: scipy.least_squares(misfit, FIRST, args=p, loss=np.log).cost)(2.0)
    with pytest.raises(nbgrad.NoRuleError, match="full_output is not supported"):
        grad(lambda p: scipy.brentq(lambda x: x - p, 0, 5, full_output=True)[0])(2.0)
    for name, words in (
        ("least_squares loss", "bounds"), ("minimize bounds", "bounds"),
        ("minimize Nelder-Mead", "Nelder-Mead"),
    ):  # fmt: skip
        with pytest.raises(nbgrad.TraceError, match=rf"{words}.*nbgrad\.newton"):
            compile(OPTIMA[name])(2.0)
    with pytest.raises(ValueError, match="different signs"):
        grad(lambda p: scipy.brentq(lambda x: x + p, 0, 5))(2.0)
    with pytest.raises(np.linalg.LinAlgError, match=r"Jacobian of the equation.*is singular"):
        grad(lambda p: scipy.minimize(lambda x: p * x[0] ** 2, [1.0, 0.0]).x[0])(2.0)
