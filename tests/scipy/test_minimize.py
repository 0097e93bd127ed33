"""`nbgrad.scipy.minimize`: every method of SciPy with the derivatives that it takes."""

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import rosen_der
from scipy_problems import START, Counted, Wave, both_tiers, ridge, rosen

import nbgrad
from nbgrad import DimensionMismatch, TraceError
from nbgrad.errors import StructureMismatch
from nbgrad.scipy import minimize

METHODS = {
    None: {}, "Nelder-Mead": {"maxiter": 2000}, "Powell": {}, "CG": {}, "BFGS": {}, "Newton-CG": {},
    "L-BFGS-B": {}, "TNC": {"maxfun": 2000}, "COBYQA": {}, "SLSQP": {}, "trust-constr": {},
    "dogleg": {}, "trust-ncg": {}, "trust-krylov": {}, "trust-exact": {},
}  # fmt: skip


class TestMinimize:
    @both_tiers
    @pytest.mark.parametrize("method", METHODS, ids=str)
    def test_every_method_gets_what_it_uses(self, method, compile):
        """SciPy warns where a method gets a derivative that it does not use, and a warning is an
        error here; it raises where one is missing."""
        start = np.array([1.1, 1.15, 1.25])  # where dogleg's Hessians are positive definite
        found = minimize(rosen, start, method=method, compile=compile, options=METHODS[method])
        assert isinstance(found, scipy.optimize.OptimizeResult) and found.success
        np.testing.assert_allclose(found.x, 1.0, atol=2e-3)

    def test_is_scipys_result(self):
        ours = minimize(rosen, START, method="BFGS", tol=1e-9)
        theirs = scipy.optimize.minimize(rosen, START, method="BFGS", jac=rosen_der, tol=1e-9)
        assert ours.keys() == theirs.keys()
        assert (ours.nit, ours.nfev, ours.njev) == (theirs.nit, theirs.nfev, theirs.njev)
        np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-9)
        assert type(ours.x) is np.ndarray

    def test_what_scipy_takes_as_a_vector(self):
        for start in ([0, 3], (0, 3), np.array([0, 3]), [0.0, 3.0]):
            seen = []

            def f(x, seen=seen):
                seen.append(x.shape)
                return np.sum((x[1:] - x[:-1] - 1.0) ** 2) + x[0] ** 2

            found = minimize(f, start)
            np.testing.assert_allclose(found.x, [0.0, 1.0], atol=1e-6)
            assert set(seen) == {(2,)}
        found = minimize(lambda x: (x - 2.0) ** 2, 0)
        assert found.x.shape == (1,) and found.x[0] == pytest.approx(2.0)

    @both_tiers
    def test_trees(self, compile, rng):
        x, y = rng.normal(size=(20, 2)), rng.normal(size=20)
        start = {"w": np.zeros(2), "b": 0.0}
        found = minimize(ridge, start, args=(x, y), compile=compile, tol=1e-10)
        full = np.column_stack([np.ones(20), x])
        exact = np.linalg.solve(full.T @ full + np.diag([0, 0.1, 0.1]), full.T @ y)
        np.testing.assert_allclose(found.x["b"], exact[0], rtol=1e-6)
        np.testing.assert_allclose(found.x["w"], exact[1:], rtol=1e-6)
        assert found.jac.shape == (3,) and found.hess_inv.shape == (3, 3)
        assert (start["w"] == 0).all(), "the start stays as it was"
        matrix = minimize(lambda m: np.sum((m - np.eye(2)) ** 2), np.ones((2, 2)), compile=compile)
        np.testing.assert_allclose(matrix.x, np.eye(2), atol=1e-6)
        wave = minimize(lambda w: (w.size - 2) ** 2 + np.sum(w.rate**2), Wave(1.0, np.ones(2)))
        assert type(wave.x) is Wave and wave.x.name == "wave"

    def test_one_argument_need_not_be_in_a_tuple(self):
        assert minimize(lambda x, a: np.sum((x - a) ** 2), [1.0], 3.0).x[0] == pytest.approx(3.0)

    @pytest.mark.parametrize(
        "bounds",
        [
            ({"w": 0.5, "b": None}, {"w": np.array([2.0, 3.0]), "b": 0.25}),
            [(None, 0.25), (0.5, 2.0), (0.5, 3.0)],
            scipy.optimize.Bounds([-np.inf, 0.5, 0.5], [0.25, 2.0, 3.0]),  # pyright: ignore
        ],
        ids=["trees", "pairs", "Bounds"],
    )
    def test_bounds(self, bounds):
        f = lambda p: np.sum(p["w"] ** 2) + (p["b"] - 1) ** 2  # noqa: E731
        found = minimize(f, {"w": np.ones(2), "b": 0.0}, bounds=bounds)
        np.testing.assert_allclose(found.x["w"], 0.5)
        np.testing.assert_allclose(found.x["b"], 0.25)

    def test_bounds_by_one_number(self):
        f = lambda p: np.sum((p["w"] + 1) ** 2)  # noqa: E731
        np.testing.assert_array_equal(minimize(f, {"w": np.ones(2)}, bounds=(0, None)).x["w"], 0)
        with pytest.raises(DimensionMismatch, match=r"bounds of shape \(3,\)"):
            minimize(f, {"w": np.ones(2)}, bounds=({"w": np.zeros(3)}, None))

    @pytest.mark.parametrize(
        "bounds", [{"w": (0, 1), "b": (0, 1)}, ({"w": 0}, {"w": 1})], ids=["pairs", "partial"]
    )
    def test_bounds_that_nest_otherwise_are_refused(self, bounds):
        f = lambda p: np.sum(p["w"] ** 2) + p["b"]  # noqa: E731
        with pytest.raises(StructureMismatch, match=r"nest as .*'b'.*: pass a pair \(lower, upper"):
            minimize(f, {"w": np.ones(2), "b": 0.0}, bounds=bounds)

    def test_callbacks_get_the_tree(self):
        f = lambda p: np.sum((p["w"] - 1) ** 4)  # noqa: E731
        points, results, states = [], [], []
        start = {"w": np.zeros(2)}
        found = minimize(f, start, callback=points.append)
        minimize(f, start, callback=lambda intermediate_result: results.append(intermediate_result))
        minimize(f, start, method="trust-constr", callback=lambda x, state: states.append(x))
        for x in (points[-1], results[-1].x):
            np.testing.assert_array_equal(x["w"], found.x["w"])
        assert len(points) == len(results) == found.nit and results[-1].fun == found.fun
        assert states[-1]["w"].shape == (2,)
        stopped = minimize(f, start, callback=_stop)
        assert stopped.nit == 1
        flat = []
        minimize(rosen, START, callback=flat.append)
        assert flat[-1].shape == (5,)

    @both_tiers
    @pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYQA"])
    @pytest.mark.parametrize("kind", ["dict", "object", "jac"])
    def test_constraints_have_derivatives(self, method, kind, compile):
        f = lambda p: (p["a"] - 1) ** 2 + np.sum((p["b"] + p["a"]) ** 2)  # noqa: E731
        inner = Counted(lambda p, low: p["b"] - low)
        constraint = {"type": "ineq", "fun": inner, "args": (0.25,)}
        if kind == "object":
            inner = Counted(lambda p: np.exp(p["b"]))
            constraint = scipy.optimize.NonlinearConstraint(inner, np.exp(0.25), np.inf)
        elif kind == "jac":
            matrix = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
            constraint["jac"] = lambda x, low: matrix
        start = {"a": 0.5, "b": np.ones(2)}
        found = minimize(f, start, method=method, constraints=[constraint], compile=compile)
        np.testing.assert_allclose(found.x["a"], 1 / 6, atol=1e-3)
        np.testing.assert_allclose(found.x["b"], 0.25, atol=1e-3)
        assert inner.calls > 0

    def test_an_equality_constraint(self):
        for method in ("SLSQP", "trust-constr"):
            on_circle = {"type": "eq", "fun": lambda x: np.sum(x * x) - 1.0}
            found = minimize(np.sum, [0.5, -0.1], method=method, constraints=on_circle)
            np.testing.assert_allclose(found.x, -np.sqrt(0.5), atol=1e-4)

    def test_derivatives_of_ones_own_go_to_scipy(self):
        calls = []

        def jac(x, a):
            calls.append(x)
            return 2 * (x - a)

        found = minimize(lambda x, a: np.sum((x - a) ** 2), [0.0, 0.0], (2.0,), jac=jac)
        assert len(calls) == found.njev
        np.testing.assert_allclose(found.x, 2.0)
        difference = minimize(rosen, START, jac="2-point", method="BFGS")
        assert difference.nfev > 5 * minimize(rosen, START, method="BFGS").nfev
        quasi = scipy.optimize.SR1()
        assert minimize(rosen, START, method="trust-constr", hess=quasi).success

    def test_a_method_of_ones_own_gets_all(self):
        def newton(fun, x0, args=(), jac=None, hess=None, hessp=None, **options):
            assert hessp is not None
            x = x0 - np.linalg.solve(hess(x0), jac(x0))  # pyright: ignore
            return scipy.optimize.OptimizeResult(x=x, fun=fun(x), success=True)

        found = minimize(lambda x: np.sum((x - 3.0) ** 2), [0.0, 1.0], method=newton)
        np.testing.assert_allclose(found.x, 3.0)

    def test_a_compiled_function_compiles_its_derivatives_once(self):
        f = nbgrad.compile(lambda p, a, n: np.sum((p["w"] - a) ** 2) * n)
        for k in range(3):
            found = minimize(f, {"w": np.zeros(2)}, args=(np.full(2, float(k)), 2))
            np.testing.assert_allclose(found.x["w"], k, atol=1e-6)
            if k == 0:
                compiled = nbgrad.stats()["compiled"]
        assert nbgrad.stats()["compiled"] == compiled  # pyright: ignore

    def test_compiled_functions_see_new_arguments(self):
        f = lambda x, a: np.sum((x - a) ** 2)  # noqa: E731
        for a in (np.array([1.0, 2.0]), np.array([3.0, 4.0])):
            np.testing.assert_allclose(minimize(f, [0.0, 0.0], (a,), compile=True).x, a)

    def test_integers_and_strings_among_arguments_are_static(self):
        def f(x, kind, n):
            for _ in range(n):
                x = np.tanh(x) if kind == "tanh" else x
            return np.sum((x - 0.1) ** 2)

        for compile in (False, True):
            found = minimize(f, [0.5], ("tanh", 2), compile=compile)
            assert found.x[0] == pytest.approx(np.arctanh(np.arctanh(0.1)), abs=1e-5)

    def test_errors(self):
        with pytest.raises(TypeError, match="minimize: not a function"):
            minimize(3.0, START)  # pyright: ignore
        with pytest.raises(DimensionMismatch, match=r"shape \(2,\); return one number"):
            minimize(lambda x: x, [1.0, 2.0])
        with pytest.raises(TypeError, match="returned a tuple; return one number"):
            minimize(lambda x: (np.sum(x), x), [1.0, 2.0])
        with pytest.raises(TypeError, match="complex"):
            minimize(lambda x: np.sum(x) * 1j, [1.0, 2.0], method="Nelder-Mead")
        with pytest.raises(TypeError, match="holds no float"):
            minimize(rosen, {"n": 3})
        with pytest.raises(AttributeError, match=r"nbgrad\.at\(x\)\[i\].*\(test_minimize"):
            minimize(lambda x: np.sum(x.at[0].set(1.0)), np.ones(2), method="Nelder-Mead")
        with pytest.raises(TraceError, match=r"np\.where"):
            minimize(lambda x: x[0] if x[0] > 0 else x[1], [1.0, 2.0], compile=True)
        with pytest.raises(ValueError, match="Unknown solver"):
            minimize(rosen, START, method="gradient")
        with pytest.raises(TypeError, match="tolerance"):
            minimize(rosen, START, tolerance=1e-3)


def _stop(x):
    raise StopIteration
