"""The error function and the normal distribution function, with their complements and logarithms.

erfcx(x) = exp(x**2) erfc(x) is one polynomial in t = 1/2 - 5 / (x + 5/2) over x + 5/2, from x = 1/2
to infinity; below, erf(x) / x is a polynomial in x**2: Chebyshev interpolation with 60 digits. A
square in an exponent is used with what its rounding lost, which would be an error of up to 400 ulp.
"""

import math

from ...compiler.kernel import part
from .bits import by_dtype, fused, like, scalar, select, series, two_product
from .exponential import exp_of_sum
from .library import in_python
from .logarithm import log, log1p

__all__ = ["erf", "erfc", "erfcx", "log_ndtr", "ndtr"]

# erf(x) / x in x**2, for |x| < 1/2.
_near = series(
    (
        1.47258654805567439e-6, -0.0000148458492597078698, 0.000120533351243537407,
        -0.000854829775367496688, 0.00522397737302147002, -0.0268661706328879294,
        0.112837916709253531, -0.376126389031834735, 1.12837916709551257,
    ),
    (0.004719082567, -0.02675773274, 0.1128283143, -0.3761260901, 1.128379166),
)  # fmt: skip
# (x + 5/2) erfcx(x) in t, for x > 1/2.
_far = series(
    (
        -6.5999162148462265e-9, -5.45115039938992999e-8, -1.69234320859186446e-7,
        -1.71038039901596085e-7, 2.66866327391700205e-7, 6.74735891977646614e-7,
        -4.17205514251113707e-7, -1.96920586128768343e-6, 1.28458012881009321e-6,
        6.25435117569885474e-6, -6.09698413975527243e-6, -0.000020880961537027188,
        0.0000354890393873845544, 0.0000636381987978685261, -0.000223657754616203438,
        -0.0000536016150798569816, 0.00133444245589001952, -0.00227450259861464433,
        -0.00388618140279299864, 0.0322774730238658885, -0.105355965789045311, 0.245568481262071948,
        -0.463280369214932092, 0.745736930628766829,
    ),
    (
        -7.467873492e-5, -0.000345369677, -4.177463521e-5, 0.001401786368, -0.002254824274,
        -0.00389725914, 0.03227264862, -0.1053553388, 0.2455687954, -0.4632803791, 0.7457369275,
    ),
)  # fmt: skip


def _of_math(function):
    return lambda x: type(x)(function(x))


@part
def _scaled(a, low):
    """erfcx of a + low > 1/2, and a correction relative to it: what the sum and the division lose
    changes the polynomial, too, at most as much again."""
    one, gap = like(a, 1.0), like(a, 2.5)
    below = a + gap
    inverse = one / below
    lost = select(a > gap, gap - (below - a), a - (below - gap))
    rest = fused(-inverse, below, one) - inverse * (lost + low)
    out = _far(like(a, 0.5) - like(a, 5.0) * inverse) * inverse
    return out, rest * (one + like(a, 3.2) * inverse)


@part
def _bounded(x):
    """|x|, where erfc is not 0; beyond, a number where it is."""
    top = by_dtype(x, 28.0, 11.0)
    return select(abs(x) > top, top, abs(x))


@part
def _tail(a):
    """erfc of a > 1/2."""
    square, lost = two_product(a, a)
    scaled, more = _scaled(a, like(a, 0.0))
    return exp_of_sum(-square, more - lost) * scaled


@part
def _complement(x, tail):
    """erfc of x, which is `tail` at |x| > 1/2."""
    near = like(x, 1.0) - x * _near(x * x)
    far = select(x < like(x, 0.0), like(x, 2.0) - tail, tail)
    return select(abs(x) < like(x, 0.5), near, far)


@scalar(_of_math(math.erf))
def erf(x):
    a = _bounded(x)
    out = select(a < like(x, 0.5), a * _near(a * a), like(x, 1.0) - _tail(a))
    return math.copysign(out, x)


@scalar(_of_math(math.erfc))
def erfc(x):
    a = _bounded(x)
    return _complement(math.copysign(a, x), _tail(a))


@scalar(in_python("erfcx"))
def erfcx(x):
    a, zero = math.copysign(_bounded(x), x), like(x, 0.0)
    square, lost = two_product(a, a)
    grown = exp_of_sum(square, lost)
    scaled, more = _scaled(abs(x), zero)
    # Of an infinite x the correction is nan.
    scaled = select(scaled > zero, scaled + scaled * more, scaled)
    near = grown * (like(x, 1.0) - a * _near(a * a))
    far = select(x < zero, like(x, 2.0) * grown - scaled, scaled)
    return select(abs(x) < like(x, 0.5), near, far)


@part
def _over_root_two(x):
    """|x| / sqrt(2) in two parts."""
    high, low = two_product(abs(x), like(x, math.sqrt(0.5)))
    return high, low + abs(x) * by_dtype(x, -4.833646656726457e-17, 1.210161710447897e-08)


@part
def _half_of_complement(x):
    """erfc(x / sqrt(2)) / 2: the square of x in the exponent, which x / sqrt(2) would change."""
    half = like(x, 0.5)
    top = by_dtype(x, 40.0, 16.0)
    x = select(x > top, top, select(x < -top, -top, x))
    a, low = _over_root_two(x)
    square, lost = two_product(x, x)
    scaled, more = _scaled(a, low)
    tail = exp_of_sum(-half * square, more - half * lost) * scaled
    return half * _complement(math.copysign(a, x), tail)


@scalar(in_python("ndtr"))
def ndtr(x):
    return _half_of_complement(-x)


@scalar(in_python("log_ndtr"))
def log_ndtr(x):
    """Far below 0 the exponent and the logarithm of erfcx; elsewhere that of 1 - ndtr(-x)."""
    half = like(x, 0.5)
    a, _ = _over_root_two(x)
    scaled, _ = _scaled(a, like(x, 0.0))
    far = log(half * scaled) - half * x * x
    return select(x < like(x, -0.7), far, log1p(-_half_of_complement(x)))
