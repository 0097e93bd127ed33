"""x ** y = exp(y log |x|), with the logarithm in two parts.

The exponent y log |x| may be 745, and its absolute error is the relative error of the result: the
logarithm needs ten digits of the binary system more than a number has. A number is written as a
sum of two, the rounded value and what rounding lost (T. J. Dekker, A floating-point technique for
extending the available precision, Numer. Math. 18, 1971). What comes out is correctly rounded in
all but a few of a hundred cases, and exact where the result is a number.
"""

import math

import numpy as np

from ..jit.kernel import part
from .bits import by_dtype, like, scalar, select, series, times_power_of_two, two_product
from .exponential import bounded, curve, times_log2
from .logarithm import split

__all__ = ["power"]

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


@part
def _at_the_ends(out, a, y):
    """a ** y for a >= 0: `out` where a is positive and a and y are finite."""
    zero, one, infinity = like(a, 0.0), like(a, 1.0), like(a, np.inf)
    out = select(a == zero, select(y < zero, infinity, zero), out)
    out = select(a == infinity, select(y < zero, zero, infinity), out)
    out = select(abs(y) == infinity, select((a > one) == (y > zero), infinity, zero), out)
    out = select((a != a) | (y != y), a + y, out)
    return select((a == one) & (y == y), one, out)


# np.power of an exponent of 0.5 is a root, and nan at -inf; float_power has no such case.
@scalar(lambda x, y: type(x)(np.float_power(x, y)))
def power(x, y):
    a, zero, half = abs(x), like(x, 0.0), like(x, 0.5)
    log, log_low = _log_in_parts(a)
    high, low = two_product(y, log)
    # Out of range, the error of a product may be anything.
    low = select(abs(high) < like(x, 1e3), low + y * log_low, zero)
    out = _at_the_ends(_exp_of_parts(high, low), a, y)
    whole = np.floor(y) == y
    odd = whole & (np.floor(y * half) != y * half)
    out = select((x < zero) & (a < like(x, np.inf)) & ~whole, like(x, np.nan), out)
    out = select(odd, math.copysign(out, x), out)
    return select((y == zero) | (x == like(x, 1.0)), like(x, 1.0), out)
