"""The scaled and inverse error functions, the normal distribution function, and Student's t."""

import math
from typing import Any

import numpy as np

from ...core.primitive import bind
from ..families import Interval, positive, reals, scipy_function
from .gammas import betaln
from .incomplete import beta_density, beta_slopes

_ROOT_HALF = math.sqrt(0.5)
_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
_ONE_OVER_ROOT_2PI = 1 / math.sqrt(2 * math.pi)


def _erfcx_slope(x, out):
    """2 x erfcx(x) - 2 / sqrt(pi); the asymptotic series (DLMF 7.12.1) where that cancels."""
    far = np.where(x > 8.0, x, np.inf)
    t = 0.5 / far / far
    series = 1.0
    for k in range(41, 1, -2):
        series = 1 - k * t * series
    series = -0.5 * _TWO_OVER_ROOT_PI * series * (t + t)
    return np.where(x > 8.0, series, 2 * x * out - _TWO_OVER_ROOT_PI)


@scipy_function("erfcx(x)", reals, _erfcx_slope, notes="exp(x * x) * erfc(x)")
def erfcx(x) -> Any:
    """exp(x * x) * erfc(x), elementwise, without overflow and underflow of the factors.

    >>> float(nbgrad.special.erfcx(0.0))
    1.0
    """


@scipy_function("ndtr(x)", reals, lambda x, out: _ONE_OVER_ROOT_2PI * np.exp(-0.5 * x * x))
def ndtr(x) -> Any:
    """The distribution function of the standard normal distribution, elementwise.

    >>> round(float(nbgrad.special.ndtr(1.0)), 6)
    0.841345
    """


def _log_ndtr_slope(x, out):
    """The density over the distribution function: by erfcx below 0, where both are small, and by
    logarithms above, where erfcx overflows."""
    below = _ROOT_TWO_OVER_PI / erfcx(-_ROOT_HALF * np.where(x < 0.0, x, 0.0))
    return np.where(x < 0.0, below, _ONE_OVER_ROOT_2PI * np.exp(-0.5 * x * x - out))


@scipy_function("log_ndtr(x)", reals, _log_ndtr_slope)
def log_ndtr(x) -> Any:
    """log(ndtr(x)), elementwise, accurate where ndtr(x) is 0; its derivative is the inverse of
    Mills' ratio at -x.

    >>> round(float(nbgrad.special.log_ndtr(0.0)), 12)  # log(1 / 2)
    -0.69314718056
    """


def _inverse_slope(factor: float, rate: float):
    return lambda x, out: factor * np.exp(rate * out * out)


@scipy_function("erfinv(x)", Interval(-0.9, 0.9), _inverse_slope(1 / _TWO_OVER_ROOT_PI, 1.0))
def erfinv(y) -> Any:
    """The inverse of `erf`, elementwise; its derivative is inf at -1 and 1.

    >>> float(nbgrad.special.erfinv(0.0))
    0.0
    """


@scipy_function("erfcinv(x)", Interval(0.1, 1.9), _inverse_slope(-1 / _TWO_OVER_ROOT_PI, 1.0))
def erfcinv(y) -> Any:
    """The inverse of `erfc`, elementwise.

    >>> round(float(nbgrad.special.erfcinv(0.5)), 6)
    0.476936
    """


@scipy_function("ndtri(x)", Interval(0.1, 0.9), _inverse_slope(1 / _ONE_OVER_ROOT_2PI, 0.5))
def ndtri(y) -> Any:
    """The inverse of `ndtr`, elementwise: quantiles of the standard normal distribution.

    >>> round(float(nbgrad.special.ndtri(0.975)), 6)
    1.959964
    """


def _t_density(df, t):
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 0.5 * np.log(df) + betaln(0.5 * df, 0.5)
        return np.exp(-0.5 * (df + 1) * np.log1p(t * t / df) - scale)


def _t_in_df(df, t):
    """By the integral I(1 / 2, df / 2, t**2 / (df + t**2)), the probability of numbers between -t
    and t, or of I(df / 2, 1 / 2, df / (df + t**2)), that of others: of the smaller one."""
    half, total = 0.5 * df, df + t * t
    near = t * t < df
    y, x = np.where(near, t * t / total, 0.0), np.where(near, 0.0, df / total)

    def slope(a, b, x, pair, moves):
        none = x == 0
        x = np.where(none, 0.5, x)
        rises = 0.5 * bind(beta_slopes[pair], a, b, x) + moves
        return np.where(none, 0.0, beta_density(a, b, x) * rises)

    inner = slope(0.5, half, y, (0, 1), -y / total)
    outer = slope(half, 0.5, x, (1, 0), (1.0 - x) / total)
    return 0.5 * np.sign(t) * np.where(near, inner, -outer)


@scipy_function(
    "stdtr(x, y)", [positive, Interval(-2.5, 2.0)], lambda df, t, out: _t_in_df(df, t),
    lambda df, t, out: _t_density(df, t), notes="at most two derivatives in df", orders=2,
)  # fmt: skip
def stdtr(df, t) -> Any:
    """The distribution function of Student's t with `df` degrees of freedom, elementwise;
    differentiable in t, and twice in `df`.

    >>> float(nbgrad.special.stdtr(3.0, 0.0))
    0.5
    """
