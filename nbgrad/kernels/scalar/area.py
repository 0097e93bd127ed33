"""arcsinh, arccosh and arctanh from log1p, in forms that neither cancel nor overflow."""

import math

import numpy as np

from .bits import like, scalar, select
from .logarithm import log1p

__all__ = ["arccosh", "arcsinh", "arctanh"]

_LOG2 = math.log(2)


@scalar(np.arcsinh)
def arcsinh(x):
    """log1p(a + a**2 / (1 + sqrt(1 + a**2))) of a = |x|; log(2 a) where the square may overflow."""
    a, one, zero = abs(x), like(x, 1.0), like(x, 0.0)
    large = a > like(x, 1e17)
    b = select(large, zero, a)
    square = b * b
    more = select(large, a, b + square / (one + math.sqrt(one + square)))
    return math.copysign(log1p(more) + select(large, like(x, _LOG2), zero), x)


@scalar(np.arccosh)
def arccosh(x):
    """log1p(t + sqrt(t (t + 2))) with t = x - 1; log(2 x) where the square may overflow."""
    one, zero = like(x, 1.0), like(x, 0.0)
    large = x > like(x, 1e17)
    t = select(large, one, x) - one
    more = select(large, x, t + math.sqrt(t * (t + like(x, 2.0))))
    out = log1p(more) + select(large, like(x, _LOG2), zero)
    return select(x < one, like(x, np.nan), out)


@scalar(np.arctanh)
def arctanh(x):
    """log1p(2 a / (1 - a)) / 2 of a = |x|."""
    a = abs(x)
    return math.copysign(like(x, 0.5) * log1p((a + a) / (like(x, 1.0) - a)), x)
