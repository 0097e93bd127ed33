"""1 / sqrt(x), by halving the exponent and two steps that shrink the error to its fourth and third
power: a third of the time of a root and a division, and one rounding less."""

import numpy as np

from .bits import by_dtype, fused, half_bits_below, like, scalar, select

__all__ = ["rsqrt"]


@scalar(lambda x: type(x)(np.float_power(x, -0.5)))
def rsqrt(x):
    zero, half, one, infinity = like(x, 0.0), like(x, 0.5), like(x, 1.0), like(x, np.inf)
    # The numbers that follow are normal.
    small = x < by_dtype(x, 1e-290, 1e-30)
    y = select(small, x * by_dtype(x, 2.0**108, 2.0**48), x)
    # The constants of J.-M. Robertson, A brief history of InvSqrt, 2012; the error is 3.5 %.
    root = half_bits_below(y, by_dtype(x, 9.603007803048109e153, 1.321202e19))
    h = fused(-(y * root), root, one)  # root = (1 - h)**(1 / 2) / sqrt(y)
    step = like(x, 0.3125) + h * like(x, 0.2734375)
    root = root + root * (h * (half + h * (like(x, 0.375) + h * step)))
    h = fused(-(y * root), root, one)
    root = root + root * (h * (half + h * like(x, 0.375)))
    root = select(small, root * by_dtype(x, 2.0**54, 2.0**24), root)
    at_end = select(x == zero, infinity, select(x < zero, like(x, -np.nan), x))
    at_end = select(abs(x) == infinity, zero, at_end)
    return select(abs(h) < half, root, at_end)  # false for any x that has no such root
