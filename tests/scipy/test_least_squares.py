"""`nbgrad.scipy.least_squares` and `root`: Jacobians for SciPy's solvers."""

import numpy as np
import pytest
import scipy.optimize
from scipy_problems import START, Counted, both_tiers

from nbgrad.scipy import least_squares, root


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

    def test_complex_residuals_are_two_each(self):
        found = least_squares(lambda z: z * (1 + 2j) - 3.0, np.array([0j]))
        np.testing.assert_allclose(found.x, [3.0 / (1 + 2j)])


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
