"""arctan, arctan2, arcsin and arccos: two polynomials, and the angles that reduction leaves.

Reductions as in Cephes (arctan) and fdlibm (arcsin, arccos). Coefficients: Chebyshev interpolation
with 60 digits of the function beside each; what multiplies the polynomial is small, so that
its rounding is lost in the sum.
"""

import math

import numpy as np

from ...compiler.kernel import part
from .bits import by_dtype, like, scalar, select, series

__all__ = ["arccos", "arcsin", "arctan", "arctan2"]

_EIGHTH, _THREE_EIGHTHS = math.tan(math.pi / 8), math.tan(3 * math.pi / 8)


# (1 - arctan(s) / s) / x for x = s**2, where s < tan(pi / 8).
_arctan = series(
    (
        0.0191745435720213321,
        -0.0392297445366122307,
        0.050853834888428314,
        -0.0585813625190614628,
        0.0666450998981804447,
        -0.0769218308734202595,
        0.0909090457366905996,
        -0.111111110151467146,
        0.142857142846651796,
        -0.199999999999955141,
        0.333333333333333302,
    ),
    (0.06451597259, -0.1074363163, 0.1426394636, -0.1999954022, 0.3333333176),
)
# (arcsin(s) / s - 1) / x for x = s**2 <= 1 / 4.
_arcsin = series(
    (
        0.0296120112649551204,
        -0.0192416717467430407,
        0.0195545133361233789,
        0.0030448799094556774,
        0.0093195607947674463,
        0.00962184297010028102,
        0.0115664596121216686,
        0.0139637800122035696,
        0.017352816540325495,
        0.0223721574435072224,
        0.03038194447553234,
        0.0446428571425518929,
        0.0750000000000011775,
        0.166666666666666666,
    ),
    (0.0336908472, 0.01714923836, 0.03110066274, 0.04459940153, 0.07500094543, 0.1666666634),
)


@part
def _rest(x):
    """Return the error of x times the floating-point number closest to pi."""
    return x * by_dtype(x, 1.2246467991473532e-16, -8.742278e-08)


@part
def _of_quotient(above, below):
    """arctan(above / below) for finite numbers, above >= 0 and below > 0."""
    zero, half, quarter = like(above, 0.0), like(above, 0.5), like(above, 0.25)
    large = above > below * like(above, _THREE_EIGHTHS)
    small = above < below * like(above, _EIGHTH)
    turns = select(large, half, select(small, zero, quarter))
    up = select(large, -below, select(small, above, above - below))
    down = select(large, above, select(small, below, above + below))
    t = up / down
    z = t * t
    return turns * like(above, np.pi) + ((t - t * (z * _arctan(z))) + _rest(turns))


@scalar(np.arctan)
def arctan(x):
    # Beyond 1e30, only pi/2 is left in either dtype.
    a, limit = abs(x), like(x, 1e30)
    return math.copysign(_of_quotient(select(a > limit, limit, a), like(x, 1.0)), x)


@scalar(np.arctan2)
def arctan2(x, y):
    """The angle of the point whose height is x."""
    a, b = abs(x), abs(y)
    zero, one, infinity, large = like(x, 0.0), like(x, 1.0), like(x, np.inf), like(x, 1e30)
    # Of two infinite numbers each counts as 1, else an infinite one makes the other 0.
    infinite = (a == infinity) | (b == infinity)
    up = select(infinite, select(a == infinity, one, zero), a)
    down = select(infinite, select(b == infinity, one, zero), b)
    scale = select((up > large) | (down > large), like(x, 0.125), one)
    up, down = up * scale, down * scale
    swapped = up > down
    low, high = select(swapped, down, up), select(swapped, up, down)
    angle = _of_quotient(low, select(high == zero, one, high))
    behind = math.copysign(one, y) < zero
    turns = select(swapped, like(x, 0.5), select(behind, one, zero))
    angle = select(swapped != behind, -angle, angle)
    out = turns * like(x, np.pi) + (angle + _rest(turns))
    return select((x != x) | (y != y), x + y, math.copysign(out, x))


@part
def _near_or_far(x):
    """Whether |x| < 1/2, and arcsin(|x|) then, else arccos(|x|)."""
    a, half = abs(x), like(x, 0.5)
    near = a < half
    z = select(near, a * a, (like(x, 1.0) - a) * half)
    root = math.sqrt(z)
    s = select(near, a, root + root)
    return near, s + s * (z * _arcsin(z))


@scalar(np.arcsin)
def arcsin(x):
    near, angle = _near_or_far(x)
    half = like(x, 0.5)
    far = half * like(x, np.pi) - (angle - _rest(half))
    return math.copysign(select(near, angle, far), x)


@scalar(np.arccos)
def arccos(x):
    near, angle = _near_or_far(x)
    zero, half, one = like(x, 0.0), like(x, 0.5), like(x, 1.0)
    turns = select(near, half, select(x < zero, one, zero))
    # pi/2 - arcsin(x) near 0; elsewhere arccos(x), or pi - arccos(-x).
    angle = select(near == (x < zero), angle, -angle)
    return turns * like(x, np.pi) + (angle + _rest(turns))
