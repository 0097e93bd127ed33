"""The error function's kin: scaled, inverted, as the normal distribution function; Student's t."""

import math

import numpy as np

from ...core.array import apply, implements
from ...core.primitive import bind
from ..families import Interval, elementwise, in_doubles, positive, reals
from .gammas import betaln

_ROOT_HALF = math.sqrt(0.5)
_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
_ONE_OVER_ROOT_2PI = 1 / math.sqrt(2 * math.pi)


def _erfcx_slope(x, out):
    """2 x erfcx(x) - 2 / sqrt(pi); where that cancels, the asymptotic series (DLMF 7.12.1)."""
    far = np.where(x > 8.0, x, np.inf)
    t = 0.5 / far / far
    series = 1.0
    for k in range(41, 1, -2):
        series = 1 - k * t * series
    series = -0.5 * _TWO_OVER_ROOT_PI * series * (t + t)
    return np.where(x > 8.0, series, 2 * x * out - _TWO_OVER_ROOT_PI)


erfcx_row = elementwise(
    None, "erfcx(x)", [_erfcx_slope], domains=[reals], name="erfcx",
    reference="scipy.special.erfcx", notes="exp(x * x) * erfc(x)",
)  # fmt: skip
ndtr_row = elementwise(
    None, "ndtr(x)", [lambda x, out: _ONE_OVER_ROOT_2PI * np.exp(-0.5 * x * x)], domains=[reals],
    name="ndtr", reference="scipy.special.ndtr",
)  # fmt: skip


def _log_ndtr_slope(x, out):
    """The density over the distribution: by erfcx below 0, where both are small, and by logarithms
    above, where erfcx overflows."""
    below = _ROOT_TWO_OVER_PI / erfcx(-_ROOT_HALF * np.where(x < 0.0, x, 0.0))
    return np.where(x < 0.0, below, _ONE_OVER_ROOT_2PI * np.exp(-0.5 * x * x - out))


log_ndtr_row = elementwise(
    None, "log_ndtr(x)", [_log_ndtr_slope],
    domains=[reals], name="log_ndtr", reference="scipy.special.log_ndtr",
)  # fmt: skip


def _inverse(name: str, factor: float, rate: float, domain: Interval):
    """The row of an inverse, whose slope is factor * exp(rate * out**2)."""
    return elementwise(
        None, f"{name}(x)", [lambda x, out: factor * np.exp(rate * out * out)], domains=[domain],
        name=name, reference=f"scipy.special.{name}",
    )  # fmt: skip


erfinv_row = _inverse("erfinv", 1 / _TWO_OVER_ROOT_PI, 1.0, Interval(-0.9, 0.9))
erfcinv_row = _inverse("erfcinv", -1 / _TWO_OVER_ROOT_PI, 1.0, Interval(0.1, 1.9))
ndtri_row = _inverse("ndtri", 1 / _ONE_OVER_ROOT_2PI, 0.5, Interval(0.1, 0.9))


@implements("scipy.special.erfcx")
def erfcx(x):
    """exp(x * x) * erfc(x), elementwise, where the factors overflow and vanish.

    >>> float(nbgrad.special.erfcx(0.0))
    1.0
    """
    return apply(erfcx_row, x)


@implements("scipy.special.ndtr")
def ndtr(x):
    """The distribution function of the standard normal, elementwise."""
    return apply(ndtr_row, x)


@implements("scipy.special.log_ndtr")
def log_ndtr(x):
    """log(ndtr(x)), elementwise, also where ndtr(x) is 0; its derivative is the inverse
    of Mills' ratio at -x.

    >>> round(float(nbgrad.special.log_ndtr(0.0)), 12)  # log(1 / 2)
    -0.69314718056
    """
    return apply(log_ndtr_row, x)


@implements("scipy.special.erfinv")
def erfinv(y):
    """The inverse of `erf`, elementwise; its derivative is inf at -1 and 1.

    >>> float(nbgrad.special.erfinv(0.0))
    0.0
    """
    return apply(erfinv_row, y)


@implements("scipy.special.erfcinv")
def erfcinv(y):
    """The inverse of `erfc`, elementwise."""
    return apply(erfcinv_row, y)


@implements("scipy.special.ndtri")
def ndtri(y):
    """The inverse of `ndtr`, elementwise: quantiles of the standard normal."""
    return apply(ndtri_row, y)


# -- Student's t ----------------------------------------------------------------------------------


def _t_density(df, t):
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 0.5 * np.log(df) + betaln(0.5 * df, 0.5)
        return np.exp(-0.5 * (df + 1) * np.log1p(t * t / df) - scale)


stdtr_row = elementwise(
    None, "stdtr(x, y)",
    ["df: pass a plain number or array, such as df.data", lambda df, t, out: _t_density(df, t)],
    domains=[positive, reals], name="stdtr", reference=in_doubles("stdtr"),
    spelling="`scipy.special.stdtr`", notes="derivative in t; refused in df",
)  # fmt: skip


@implements("scipy.special.stdtr")
def stdtr(df, t):
    """Student's t distribution function of `df` degrees of freedom, elementwise; df is plain.

    >>> float(nbgrad.special.stdtr(3.0, 0.0))
    0.5
    """
    return bind(stdtr_row, df, t)
