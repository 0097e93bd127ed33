"""`nbgrad.scipy`: trees as flat vectors, derivatives for SciPy's solvers, one forward pass."""

import gc
import weakref
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
import scipy.optimize
from children import run
from scipy.optimize import rosen_der, rosen_hess

import nbgrad
from nbgrad import DimensionMismatch, TraceError, UntrackedError
from nbgrad.scipy import least_squares, minimize, objective, ravel, root

both_tiers = pytest.mark.parametrize("compile", [False, True], ids=["eager", "compiled"])
START = np.array([1.3, 0.7, 0.8, 1.9, 1.2])


def rosen(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def ridge(p, x, y, weight=0.1):
    return np.sum((x @ p["w"] + p["b"] - y) ** 2) + weight * np.sum(p["w"] ** 2)


class Line(NamedTuple):
    slope: np.ndarray
    shift: float


@dataclass
class Wave:
    size: float
    rate: np.ndarray
    name: str = "wave"


class Counted:
    """A function that counts its calls."""

    def __init__(self, f):
        self.f, self.calls = f, 0

    def __call__(self, *args):
        self.calls += 1
        return self.f(*args)


def test_scipy_loads_when_it_is_asked_for():
    code = """
import sys
before = "scipy.optimize" in sys.modules
result = [before, callable(nbgrad.scipy.minimize), "scipy.optimize" in sys.modules]
"""
    assert run(code).result == [False, True, True]
    with pytest.raises(AttributeError, match="no attribute 'sciqy'"):
        nbgrad.sciqy  # noqa: B018  # pyright: ignore


class TestRavel:
    def test_there_and_back(self):
        tree = {
            "w": np.arange(6.0).reshape(2, 3),
            "line": Line(np.ones(2, np.float32), 2.5),
            "wave": Wave(3.0, np.zeros((0, 2))),
            "rest": [7, "label", None, (np.array([1, 2]), np.float64(4.0))],
        }
        vector, unravel = ravel(tree)
        assert vector.dtype == np.float64
        np.testing.assert_array_equal(vector, [1, 1, 2.5, 4, 0, 1, 2, 3, 4, 5, 3])
        back = unravel(vector + 1)
        np.testing.assert_array_equal(back["w"], tree["w"] + 1)
        assert type(back["line"]) is Line and back["line"].slope.dtype == np.float32
        assert (back["line"].shift, back["wave"].size, back["wave"].name) == (3.5, 4.0, "wave")
        assert back["wave"].rate.shape == (0, 2)
        assert back["rest"][:3] == [7, "label", None] and back["rest"][3][1] == 5.0
        assert back["rest"][3][0] is tree["rest"][3][0]
        assert unravel.size == 11

    def test_of_one_leaf(self):
        x = np.ones((2, 2), np.float32)
        vector, unravel = ravel(x)
        assert vector.dtype == np.float32 and vector.shape == (4,)
        vector[0] = 5
        assert x[0, 0] == 1, "the vector is new"
        assert unravel(vector).shape == (2, 2)
        assert ravel(2.0)[1](np.array([3.0])) == 3.0

    def test_like_trees_have_equal_ways_back(self):
        ways = [ravel(tree)[1] for tree in ({"a": 1.0}, {"a": 2.0}, {"b": 1.0}, [1.0])]
        assert ways[0] == ways[1] and hash(ways[0]) == hash(ways[1])
        assert ways[0] != ways[2] and ways[0] != ways[3]
        assert ravel([1.0, 2])[1] != ravel([1.0, 3])[1], "static leaves are part of it"

    def test_differentiates_and_compiles(self):
        tree = {"a": 2.0, "b": np.array([1.0, 3.0])}
        vector, unravel = ravel(tree)

        def f(v):
            p = unravel(v)
            return p["a"] * np.sum(p["b"] ** 2)

        np.testing.assert_array_equal(nbgrad.grad(f)(vector), [10.0, 4.0, 12.0])
        np.testing.assert_array_equal(nbgrad.compile(nbgrad.grad(f))(vector), [10.0, 4.0, 12.0])
        slopes = nbgrad.grad(lambda tree: np.sum(ravel(tree)[0] ** 2))(tree)
        assert slopes["a"] == 4.0
        np.testing.assert_array_equal(slopes["b"], [2.0, 6.0])

    def test_errors(self):
        for tree in ({"a": 1}, [], "text", None, np.arange(3), np.ones(2) * 1j):
            with pytest.raises(TypeError, match="holds no float"):
                ravel(tree)
        unravel = ravel({"a": np.ones(3)})[1]
        for wrong in (np.ones(2), np.ones((3, 1)), 1.0):
            with pytest.raises(DimensionMismatch, match="unravel: a vector of shape"):
                unravel(wrong)


class TestObjective:
    @both_tiers
    def test_derivatives_on_flat_vectors(self, compile, rng):
        parts, v = objective(rosen, START, compile=compile), rng.normal(size=5)
        np.testing.assert_array_equal(parts.x0, START)
        for x in (START, START + 0.1):
            assert parts.fun(x) == pytest.approx(rosen(x), rel=1e-12)
            assert type(parts.fun(x)) is float
            np.testing.assert_allclose(parts.jac(x), rosen_der(x), rtol=1e-12)
            np.testing.assert_allclose(parts.hess(x), rosen_hess(x), rtol=1e-12)
            np.testing.assert_allclose(parts.hessp(x, v), rosen_hess(x) @ v, rtol=1e-11)
            assert parts.value(x) == pytest.approx(rosen(x), rel=1e-12)

    @both_tiers
    def test_of_trees(self, compile, rng):
        x, y = rng.normal(size=(6, 2)), rng.normal(size=6)
        p = {"w": np.ones(2), "b": 0.5}
        parts = objective(ridge, p, args=(x, y), compile=compile)
        slope = nbgrad.grad(ridge)(p, x, y)
        np.testing.assert_allclose(parts.jac(parts.x0), [slope["b"], *slope["w"]], rtol=1e-12)
        full = 2 * np.column_stack([np.ones(6), x]).T @ np.column_stack([np.ones(6), x])
        np.testing.assert_allclose(parts.hess(parts.x0), full + np.diag([0, 0.2, 0.2]), rtol=1e-12)
        assert parts.unravel(parts.x0)["b"] == 0.5

    def test_one_forward_pass_for_value_and_gradient(self):
        f = Counted(rosen)
        parts = objective(f, START)
        assert parts.fun(START) == parts.fun(START.copy())
        np.testing.assert_array_equal(parts.jac(START), parts.jac(START.copy()))
        assert f.calls == 1
        assert parts.jac(START + 1).shape == (5,) and parts.fun(START + 1) > 0
        assert f.calls == 2

    @pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "SLSQP", "TNC"])
    def test_a_solver_runs_the_function_once_a_point(self, method):
        f = Counted(rosen)
        found = minimize(f, START, method=method)
        assert found.success and f.calls <= found.nfev

    def test_a_gradient_survives_what_solvers_do_to_their_vectors(self):
        """They write the next point where the last one was."""
        parts, x = objective(rosen, START), START.copy()
        parts.fun(x)
        x[:] = 7.0
        slope = parts.jac(START)
        np.testing.assert_allclose(slope, rosen_der(START), rtol=1e-12)
        slope[:] = 0.0
        np.testing.assert_allclose(parts.jac(START), rosen_der(START), rtol=1e-12)

    def test_a_function_that_raises_leaves_nothing_behind(self):
        def f(x):
            if x[0] > 2:
                raise ArithmeticError
            return np.sum(x)

        parts = objective(f, [1.0])
        assert parts.fun([1.0]) == 1.0
        for _ in range(2):
            with pytest.raises(ArithmeticError):
                parts.fun([3.0])
        assert parts.fun([1.0]) == 1.0

    def test_the_graph_is_freed_with_the_objective(self):
        gc.disable()
        try:
            seen = []

            def f(x):
                y = np.tanh(x)
                seen.append(weakref.ref(y))
                return np.sum(y)

            objective(f, START).fun(START)
            assert seen and all(ref() is None for ref in seen)
        finally:
            gc.enable()

    def test_takes_lists_and_integers_and_checks_shapes(self):
        parts = objective(rosen, [1, 2, 3])
        assert parts.fun([1, 1, 1]) == 0.0 and parts.jac((1, 1, 1)).shape == (3,)
        for call in (parts.fun, parts.jac, parts.hess, parts.value):
            with pytest.raises(DimensionMismatch, match="parameters of 3 numbers"):
                call(np.ones(2))
        with pytest.raises(DimensionMismatch, match="parameters of 3 numbers"):
            parts.hessp(np.ones(3), np.ones(4))

    def test_single_precision_goes_in_and_out(self):
        start = {"w": np.array([3.0, 4.0], np.float32)}
        seen = []

        def f(p):
            seen.append(p["w"].dtype)
            return np.sum((p["w"] - 1) ** 2)

        found = minimize(f, start)
        assert set(seen) == {np.dtype(np.float32)}
        assert found.x["w"].dtype == np.float32
        np.testing.assert_allclose(found.x["w"], 1.0, rtol=1e-3)
        assert objective(f, start).jac([3.0, 4.0]).dtype == np.float64


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
            inner = Counted(lambda p: p["b"] ** 3)
            constraint = scipy.optimize.NonlinearConstraint(inner, 0.25**3, np.inf)
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
                compiled = nbgrad.stats()
        assert nbgrad.stats() == compiled  # pyright: ignore

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
        with pytest.raises(TypeError, match="gave tuple; return one number"):
            minimize(lambda x: (np.sum(x), x), [1.0, 2.0])
        with pytest.raises(TypeError, match="complex"):
            minimize(lambda x: np.sum(x) * 1j, [1.0, 2.0], method="Nelder-Mead")
        with pytest.raises(TypeError, match="holds no float"):
            minimize(rosen, {"n": 3})
        with pytest.raises(AttributeError, match=r"nbgrad\.at\(x\)\[i\].*\(test_scipy"):
            minimize(lambda x: np.sum(x.at[0].set(1.0)), np.ones(2), method="Nelder-Mead")
        with pytest.raises(UntrackedError, match=r"\.data"):
            minimize(rosen, nbgrad.track(START))
        with pytest.raises(UntrackedError):
            nbgrad.grad(lambda a: minimize(lambda x: np.sum((x - a) ** 2), [1.0]).x[0])(1.0)
        with pytest.raises(TraceError, match=r"np\.where"):
            minimize(lambda x: x[0] if x[0] > 0 else x[1], [1.0, 2.0], compile=True)
        with pytest.raises(ValueError, match="Unknown solver"):
            minimize(rosen, START, method="gradient")
        with pytest.raises(TypeError, match="tolerance"):
            minimize(rosen, START, tolerance=1e-3)


def _stop(x):
    raise StopIteration


def decay(p, t, y):
    return p["a"] * np.exp(-p["b"] * t) - y


class TestLeastSquares:
    t = np.linspace(0.0, 2.0, 12)
    y = 2.0 * np.exp(-1.5 * t)

    @both_tiers
    @pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
    def test_fits_trees(self, method, compile):
        start = {"a": 1.0, "b": 1.0}
        found = least_squares(decay, start, args=(self.t, self.y), method=method, compile=compile)
        assert found.success and found.x["a"] == pytest.approx(2.0)
        assert found.x["b"] == pytest.approx(1.5)
        assert found.fun.shape == (12,) and found.jac.shape == (12, 2)

    @both_tiers
    @pytest.mark.parametrize("shape", [(3, 5), (5, 3)], ids=["wide", "tall"])
    def test_the_jacobian_is_exact_whichever_way(self, shape, compile, rng):
        a = rng.normal(size=shape)
        found = least_squares(
            lambda x: np.tanh(a @ x), np.ones(shape[1]), max_nfev=1, compile=compile
        )
        x = np.ones(shape[1])
        np.testing.assert_allclose(
            found.jac, (1 - np.tanh(a @ x) ** 2)[:, None] * a, rtol=1e-12, atol=1e-15
        )

    def test_residuals_of_any_shape(self):
        def residuals(p):
            return {"one": np.outer(p["u"], p["v"]) - np.ones((2, 2)), "two": p["u"][0] - 2.0}

        found = least_squares(residuals, {"u": np.ones(2), "v": np.array([0.5, 0.6])})
        assert found.cost < 1e-12 and found.fun.shape == (5,)
        np.testing.assert_allclose(found.x["u"], 2.0, rtol=1e-6)

    def test_scipys_settings(self):
        start = {"a": 1.0, "b": 1.0}
        bounds = ({"a": 0.0, "b": None}, {"a": 1.8, "b": 3.0})
        found = least_squares(
            decay, start, args=(self.t,), kwargs={"y": self.y}, bounds=bounds, loss="soft_l1"
        )
        assert found.x["a"] == pytest.approx(1.8, abs=1e-6)
        points = []
        least_squares(lambda x: x - 1.0, [0.0, 3.0], callback=points.append)
        assert points[-1].shape == (2,)
        difference = least_squares(decay, start, args=(self.t, self.y), jac="2-point")
        assert difference.x["b"] == pytest.approx(1.5)
        own = least_squares(lambda x, a: x - a, [0.0], args=(2.0,), jac=lambda x, a: np.eye(1))
        assert own.x[0] == pytest.approx(2.0)

    def test_errors(self):
        with pytest.raises(TypeError, match="least_squares: not a function"):
            least_squares(None, START)  # pyright: ignore
        with pytest.raises(TypeError, match="NoneType, not an array"):
            least_squares(lambda x: None, START)
        with pytest.raises(TypeError, match="complex"):
            least_squares(lambda x: x * 1j, START)


class TestRoot:
    @both_tiers
    @pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "krylov", "df-sane"])
    def test_every_method(self, method, compile):
        def f(p):
            return {"u": p["u"] ** 2 - 2.0, "v": p["u"] * p["v"] - 1.0}

        found = root(f, {"u": 1.2, "v": np.ones((2, 2))}, method=method, compile=compile)
        assert found.success
        np.testing.assert_allclose(found.x["u"], np.sqrt(2.0), rtol=1e-4)
        np.testing.assert_allclose(found.x["v"], np.full((2, 2), np.sqrt(0.5)), rtol=1e-4)

    def test_arrays_arguments_and_calls(self):
        f = Counted(lambda x, a: np.stack([x[0] + x[1] - 3.0, x[0] * x[1] - a]))
        found = root(f, [0, 3], (2.0,))
        np.testing.assert_allclose(found.x, [1.0, 2.0])
        plain = scipy.optimize.root(f.f, [0, 3], (2.0,))
        assert found.nfev < plain.nfev, "no differences"
        with pytest.raises(TypeError, match="shape"):
            root(lambda x: x[:1], [1.0, 2.0])
