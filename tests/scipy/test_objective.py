"""`nbgrad.scipy.ravel` and `objective`: trees as flat vectors, one forward pass."""

import gc
import weakref
from typing import NamedTuple

import numpy as np
import pytest
from helpers.children import run
from scipy.optimize import rosen_der, rosen_hess
from scipy_problems import START, Counted, Wave, both_tiers, ridge, rosen

import nbgrad
from nbgrad import DimensionMismatch
from nbgrad.scipy import minimize, objective, ravel


class Line(NamedTuple):
    slope: np.ndarray
    shift: float


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
        for tree in ({"a": 1}, [], "text", None, np.arange(3)):
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
