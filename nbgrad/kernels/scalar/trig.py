"""sin, cos, tan and sinc: two polynomials on an eighth of the circle.

x = q pi/2 + r with q whole and |r| <= pi/4. Up to `_LIMIT`, r is right to its last digits without
a branch, so loops over `near_sin`, `near_cos` and `near_tan` vectorise. Beyond, the C library
reduces the argument; `sin`, `cos` and `tan` look and choose, which is a branch. Emitted loops call
the near ones, note whether any argument `is_far`, and only then go through the elements again.
"""

import math

import numpy as np

from ...compiler.attributes import noinline
from ...compiler.kernel import part
from .bits import like, odd, round_even, scalar, select, series, turned

__all__ = [
    "cos", "half_quarters", "is_far", "near_cos", "near_sin", "near_sinc", "near_tan", "on_eighth",
    "sin", "sinc", "tan",
]  # fmt: skip

_LIMIT = 1e5
_TWO_OVER_PI = 0.6366197723675814
# pi/2 in three parts: q times the first or the second is exact for |q| < 2**18,
# which leaves room for sin(pi x).
_HIGH, _MIDDLE, _LOW = 1.5707963267923333, 2.5633441515839558e-12, 1.0562999066987428e-23


@part
def _quarters(x):
    """q and r, found in float64: float32 would need many parts of pi/2."""
    y = np.float64(x)
    q = round_even(y * _TWO_OVER_PI)
    return like(x, q), like(x, y - q * _HIGH - q * _MIDDLE - q * _LOW)


# Coefficients: interpolation at Chebyshev nodes of the function beside each, computed with 60
# digits; x is r**2.
# (1 - sin(r) / r) / x.
_sine = series(
    (
        7.58666700020830612e-13,
        -1.60585311079428048e-10,
        2.50521062292225954e-8,
        -2.75573192193298801e-6,
        0.00019841269841265053,
        -0.00833333333333333149,
        0.166666666666666667,
    ),
    (-2.724977294e-6, 0.0001984008556, -0.008333331873, 0.1666666666),
)
# (cos(r) - 1 + x / 2) / x**2.
_cosine = series(
    (
        -1.13825885353525215e-11,
        2.08761456590593425e-9,
        -2.75573172688053932e-7,
        0.0000248015872987600488,
        -0.00138888888888873935,
        0.0416666666666666654,
    ),
    (2.454781593e-5, -0.001388830245, 0.04166666466),
)


@part
def half_quarters(x):
    """The number of quarter turns in x - pi/4, and the rest, in float64."""
    q = round_even(x * _TWO_OVER_PI - 0.5)
    h = q + 0.5
    return q, x - h * _HIGH - h * _MIDDLE - h * _LOW


@part
def on_eighth(r):
    """sin(r) and cos(r)."""
    z = r * r
    sine = math.copysign(r - r * (z * _sine(z)), r)
    return sine, like(r, 1.0) - z * (like(r, 0.5) - z * _cosine(z))


@scalar(np.sin)
def near_sin(x):
    q, r = _quarters(x)
    sine, cosine = on_eighth(r)
    return turned(select(odd(q), cosine, sine), q)


@scalar(np.cos)
def near_cos(x):
    q, r = _quarters(x)
    sine, cosine = on_eighth(r)
    return turned(select(odd(q), sine, cosine), q + like(x, 1.0))


@scalar(np.tan)
def near_tan(x):
    q, r = _quarters(x)
    sine, cosine = on_eighth(r)
    return select(odd(q), -cosine, sine) / select(odd(q), sine, cosine)


@scalar(np.sinc)
def near_sinc(x):
    """sin(pi x) / (pi x), and 1 at 0."""
    angle, zero = x * like(x, np.pi), like(x, 0.0)
    return select(x == zero, like(x, 1.0), near_sin(angle) / angle)


@scalar(lambda x: False)
def is_far(x):
    """Whether x is too large for the near functions."""
    return abs(x) > like(x, _LIMIT)


@scalar(np.sin, inlined=False)
def sin(x):
    noinline()
    return math.sin(x) if is_far(x) else near_sin(x)


@scalar(np.cos, inlined=False)
def cos(x):
    noinline()
    return math.cos(x) if is_far(x) else near_cos(x)


@scalar(np.tan, inlined=False)
def tan(x):
    noinline()
    return math.tan(x) if is_far(x) else near_tan(x)


@scalar(np.sinc, inlined=False)
def sinc(x):
    noinline()
    angle = x * like(x, np.pi)
    return math.sin(angle) / angle if is_far(x) else near_sinc(x)
