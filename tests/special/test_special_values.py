"""Special functions against SciPy on their whole domains, with both dtypes and all ends; against
mpmath where SciPy loses digits or gives nan."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special
from helpers.rows import PLAIN_PYTHON

from nbgrad import special

pytestmark = pytest.mark.skipif(PLAIN_PYTHON, reason="kernels would be SciPy's own functions")

_rng = np.random.default_rng(3)
ENDS = np.array([0.0, np.inf, np.nan, 5e-324, 1e-310, 2.3e-308, 1e300, 0.5, 1.0, 2.0, 3.0, 10.0])
POSITIVE = np.concatenate(
    [ENDS, 10.0 ** np.linspace(-300, 300, 61), *(_rng.uniform(0, top, 80) for top in (2, 30, 900))]
)
REALS = np.concatenate([POSITIVE, -POSITIVE])
SHARES = np.concatenate(
    [_rng.uniform(0, 1, 200), 10.0 ** np.linspace(-300, 0, 61), 1 - 10.0 ** np.linspace(-16, 0, 33),
     [0.0, 1.0, 0.5, -0.1, 1.1, np.nan]]
)  # fmt: skip
BELOW_ONE = np.concatenate([SHARES, -SHARES])
FEW = np.concatenate([_rng.uniform(0, 5, 14), _rng.uniform(0, 150, 6), ENDS[[0, 1, 2, 7, 8, 9]]])
TOLERANCE = {np.float64: (1e-13, 1e-300), np.float32: (1e-6, 1e-37)}

ONE = (
    "gammaln loggamma digamma gamma rgamma erf erfc erfcx ndtr log_ndtr j0 j1 y0 y1 i0e i1e k0 k1 "
    "k0e k1e exp1 expi entr log_expit cbrt exp2 exp10 expm1 log1p sinc"
).split()
TWO = (
    "betaln beta gammainc gammaincc xlogy xlog1py rel_entr huber boxcox boxcox1p inv_boxcox "
    "inv_boxcox1p jv yv iv ive kv kve"
).split()
dtypes = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def real(value: Any) -> Any:
    """The real values among complex ones, nan for others."""
    if not np.iscomplexobj(value):
        return value
    return np.where(value.imag == 0, value.real, np.nan)


def compare(mine: Callable, theirs: Callable, args: tuple, dtype: Any, rtol: float = 0.0) -> None:
    """Hold a function against SciPy's, elementwise."""
    usual, tiny = TOLERANCE[dtype]
    with np.errstate(all="ignore"):
        args = tuple(x.astype(dtype) for x in args)
        found = np.asarray(mine(*args))
        assert found.dtype == dtype
        expected = np.asarray(real(theirs(*args)), float)
        expected = np.where(abs(expected) > np.finfo(dtype).max, expected * np.inf, expected)
        np.testing.assert_allclose(found, expected, rtol or usual, tiny)


def _ndtr(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _log_ndtr(x):
    return mpmath.log1p(-_ndtr(-x)) if x > 0 else mpmath.log(_ndtr(x))


# SciPy loses digits of x / sqrt(2) in the tail and of x - pi/4 here, or overflows.
EXACT: dict[str, tuple[Callable, float, float]] = {
    "ndtr": (_ndtr, -40.0, 40.0),
    "log_ndtr": (_log_ndtr, -1e5, 40.0),
    "gammaln": (mpmath.loggamma, 5e-324, 1e-300),
    "loggamma": (mpmath.loggamma, 5e-324, 1e-300),
    "j0": (lambda x: mpmath.besselj(0, x), -1e5, 1e5),
    "j1": (lambda x: mpmath.besselj(1, x), -1e5, 1e5),
}


def exact_or_scipy(name: str) -> Callable:
    """The values of mpmath, where SciPy's have fewer digits than ours."""
    function, low, high = EXACT[name]

    def of_array(x: np.ndarray) -> np.ndarray:
        out = np.array(getattr(scipy.special, name)(x), float)
        with mpmath.workdps(40):
            for i in np.flatnonzero((low <= x.astype(float)) & (x <= high)):
                out[i] = float(function(mpmath.mpf(float(x[i]))))
        return out

    return of_array


@dtypes
@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number(name, dtype):
    theirs = exact_or_scipy(name) if name in EXACT else getattr(scipy.special, name)
    compare(getattr(special, name), theirs, (REALS,), dtype)


@dtypes
@pytest.mark.parametrize("name", ["erfinv", "erfcinv", "ndtri", "logit"])
def test_inverses(name, dtype):
    x = np.concatenate([BELOW_ONE, 2 * SHARES])
    compare(getattr(special, name), getattr(scipy.special, name), (x,), dtype)


def _all_pairs(*axes: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(x.ravel() for x in np.meshgrid(*axes))


@dtypes
@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(name, dtype):
    pairs = _all_pairs(FEW, np.concatenate([FEW, -FEW]))
    compare(getattr(special, name), getattr(scipy.special, name), pairs, dtype)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("betainc", _all_pairs(FEW[:12], FEW[8:], SHARES[::9])),
        ("stdtr", _all_pairs(FEW, np.concatenate([FEW, -FEW]))),
    ],
)
def test_integrals_of_densities(name, args):
    mine, theirs = getattr(special, name), getattr(scipy.special, name)
    compare(mine, theirs, args, np.float64)
    narrow = mine(*(x.astype(np.float32) for x in args))
    wide = theirs(*(x.astype(np.float32).astype(float) for x in args))
    assert narrow.dtype == np.float32  # SciPy's own loses digits in float32
    np.testing.assert_allclose(narrow, wide, 1e-7, 1e-37)


@dtypes
@pytest.mark.parametrize("n", [0, 1, 2, 5, 9])
def test_polygamma(n, dtype):
    x = REALS[abs(REALS) < 1e4]
    at_zeros = 1e-12 if dtype == np.float64 else 1e-5
    compare(
        lambda x: special.polygamma(n, x), lambda x: scipy.special.polygamma(n, x), (x,), dtype,
        at_zeros,
    )  # fmt: skip


@dtypes
def test_zeta(dtype):
    x = REALS[abs(REALS) < 160]
    compare(special.zeta, scipy.special.zeta, (x,), dtype, 1e-12 if dtype == np.float64 else 1e-6)
    np.testing.assert_array_equal(special.zeta(np.array([-2.0, -40.0, 1.0])), [0.0, 0.0, np.inf])
    s = np.array([1.001, 1.5, 2.0, 3.7, 9.0, 30.0, 0.5, 1.0])
    q = np.array([1e-9, 0.3, 1.0, 4.4, 20.0, 1e3, 0.0, -1.0, np.inf])
    compare(special.zeta, scipy.special.zeta, _all_pairs(s, q), dtype)
    below = _all_pairs(np.array([2.0, 3.0, 6.0, 2.5]), np.array([-0.3, -1e-9, -7.75]))
    compare(special.zeta, scipy.special.zeta, below, dtype, 1e-12 if dtype == np.float64 else 1e-6)


@dtypes
@pytest.mark.parametrize("k", [0, -1])
def test_lambertw(k, dtype):
    """SciPy loses half of the digits near -1/e."""
    mine = lambda x: special.lambertw(x, k)  # noqa: E731
    x = REALS[(REALS > -0.3) | ~np.isfinite(REALS)]
    x = x[~((x < 0) & (x > -1e-300))]
    compare(mine, lambda x: scipy.special.lambertw(x, k), (x,), dtype)
    near = -np.exp(-1.0) + np.array([1e-15, 1e-12, 1e-8, 1e-5, 1e-3, 2e-3, 0.01, 0.05, 0.1, 0.25])
    near = np.append(near, [-1e-310, -5e-324])
    expected = [float(mpmath.lambertw(mpmath.mpf(float(z)), k).real) for z in near]
    np.testing.assert_allclose(mine(near), expected, 2e-15)
    assert special.lambertw(-np.exp(-1.0), k) == -1.0


@dtypes
@pytest.mark.parametrize("name", ["i0", "i1"])
def test_what_scipy_overflows(name, dtype):
    """SciPy's i0 and i1 are nan at inf, and lose digits where they are large."""
    x = REALS[abs(REALS) < 700] if dtype == np.float64 else REALS[abs(REALS) < 85]
    compare(getattr(special, name), getattr(scipy.special, name), (x,), dtype)
    assert np.isposinf(getattr(special, name)(dtype(np.inf)))


def test_divergences_where_both_are_close():
    """SciPy's kl_div is the difference of what cancels there."""
    x = np.array([1.0, 0.3, 7.0, 2.0, 1e-200])
    for y in (x * (1 + 1e-9), x * 1.01, x * 0.8, x * 1.49, x * 1.51, x * 40):
        with mpmath.workdps(40):
            exact = [
                float(mpmath.mpf(a) * mpmath.log(mpmath.mpf(a) / b) - mpmath.mpf(a) + b)
                for a, b in zip(x.tolist(), y.tolist(), strict=True)
            ]
        np.testing.assert_allclose(special.kl_div(x, y), exact, 1e-14)
        narrow = special.kl_div(x[:4].astype(np.float32), y[:4].astype(np.float32))
        assert narrow.dtype == np.float32
    np.testing.assert_array_equal(
        special.kl_div([0.0, 0.0, -1.0, 1.0, np.nan], [2.0, 0.0, 1.0, -1.0, 1.0]),
        [2.0, 0.0, np.inf, np.inf, np.nan],
    )


def test_pseudo_huber_of_any_size():
    """SciPy's is nan for small delta, and for large."""
    for delta, r in ((1e300, 0.5), (np.inf, 0.5), (1e-30, 1e300), (3.0, 1e-9), (2.0, -1.5)):
        exact = 0.5 * r * r
        if np.isfinite(delta):
            with mpmath.workdps(60):
                v = mpmath.mpf(r) / delta
                exact = float(mpmath.mpf(delta) ** 2 * v * v / (mpmath.sqrt(1 + v * v) + 1))
        np.testing.assert_allclose(special.pseudo_huber(delta, r), exact, 1e-15)
    pairs = _all_pairs(np.array([-1.0, 0.0, 0.5, 2.0]), np.array([0.0, 0.3, -7.0, np.inf]))
    compare(special.pseudo_huber, scipy.special.pseudo_huber, pairs, np.float64)


@dtypes
def test_integers_and_python_numbers(dtype):
    assert special.gammaln(np.arange(1, 4)).dtype == np.float64
    assert special.jv(1, np.ones(2, dtype)).dtype == dtype
    np.testing.assert_allclose(special.kv(np.arange(3), 2.0), scipy.special.kv(np.arange(3), 2.0))
