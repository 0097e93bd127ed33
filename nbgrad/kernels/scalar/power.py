"""x ** y = exp(y log |x|), with the logarithm in two parts; of float32 in one, of float64.

The exponent y log |x| may be 745, and its absolute error is the relative error of the result: the
logarithm of a float64 needs ten digits of the binary system more than a number has. A number is
written as a sum of two, the rounded value and what rounding lost (T. J. Dekker, A floating-point
technique for extending the available precision, Numer. Math. 18, 1971). What comes out is correctly
rounded in all but a few of a hundred cases, and exact where the result is a number.
"""

import math

import numpy as np

from ...compiler.kernel import part
from .bits import (
    by_dtype,
    exponent,
    like,
    mantissa,
    round_even,
    scalar,
    select,
    series,
    times_normal_power,
    times_power_of_two,
    two_product,
)
from .exponential import bounded, curve, times_log2
from .logarithm import split

__all__ = ["power", "power_slope"]

# ((2 atanh(s) / s - 2) / x - 2 / 3) / x for x = s**2 < 0.0295, by Chebyshev interpolation with
# 60 digits.
_atanh = series(
    (
        0.117231701607990743,
        0.117062371488163723,
        0.133348046636243373,
        0.153845949630741344,
        0.181818183353876007,
        0.222222222216559086,
        0.285714285714293662,
        0.399999999999999998,
    ),
    (0.2304823247, 0.2856223622, 0.4000001506),
)


@part
def _log_in_parts(x):
    """log(x) of a positive finite number.

    log(1 + f) = 2 s + s z (2 / 3 + z atanh) with s = f / (2 + f) and z = s**2.
    """
    k, f = split(x)
    two = like(x, 2.0)
    below = f + two
    lost = f - (below - two)
    inverse = like(x, 1.0) / below
    s = f * inverse
    product, rest = two_product(s, below)
    s_low = ((f - product) - rest - s * lost) * inverse
    z, z_low = two_product(s, s)
    z_low = z_low + two * s * s_low
    first = like(x, 2 / 3)
    first_low = by_dtype(x, 3.700743415417188e-17, -1.9868214925130207e-08)  # what it lacks
    factor = first + z * _atanh(z)
    factor_low = (z * _atanh(z) - (factor - first)) + first_low
    cube, cube_low = two_product(s, z)
    cube_low = cube_low + (s * z_low + s_low * z)
    more, more_low = two_product(cube, factor)
    more_low = more_low + (cube * factor_low + cube_low * factor)
    high, low = times_log2(k)
    line = high + (s + s)
    line_low = (s + s) - (line - high)
    total = line + more
    total_low = more - (total - line)
    small = line_low + total_low + (two * s_low + more_low + low)
    log = total + small
    return log, small - (log - total)


@part
def _exp_of_parts(high, low):
    """exp(high + low), with one rounding of any weight."""
    one = like(high, 1.0)
    x, k = bounded(high)
    k_high, k_low = times_log2(k)
    rest, low = x - k_high, low - k_low
    r = rest + low
    r_low = low - (r - rest)
    line = r + one
    line_low = r - (line - one)
    return times_power_of_two(line + (line_low + (curve(r) + r_low * line)), k)


# (2 atanh(s) / s) / log(2) for x = s**2 < 0.0295, and 2**x for |x| < 1/2, for numbers of 24 digits
# of the binary system: the relative errors are below 2**-37 and 2**-28.
_log2_near_1 = series(
    _log2 := (
        0.34071413665191199,
        0.41167365840081597,
        0.57708356770348925,
        0.96179667344322826,
        2.8853900817899932,
    ),
    _log2,
)
_exp2_near_0 = series(
    _exp2 := (
        0.00015461467905285987,
        0.0013400454984126324,
        0.0096180566205010797,
        0.055503271596476052,
        0.24022650922560761,
        0.69314720673425031,
        1.0,
    ),
    _exp2,
)


@part
def _log_at_the_ends(log, a):
    """log(a) of a >= 0, which is `log` where a is positive and finite."""
    return select(a == like(a, 0.0), like(a, -np.inf), select(a < like(a, np.inf), log, a))


@part
def _long_power(a, y):
    """a ** y, but where y is 0 or a is 1."""
    log, log_low = _log_in_parts(a)
    high, low = two_product(y, _log_at_the_ends(log, a))
    # Out of range, the error of a product may be anything.
    low = select(abs(high) < like(a, 1e3), low + y * log_low, like(a, 0.0))
    return _exp_of_parts(high, low)


@part
def _short_power(a, y):
    """The same of float32, in float64."""
    f = mantissa(a) - 1.0
    s = f / (f + 2.0)
    log = _log_at_the_ends(exponent(a) + s * _log2_near_1(s * s), a)
    x = y * log
    x = select(x > 999.0, 999.0, select(x < -999.0, -999.0, x))
    k = round_even(x)
    return times_normal_power(_exp2_near_0(x - k), k)


# np.power of an exponent of 0.5 is a root, and nan at -inf; float_power has no such case.
@scalar(lambda x, y: type(x)(np.float_power(x, y)))
def power(x, y):
    a, zero, half, one = abs(x), like(x, 0.0), like(x, 0.5), like(x, 1.0)
    infinity = like(x, np.inf)
    if by_dtype(x, 0.0, 1.0) == one:
        short = _short_power(np.float64(a), np.float64(y))
        size = by_dtype(x, short, short)
    else:
        size = _long_power(a, y)
    beyond = y - like(x, 2.0) * np.floor(y * half)  # an even number; 1 for odd ones, nan for inf
    out = select((x < zero) & (a < infinity) & (beyond > zero), like(x, np.nan), size)
    out = select(beyond == one, math.copysign(size, x), out)
    return select((y == zero) | (x == one) | ((a == one) & (abs(y) == infinity)), one, out)


@scalar(lambda x, y, u: type(x)(y * np.float_power(x, y - 1.0)), inlined=False)
def power_slope(x, y, u):
    """y * x ** (y - 1), where u is x ** y: u / x takes less time, if u has all its digits."""
    size = abs(u)
    if (size > by_dtype(x, 1e-290, 1e-30)) & (size < np.inf):
        return y * (u / x)
    return y * power(x, y - like(x, 1.0))
