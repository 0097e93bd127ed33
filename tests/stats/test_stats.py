"""`nbgrad.stats` against scipy.stats, differences, and the strong zero outside of supports."""

import math
import subprocess
import sys
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.stats
from helpers.children import environment
from helpers.distributions import assert_scipys, scipys

import nbgrad
from nbgrad import DimensionMismatch, UntrackedError, stats

RNG = np.random.default_rng(11)
BOTH = ("reverse", "forward")
INF, NAN = np.inf, np.nan
X = np.array([-INF, -2.0, -1e-300, 0.0, 1e-5, 0.3, 0.5, 1.0, 1.5, 600.0, INF, NAN])
K = np.array([-1, 0, 1, 2, 2.5, 3, 7, NAN, INF])

SHAPES: dict[str, list[tuple]] = {
    "norm": [()], "cauchy": [()], "laplace": [()], "logistic": [()], "expon": [()],
    "t": [(3.0,), (1e8,), (INF,), (-1.0,)],
    "gamma": [(2.0,), (0.5,), (1.0,), (-1.0,), (NAN,)],
    "beta": [(2.0, 3.0), (0.5, 0.5), (1.0, 1.0), (0.0, 1.0)],
    "chi2": [(3.0,), (2.0,), (-1,)],
    "lognorm": [(0.7,), (-1.0,)],
}  # fmt: skip
COUNTS: dict[str, list[tuple]] = {
    "poisson": [(2.0,), (0.0,), (-1.0,)],
    "binom": [(3, 0.4), (3, 0.0), (3, 1.0), (2.5, 0.4), (3, 1.2), (-1, 0.4), (0, 0.4)],
    "bernoulli": [(0.3,), (0.0,), (1.0,), (1.5,)],
}
BOUNDED = ("expon", "gamma", "beta", "chi2", "lognorm")
POSITIVE = np.array([0.7, 1.4, 3.0])


def density(name: str) -> Any:
    """`logpdf` or `logpmf` of a distribution."""
    found = getattr(stats, name)
    return found.logpmf if name in COUNTS or name == "multinomial" else found.logpdf


def inside(name: str) -> tuple[np.ndarray, ...]:
    """A value inside of the support and all parameters, one each."""
    shapes = (POSITIVE, POSITIVE[::-1])[: len(SHAPES[name][0])]
    x = np.array([0.3, 0.55, 0.8])
    return (x, *shapes, np.array([-0.05, 0.02, 0.01]), np.array([1.3, 1.1, 1.7]))


# -- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("place", [(), (0.3, 2.0), (0, -1.0), (0.0, 0.0), (0.0, NAN)], ids=str)
def test_values_are_scipys_at_ends_and_beyond(name, place):
    for shapes in SHAPES[name]:
        expected = scipys(name, X, *shapes, *place)
        for x in (X, list(X), nbgrad.track(X)):
            found = density(name)(x, *shapes, *place)
            found = found.data if isinstance(found, nbgrad.TrackedArray) else found
            np.testing.assert_allclose(found, expected, 1e-12, 1e-12)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("loc", [0, 1])
def test_probabilities_of_counts_are_scipys(name, loc):
    for shapes in COUNTS[name]:
        expected = scipys(name, K, *shapes, loc)
        np.testing.assert_allclose(density(name)(K, *shapes, loc), expected, 1e-12, 1e-12)
        whole = np.arange(-1, 5)
        expected = scipys(name, whole, *shapes, loc)
        np.testing.assert_allclose(density(name)(whole, *shapes, loc=loc), expected, 1e-12, 1e-12)


def test_far_out_where_scipy_is_wrong():
    """By mpmath: no over- or underflow before the logarithm."""
    with mpmath.workdps(40):
        assert math.isclose(stats.laplace.logpdf(1e4), -1e4 - mpmath.log(2), rel_tol=1e-15)
        assert math.isclose(
            stats.cauchy.logpdf(1e200),
            -mpmath.log(mpmath.pi) - 2 * mpmath.log(1e200),
            rel_tol=1e-14,
        )
        far = mpmath.log(mpmath.erfc(40 / mpmath.sqrt(2)) / 2)
        assert math.isclose(stats.norm.logcdf(-40.0), far, rel_tol=1e-14)


def test_numbers_give_numbers_and_parameters_broadcast():
    for value in (stats.norm.logpdf(0.5), stats.t.logpdf(1, 3), stats.binom.logpmf(1, 2, 0.5)):
        assert type(value) is np.float64
    x = RNG.normal(size=(2, 1))
    found = stats.norm.logpdf(x, loc=np.zeros(3), scale=np.ones((4, 1, 1)))
    assert found.shape == (4, 2, 3)
    assert stats.gamma.logpdf(np.zeros((0, 3)), 2.0).shape == (0, 3)
    with pytest.raises(DimensionMismatch, match=r"\(2,\).*\(3,\)"):
        stats.norm.logpdf(nbgrad.track(np.ones(2)), np.ones(3))


@pytest.mark.parametrize("name", ["cdf", "logcdf", "sf", "logsf"])
def test_integrals_of_the_normal_density(name):
    f, x = getattr(stats.norm, name), np.linspace(-50, 50, 7)
    expected = getattr(scipy.stats.norm, name)(x, 0.3, 2.0)
    np.testing.assert_allclose(f(x, 0.3, 2.0), expected, 1e-12)
    assert math.isnan(f(0.0, 0, -1.0))
    nbgrad.check_grads(f, (np.array([-1.0, 0.5]), 0.3, 2.0), BOTH, order=2)


@pytest.mark.parametrize("name", [*SHAPES, *COUNTS])
def test_densities_and_probabilities_are_scipys(name):
    for shapes in (SHAPES | COUNTS)[name]:
        assert_scipys(name, "pmf" if name in COUNTS else "pdf", K if name in COUNTS else X, *shapes)
    for place in ((), (0.3, 2.0), (0, -1.0)) if name in SHAPES else ():
        for shapes in SHAPES[name]:
            assert_scipys(name, "cdf", X, *shapes, *place)
    if name == "poisson":
        for shapes in (*COUNTS[name], (2.0, 1)):
            assert_scipys(name, "cdf", K, *shapes)


@pytest.mark.parametrize("name", SHAPES)
def test_distribution_functions_have_the_density_as_slope(name):
    f, (x, *shapes, loc, scale) = getattr(stats, name).cdf, inside(name)
    nbgrad.check_grads(lambda x, *p: f(x, *shapes, *p), (x, loc, scale), BOTH, order=2)
    if shapes:
        nbgrad.check_grads(lambda *p: f(x, *p), tuple(shapes), BOTH, order=2)
    with pytest.raises(TypeError, match=r"the arguments are x, .*scale|takes from 2 to 4"):
        f(x, *shapes, loc, scale, 1.0)


@pytest.mark.filterwarnings("ignore::nbgrad.errors.ConstantWarning")
def test_probabilities_of_at_most_a_count():
    mu = np.array([[0.7], [3.0]])
    nbgrad.check_grads(lambda mu: stats.poisson.cdf(K[:6], mu), (mu,), BOTH, order=2)
    assert nbgrad.grad(lambda k: stats.poisson.cdf(k, 2.0))(1.5) == 0.0


# -- derivatives ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
def test_derivatives_in_the_value_and_all_parameters(name):
    args = inside(name)
    nbgrad.check_grads(density(name), args, BOTH, rtol=1e-5)
    nbgrad.check_grads(density(name), tuple(x[:1] for x in args), ("reverse",), order=2, rtol=1e-5)


@pytest.mark.parametrize("name", SHAPES)
def test_float32_is_kept_and_samples_go_together(name):
    args = inside(name)
    narrow = [x.astype(np.float32) for x in args]
    slope = nbgrad.grad(lambda *args: np.sum(density(name)(*args)), tuple(range(len(args))))
    assert density(name)(*narrow).dtype == np.float32
    assert {x.dtype for x in slope(*narrow)} == {np.dtype(np.float32)}
    for narrow_slope, slopes in zip(slope(*narrow), slope(*args), strict=True):
        np.testing.assert_allclose(narrow_slope, slopes, 1e-4, 1e-5)
    np.testing.assert_allclose(nbgrad.vmap(density(name))(*args), density(name)(*args))


@pytest.mark.parametrize("name", BOUNDED)
def test_outside_of_the_support_all_derivatives_are_zero(name):
    args = (np.array([-1.0, -2.0, 0.5]), *inside(name)[1:])
    slope = nbgrad.grad(lambda *args: np.sum(density(name)(*args)), tuple(range(len(args))))
    assert np.isneginf(density(name)(*args)[:2]).all()
    for found in slope(*args):
        assert (found[:2] == 0).all() and np.isfinite(found).all()
    _, pushed = nbgrad.jvp(density(name), args, tuple(np.ones(3) for _ in args))
    assert (pushed[:2] == 0).all() and np.isfinite(pushed).all()
    product = nbgrad.hvp(lambda args: np.sum(density(name)(*args)))
    for found in product(args, tuple(np.ones(3) for _ in args)):
        assert (found[:2] == 0).all() and np.isfinite(found).all()


COUNT_ARGS = {
    "poisson": (np.array([0, 1, 2]), POSITIVE),
    "binom": (np.array([0, 1, 4]), np.array([3, 2, 4]), np.array([0.2, 0.5, 0.9])),
    "bernoulli": (np.array([0, 1, 1]), np.array([0.2, 0.5, 0.9])),
}


@pytest.mark.filterwarnings("ignore::nbgrad.errors.ConstantWarning")
@pytest.mark.parametrize("name", COUNTS)
def test_derivatives_in_the_parameters_of_counts(name):
    k, *rest, p = COUNT_ARGS[name]
    nbgrad.check_grads(lambda p: density(name)(k, *rest, p), (p,), BOTH, order=2)
    impossible = np.array([-1.0, 0.5, 1.0])
    slope = nbgrad.grad(lambda p: np.sum(density(name)(impossible, *rest, p)))(p)
    assert slope[:2].tolist() == [0, 0] and np.isfinite(slope[2])
    floats = [np.asarray(x, float) for x in (k, *rest, p)]
    assert not nbgrad.grad(lambda k: np.sum(density(name)(k, *floats[1:])))(floats[0]).any()
    assert density(name)(*(x.astype(np.float32) for x in floats)).dtype == np.float32


def test_compiled_is_eager():
    """All distributions of numbers in one program, with what lies outside of supports."""
    x = np.array([-0.5, 0.3, 0.8, 1.2])
    names = list(SHAPES)

    def total(x, a, b, loc, scale):
        parts = [density(name)(x, *(a, b)[: len(SHAPES[name][0])], loc, scale) for name in names]
        logarithms = [np.where(np.isfinite(part), part, 0.0) for part in parts]
        counts = [
            stats.poisson.logpmf([0, 1, -1, 2], a), stats.bernoulli.logpmf([0, 1, 1, 2], b / 4.0),
            stats.binom.logpmf([0, 1, 2, 3], 2, b / 4.0), stats.norm.logcdf(x, loc, scale),
        ]  # fmt: skip
        finite = [np.where(np.isfinite(part), part, 0.0) for part in counts]
        return sum(np.sum(part) for part in logarithms + finite)

    args = (x, np.array([0.7, 1.4, 3.0, 1.0]), np.array([1.3, 2.0, 0.6, 1.0]), 0.01, 1.1)
    both = nbgrad.value_and_grad(total, (0, 1, 2, 3, 4))
    value, slopes = both(*args)
    found, mine = nbgrad.compile(both)(*args)
    assert np.isfinite(value)
    np.testing.assert_allclose(found, value, 1e-12)
    for x, y in zip(mine, slopes, strict=True):
        np.testing.assert_allclose(x, y, 1e-10, 1e-12)


# -- the room -------------------------------------------------------------------------------------


def test_the_room_is_called_for_the_counters_of_kernels():
    assert set(stats()) == {"called", "compiled", "kept", "loaded"}
    assert stats is nbgrad.stats and stats.norm is nbgrad.stats.norm
    code = "import sys, nbgrad; print('nbgrad.stats' in sys.modules); print(nbgrad.stats()); "
    code += "print('scipy.stats' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], env=environment({}), capture_output=True, text=True
    )
    first, counters, scipy_is_loaded = answer.stdout.splitlines()
    assert (first, scipy_is_loaded) == ("False", "False"), answer.stderr
    counted = "{'compiled': 0, 'loaded': 0, 'called': 0, 'kept': "
    assert counters.startswith(counted)


def test_scipys_own_functions_name_ours():
    x = nbgrad.track(np.array([0.5, 0.5]))
    calls: list[Any] = [
        lambda: scipy.stats.norm.logpdf(x), lambda: scipy.stats.norm.logpdf(1.0, scale=x),
        lambda: scipy.stats.poisson.logpmf(1, x), 
        lambda: scipy.stats.dirichlet.logpdf([0.5, 0.5], x),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(UntrackedError, match=r"scipy\.stats\..*: nbgrad\.stats has log"):
            call()
