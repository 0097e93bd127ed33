"""cbrt: a polynomial for the mantissa, one step of Halley's, and a third of the exponent."""

import math

import numpy as np

from ...compiler.kernel import part
from .bits import exponent, like, mantissa, round_even, scalar, select, times_power_of_two

__all__ = ["cbrt"]


@part
def _near(x):
    """The root of x in [sqrt(1/2), sqrt(2)) to six digits: Chebyshev interpolation."""
    p = like(x, -0.019269766)
    p = p * x + like(x, 0.14867251)
    p = p * x - like(x, 0.49627904)
    p = p * x + like(x, 0.94539449)
    p = p * x - like(x, 1.1672687)
    p = p * x + like(x, 1.1890608)
    return p * x + like(x, 0.39968957)


@scalar(np.cbrt)
def cbrt(x):
    a, zero, one = abs(x), like(x, 0.0), like(x, 1.0)
    small = a < like(x, 1e-30)
    # 2**63: the numbers that follow are normal, and a third of 63 is whole.
    y = select(small, a * like(x, 9223372036854775808.0), a)
    k, m = exponent(y), mantissa(y)
    third = round_even(k * like(x, 1 / 3))
    rest = k - third * like(x, 3.0)
    high, low = rest > zero, rest < zero
    m2 = m * select(high, like(x, 2.0), select(low, like(x, 0.5), one))
    root = _near(m)
    root = root * select(high, like(x, 2 ** (1 / 3)), select(low, like(x, 0.5 ** (1 / 3)), one))
    cube = root * root * root
    root = root - root * ((cube - m2) / (cube + cube + m2))
    third = third - select(small, like(x, 21.0), zero)
    out = math.copysign(times_power_of_two(root, third), x)
    return select((a < like(x, np.inf)) & (a > zero), out, x)
