"""Sums that programs do in another order or at once, and factors that need no test for zeros."""

import numpy as np
import pytest

import nbgrad
from nbgrad.static.lower.algebra import SCALED, priced
from nbgrad.static.lower.buffered import Matmul
from nbgrad.static.lower.values import is_map, topological
from nbgrad.static.schedule.fuse import FusionGroup


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def values_of(f):
    (variant,) = f._variants.values()
    return topological(variant._emitted.plan.outputs)


@pytest.mark.parametrize("shape", [(3,), (9, 7), (8, 1), (5, 4, 3), (2, 6, 1), (0, 3), (3, 0)])
def test_running_sums_along_any_axis(shape):
    x = draw(*shape)
    for axis in range(x.ndim):
        sums = nbgrad.compile(lambda x, axis=axis: np.cumsum(x, axis=axis))
        np.testing.assert_array_equal(sums(x), np.cumsum(x, axis))
        slope = nbgrad.compile(
            nbgrad.grad(lambda x, axis=axis: np.sum(np.cumsum(x, axis=axis) * x))
        )
        back = np.flip(np.cumsum(np.flip(x, axis), axis), axis)
        np.testing.assert_allclose(slope(x), np.cumsum(x, axis) + back, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("lead", [(5,), (2, 5)])
def test_a_sum_of_stacked_products_is_one_product(lead):
    x, y = draw(*lead, 30, 40), draw(*lead, 30, 60)
    axes = tuple(range(len(lead)))
    f = nbgrad.compile(lambda x, y: np.sum(np.swapaxes(x, -1, -2) @ y, axis=axes))
    expected = np.sum(np.swapaxes(x, -1, -2) @ y, axis=axes)
    np.testing.assert_allclose(f(x, y), expected, rtol=1e-12, atol=1e-12)
    (product,) = (value for value in values_of(f) if isinstance(value, Matmul))
    assert product.shape == (40, 60) and product.args[0].shape[-1] == 30 * np.prod(lead)


@pytest.mark.parametrize("axes", [0, 1, (0, 1), (0, 2), 3, (1, 3)])
def test_other_sums_of_products_are_right(axes):
    x, y = draw(2, 5, 3, 4), draw(2, 5, 4, 6)
    f = nbgrad.compile(lambda x, y: np.sum(x @ y, axis=axes))
    np.testing.assert_allclose(f(x, y), np.sum(x @ y, axis=axes), rtol=1e-12, atol=1e-12)


# At inf, -inf, nan and 0 as at numbers: what is scaled by a cotangent of 0 stays 0.
ENDS = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -2.0, 1e200, 1e-200])
CURVES = {
    "carried": lambda x: np.sum((x * x - 3.0 * x) * (x * x - 3.0 * x)),
    "a quotient": lambda x: np.sum((x / 2.0 - 0.5) ** 2 * 0.25),
    "a factor that is lost": lambda x: np.sum(np.exp(-x * x) * x),
    "a bounded one": lambda x: np.sum((np.tanh(x) - 1.0) ** 2 * x),
    "a choice": lambda x: np.sum(np.where(x > 0.5, x, 0.0) * x),
    "neighbours": lambda x: np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2),
}


@pytest.mark.parametrize("name", CURVES)
def test_slopes_at_the_ends_are_those_of_the_eager_tier(name):
    slope = nbgrad.grad(CURVES[name])
    compiled = nbgrad.compile(slope)
    with np.errstate(all="ignore"):
        for x in (ENDS, ENDS[::-1].copy(), np.full(9, 1.0), np.linspace(-2.0, 2.0, 9)):
            np.testing.assert_allclose(compiled(x), slope(x), rtol=1e-12)


def test_a_factor_that_the_cotangent_is_made_of_is_not_tested():
    slope = nbgrad.compile(nbgrad.grad(CURVES["carried"]))
    slope(ENDS)
    assert not any(is_map(value, SCALED) for value in values_of(slope))
    slope = nbgrad.compile(nbgrad.grad(CURVES["a bounded one"]))
    slope(ENDS)
    assert any(priced(value)[1] != value.args for value in values_of(slope))


@pytest.mark.parametrize("exponent", [-1.5, -0.5, 1.5, 2.5])
def test_halves_as_exponents_have_the_ends_of_numpy(exponent):
    with np.errstate(all="ignore"):
        expected = ENDS**exponent
        eager, compiled = nbgrad.track(ENDS) ** exponent, nbgrad.compile(lambda x: x**exponent)
        for found in (eager.data, compiled(ENDS)):
            np.testing.assert_allclose(found, expected, rtol=1e-15)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def rosenbrock(x):
    left, right = x[:-1], x[1:]
    return np.sum(100.0 * (right - left * left) ** 2 + (1 - left) ** 2)


NEIGHBOURS = {
    "differences": lambda x: np.sum((x[1:] - x[:-1]) ** 2),
    "curvature": lambda x: np.sum((x[2:] - 2.0 * x[1:-1] + x[:-2]) ** 2),
    "rosenbrock": rosenbrock,
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [3, 4, 100, 20_000])
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_a_sum_over_neighbours_shares_the_loop_of_its_gradient(name, n, dtype):
    x = draw(n).astype(dtype)
    f = nbgrad.compile(nbgrad.value_and_grad(NEIGHBOURS[name]))
    value, slope = f(x)
    exact = NEIGHBOURS[name](x.astype(np.float64))
    np.testing.assert_allclose(value, exact, rtol=1e-5 if dtype is np.float32 else 1e-12)
    expected = nbgrad.grad(NEIGHBOURS[name])(x.astype(np.float64))
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(
        slope / scale, expected / scale, atol=1e-6 if dtype is np.float32 else 1e-14
    )
    if n >= 100:
        assert [type(step) for step in f.only_variant("")._emitted.plan.schedule.steps] == [
            FusionGroup
        ]


def test_a_sum_over_neighbours_of_any_length():
    f = nbgrad.compile(nbgrad.value_and_grad(rosenbrock), dynamic={"x": ("n",)})
    for n in (50, 2, 1, 9000):
        x = draw(n)
        value, slope = f(x)
        expected, expected_slope = nbgrad.value_and_grad(rosenbrock)(x)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        np.testing.assert_allclose(slope, expected_slope, rtol=1e-11, atol=1e-11)


def test_a_step_that_repeats_passes_its_cotangent_on_by_one_product(rng):
    """By t <- (t + x / t) / 2, whose derivative in t is (1 - x / t**2) / 2."""

    def root(x):
        t = x
        for _ in range(4):
            t = (t + x / t) / 2
        return np.sum(t)

    x = np.concatenate([rng.uniform(0.1, 9.0, 20), [1e-3, 1e6]])
    slope = nbgrad.compile(nbgrad.grad(root))
    with np.errstate(all="ignore"):
        t, t_dot = x, np.ones_like(x)
        for _ in range(4):
            t, t_dot = (t + x / t) / 2, (t_dot + 1 / t - x / t / t * t_dot) / 2
        np.testing.assert_allclose(slope(x), t_dot, rtol=1e-13)


def test_the_slope_of_relu_makes_no_wider_numbers():
    x, w = draw(9, 5).astype(np.float32), draw(9, 5).astype(np.float32)
    slope = nbgrad.compile(nbgrad.grad(lambda x: np.sum(nbgrad.relu(x) * w)))
    np.testing.assert_array_equal(slope(x), np.where(x > 0, w, np.float32(0.0)))
    assert all(value.dtype in (np.float32, bool) for value in values_of(slope))
