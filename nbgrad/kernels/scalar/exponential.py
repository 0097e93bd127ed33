"""exp, expm1, tanh, sigmoid and similar functions: a polynomial near 0, and a power of two.

x = k log 2 + r with k whole and |r| < 0.35, so exp(x) = 2**k * (1 + expm1(r)).
"""

import math

import numpy as np

from ...compiler.kernel import device, part
from .bits import by_dtype, like, round_even, scalar, select, series, times_power_of_two

__all__ = [
    "cosh", "exp", "exp2", "exp2_inside", "exp_inside", "exp_of_sum", "expm1", "sigmoid",
    "sigmoid_slope", "sinh", "tanh",
]  # fmt: skip

LOG2, LOG2E = 0.6931471805599453, 1.4426950408889634

# (exp(x) - 1 - x) / x**2 for |x| < 0.35: interpolation at Chebyshev nodes, computed with 60 digits;
# the relative error is below 2e-17 (float64) or 2e-7 of its term.
_curve = series(
    (
        2.51003854955103191e-8,
        2.76200884454097482e-7,
        2.75572684599970648e-6,
        0.0000248015212959543751,
        0.000198412698630536169,
        0.00138888889172137169,
        0.00833333333333006183,
        0.0416666666666241279,
        0.166666666666666675,
        0.500000000000000102,
    ),
    (0.001392618359, 0.008363179053, 0.04166655462, 0.1666657699, 0.5),
)


@part
def curve(x):
    """exp(x) - 1 - x for |x| < 0.35."""
    return _curve(x) * x * x


@part
def bounded(x):
    """x and k. Beyond the bounds, exp is 0 or infinite."""
    top, bottom = by_dtype(x, 712.0, 90.0), by_dtype(x, -750.0, -104.0)
    x = select(x > top, top, select(x < bottom, bottom, x))
    return x, round_even(x * like(x, LOG2E))


@part
def times_log2(k):
    """k log 2 in two parts, the first exact."""
    high = by_dtype(k, 0.6931471803691238, 0.693145751953125)
    return k * high, k * by_dtype(k, 1.9082149292705877e-10, 1.4286068203094173e-06)


@part
def _split_of_2(x):
    """k and r of x log 2."""
    top, bottom = by_dtype(x, 1030.0, 130.0), by_dtype(x, -1080.0, -152.0)
    x = select(x > top, top, select(x < bottom, bottom, x))
    k = round_even(x)
    return k, (x - k) * like(x, LOG2)


@part
def _expm1_near_0(r):
    return curve(r) + r


@part
def _split(x):
    """k and r."""
    x, k = bounded(x)
    high, low = times_log2(k)
    return k, x - high - low


@part
def exp_inside(x):
    """exp, written into its caller."""
    k, r = _split(x)
    return times_power_of_two(_expm1_near_0(r) + like(x, 1.0), k)


@part
def exp_of_sum(x, low):
    """exp(x + low) of a `low` that is small beside log 2."""
    k, r = _split(x)
    return times_power_of_two(_expm1_near_0(r + low) + like(x, 1.0), k)


@part
def exp2_inside(x):
    k, r = _split_of_2(x)
    return times_power_of_two(_expm1_near_0(r) + like(x, 1.0), k)


@scalar(np.exp)
def exp(x):
    return exp_inside(x)


@scalar(np.exp2)
def exp2(x):
    return exp2_inside(x)


@device
def _expm1_over_power(k, r):
    """(exp(x) - 1) / 2**k, built so that no digit is lost near 0."""
    one = like(r, 1.0)
    return _expm1_near_0(r) + (one - times_power_of_two(one, -k))


@scalar(np.expm1)
def expm1(x):
    low = like(x, -40.0)
    k, r = _split(select(x < low, low, x))
    return math.copysign(times_power_of_two(_expm1_over_power(k, r), k), x)


@part
def _decay(x):
    """e = exp(-|x|) and e - 1."""
    one = like(x, 1.0)
    k, r = _split(-abs(x))
    power = times_power_of_two(one, k)
    rest = power * _expm1_near_0(r)
    return power + rest, rest + (power - one)


@scalar(np.tanh)
def tanh(x):
    """(1 - e) / (1 + e) with e = exp(-2 |x|)."""
    _, t = _decay(like(x, 2.0) * x)
    return math.copysign(t / (t + like(x, 2.0)), x)


@scalar(np.sinh)
def sinh(x):
    """h + h / (2 h + 1), where h = (exp(|x|) - 1) / 2 does not overflow before sinh does; where h
    is large, the second term is lost in rounding and may be anything small."""
    a, one = abs(x), like(x, 1.0)
    k, r = _split(a)
    h = times_power_of_two(_expm1_over_power(k, r), k - one)
    rest = select(a > like(x, 40.0), one, h)
    # Halves of the smallest numbers would lose a bit.
    return math.copysign(select(a < like(x, 1e-10), a, h + rest / (rest + rest + one)), x)


@scalar(np.cosh)
def cosh(x):
    """h + 1 / (4 h), where h = exp(|x|) / 2."""
    one = like(x, 1.0)
    k, r = _split(abs(x))
    h = times_power_of_two(_expm1_near_0(r) + one, k - one)
    return h + like(x, 0.25) / h


@device
def sigmoid(x):
    """1 / (1 + exp(-x)), without overflow for any finite x."""
    one = like(x, 1.0)
    e, _ = _decay(x)
    return select(x >= like(x, 0.0), one, e) / (one + e)


@device
def sigmoid_slope(x):
    """sigmoid(x) * sigmoid(-x) = e / (1 + e)**2, with all digits where it is small; beside sigmoid
    most of it is computed already."""
    e, _ = _decay(x)
    both = e + like(x, 1.0)
    return e / (both * both)
