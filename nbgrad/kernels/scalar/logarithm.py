"""log and its kin: log(2**k (1 + f)) = k log 2 + log(1 + f), with 1 + f in [sqrt(1/2), sqrt(2))."""

import math

import numpy as np

from ...compiler.kernel import part
from .bits import by_dtype, exponent, like, mantissa, scalar, select, series
from .exponential import LOG2E, exp2_inside, exp_inside, times_log2

__all__ = ["log", "log1p", "log2", "log10", "log_inside", "logaddexp", "logaddexp2"]

_LOG10E = 0.4342944819032518


# (2 atanh(s) / s - 2) / x for x = s**2; log(1 + f) is 2 atanh(s) with s = f / (2 + f).
_atanh = series(
    (
        0.14616585424888622,
        0.153317106182107716,
        0.18182889455674946,
        0.22222211130259877,
        0.285714286260032687,
        0.399999999998994432,
        0.666666666666666969,
    ),
    (0.2333058194, 0.285508166, 0.4000012188, 0.6666666655),
)


@part
def _times_log10_2(k):
    """k log10(2) in two parts, the first exact."""
    high = by_dtype(k, 0.30102999566361177, 0.301025390625)
    return k * high, k * by_dtype(k, 3.694239077158931e-13, 4.605038981195214e-06)


@part
def _assembled(f, high, low):
    """high + log(1 + f) + low, the small terms first."""
    s = f / (f + like(f, 2.0))
    z = s * s
    half = like(f, 0.5) * f * f
    return high - ((half - (s * (half + _atanh(z) * z) + low)) - f)


@part
def split(x):
    """k and f of a positive number, which may be subnormal."""
    small = x < like(x, 1e-30)
    y = select(small, x * like(x, 18446744073709551616.0), x)
    k = exponent(y) - select(small, like(x, 64.0), like(x, 0.0))
    return k, mantissa(y) - like(x, 1.0)


@part
def _at_the_ends(out, x):
    """The logarithm of x: `out` where x is positive and finite."""
    zero, infinity = like(x, 0.0), like(x, np.inf)
    out = select(x == infinity, x, out)
    return select(x > zero, out, select(x == zero, -infinity, like(x, np.nan)))


@part
def log_inside(x):
    """The logarithm of a positive number that is not subnormal."""
    high, low = times_log2(exponent(x))
    return _assembled(mantissa(x) - like(x, 1.0), high, low)


@scalar(np.log)
def log(x):
    k, f = split(x)
    high, low = times_log2(k)
    return _at_the_ends(_assembled(f, high, low), x)


@scalar(np.log2)
def log2(x):
    k, f = split(x)
    zero = like(x, 0.0)
    return _at_the_ends(k + _assembled(f, zero, zero) * like(x, LOG2E), x)


@scalar(np.log10)
def log10(x):
    k, f = split(x)
    high, low = _times_log10_2(k)
    zero = like(x, 0.0)
    return _at_the_ends(high + (_assembled(f, zero, zero) * like(x, _LOG10E) + low), x)


@part
def log1p_of_part(x):
    """log(1 + x) for x in [0, 1]: of 2 (1 + f) from sqrt(2) on."""
    high, low = times_log2(select(x > like(x, 0.4142), like(x, 1.0), like(x, 0.0)))
    f = select(x > like(x, 0.4142), (x - like(x, 1.0)) * like(x, 0.5), x)
    return _assembled(f, high, low)


@part
def _log_of_sum(x, y, more):
    """The larger of two, and `more`, which is log(1 + exp(-|x - y|)) or the like."""
    large = select(x >= y, x, select(x == x, y, x))
    return large + select(y == y, more, y)


@part
def _gap(x, y):
    """-|x - y|, and 0 for equal infinities."""
    return select(x == y, like(x, 0.0), -abs(x - y))


@scalar(np.logaddexp)
def logaddexp(x, y):
    return _log_of_sum(x, y, log1p_of_part(exp_inside(_gap(x, y))))


@scalar(np.logaddexp2)
def logaddexp2(x, y):
    """Of two equal numbers, exactly one more."""
    more = log1p_of_part(exp2_inside(_gap(x, y))) * like(x, LOG2E)
    return _log_of_sum(x, y, select(x == y, like(x, 1.0), more))


@scalar(np.log1p)
def log1p(x):
    """log(y) + lost / y, where `lost` is what y = 1 + x rounded away."""
    one, zero = like(x, 1.0), like(x, 0.0)
    y = x + one
    k = exponent(y)
    lost = select(k > zero, one - (y - x), x - (y - one)) / y
    near = k == zero
    high, low = times_log2(k)
    out = _assembled(select(near, x, mantissa(y) - one), high, select(near, zero, low + lost))
    return math.copysign(_at_the_ends(out, y), x)
