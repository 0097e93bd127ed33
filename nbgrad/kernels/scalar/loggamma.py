"""The logarithm of the gamma function and its derivative, branch-free for x >= 0.

The recurrences move small arguments to one interval of length 1, so that one polynomial serves all;
its factor is 0 where the function is. For large ones Stirling's series are polynomials in 1 / x**2.
Coefficients: Chebyshev interpolation with 70 digits.
"""

import math
import sys

from ...compiler.attributes import noinline
from ...compiler.kernel import part
from .bits import by_dtype, like, scalar, select, series
from .library import in_python, of_scipy
from .logarithm import log

__all__ = ["digamma", "is_negative", "lgamma", "near_digamma", "near_lgamma"]

# log(gamma(2 + t)) / t, for -3/4 < t < 1/4.
_gamma_near_two = series(
    (
        -1.60443775700860331e-6, -4.26061546309226005e-6, -6.33468235767856299e-6,
        -2.93194871336824133e-6, -2.96285165921493677e-6, 4.75683215195697276e-6,
        -9.14431907947438965e-6, 0.0000205432707752871966, -0.0000449471441286633346,
        0.0000994513356626594649, -0.00022315432015126017, 0.000509669836356945694,
        -0.0011927539052699777, 0.00289051032366800677, -0.00738555102899281167,
        0.0205808084278545914, -0.0673523010531954471, 0.322467033424113007, 0.422784335098467137,
    ),
    (
        -0.0007594526497, -1.103298746e-5, -0.001323969449, 0.002930498905, -0.007367173545,
        0.02058031156, -0.06735286772, 0.3224670322, 0.4227843377,
    ),
)  # fmt: skip
# x (log(gamma(x)) - (x - 1/2) (log(x) - 1) - log(2 pi) / 2 + 1/2) in 1 / x**2, for x > 17/4.
_beyond = series(
    (
        -0.0103272588386308833, 0.00510057867387047503, -0.00186385538967452541,
        0.000840457014894722504, -0.000595220638042232205, 0.000793650675888582475,
        -0.00277777777747134789, 0.0833333333333332011,
    ),
    (
        0.000748095822, -0.002776853786, 0.0833333305,
    ),
)  # fmt: skip
# digamma(x) over its distance from the zero in t = x - 3/2, for |t| < 1/2.
_slope_by_zero = series(
    (
        -0.000173122618027273933, 0.000259684821264307466, -0.000151485868367733659,
        0.000227233166098737588, -0.000482199053056678888, 0.000723326627928755416,
        -0.00103763740984186047, 0.00155663174744868393, -0.00234526763254076904,
        0.00351900640150227605, -0.00527996487325740421, 0.00792694464640379604,
        -0.0119082180015686448, 0.0179072524394511994, -0.0269757967561382488, 0.040760833812420736,
        -0.0619221332730645317, 0.0949887244549412133, -0.148404923053908857, 0.240542484240774219,
        -0.423627421281460505, 0.951055876031832893,
    ),
    (
        -0.01590631756, 0.02390907144, -0.02604888223, 0.03936941934, -0.06200706886, 0.09511622179,
        -0.1484022375, 0.240538453, -0.4236274347, 0.9510558962,
    ),
)  # fmt: skip
# x**2 (log(x) - 1 / (2 x) - digamma(x)) in 1 / x**2, for x > 4.
_slope_beyond = series(
    (
        -2.76324614417711967, 1.31766774989668496, -0.34875835555693052, 0.0797858589379780479,
        -0.0210047297643034439, 0.00757437631450245623, -0.00416665393289541009,
        0.00396825390768164149, -0.0083333333332201801, 0.0833333333333332981,
    ),
    (
        -0.003397054067, 0.003940102003, -0.008332990443, 0.08333333267,
    ),
)  # fmt: skip


@part
def _among(x, first, second, third, fourth, fifth):
    """A value for x in [0, 1/4), [1/4, 5/4), [5/4, 9/4), [9/4, 13/4) and from there on."""
    low = select(x < like(x, 0.25), first, select(x < like(x, 1.25), second, third))
    high = select(x < like(x, 3.25), fourth, fifth)
    return select(x < like(x, 2.25), low, high)


_scipys_lgamma = in_python("gammaln")


def _lgamma_in_python(x):
    """SciPy's, but for subnormal numbers, where that is inf."""
    is_subnormal = 0.0 < float(x) < sys.float_info.min
    return type(x)(-math.log(x)) if is_subnormal else _scipys_lgamma(x)


@scalar(_lgamma_in_python)
def near_lgamma(x):
    """log(gamma(2 + t)) and the logarithm of the factors between 2 + t and x."""
    one, two, half = like(x, 1.0), like(x, 2.0), like(x, 0.5)
    below = x - one
    t = x - _among(x, like(x, 0.0), one, two, like(x, 3.0), like(x, 4.0))
    factors = _among(x, x * (x + one), x, one, below, below * (x - two))
    is_large = x >= like(x, 4.25)
    high = log(select(is_large, x, factors))
    inverse = one / select(is_large, x, one)
    stirling = (x - half) * (high - one) + (
        inverse * _beyond(inverse * inverse) + like(x, 0.4189385332046727)
    )
    near = t * _gamma_near_two(t) + select(x < like(x, 1.25), -high, high)
    return select(is_large, stirling, near)


@scalar(in_python("psi"))
def near_digamma(x):
    """That of a number between 1 and 2, and the inverse factors between that number and x."""
    zero, one, two = like(x, 0.0), like(x, 1.0), like(x, 2.0)
    is_large = x >= like(x, 4.0)
    below, twice = x - one, x - two
    is_low, three = x < one, x >= like(x, 3.0)
    over = select(is_low, x, select(three, below * twice, select(x < two, one, below)))
    part = select(is_low, -one, select(three, below + twice, select(x < two, zero, one)))
    inverse = select(is_large, one, part) / select(is_large, x, over)
    y = x + select(is_low, one, select(x < two, zero, select(three, -two, -one)))
    away = y - by_dtype(x, 1.4616321449683622, 1.4616321325302124)  # from the zero, which is in
    away = away - by_dtype(x, 9.549995429965697e-17, 1.2438149938918909e-08)  # two parts
    near = away * _slope_by_zero(y - like(x, 1.5)) + inverse
    square = inverse * inverse
    stirling = log(x) - (like(x, 0.5) * inverse + square * _slope_beyond(square))
    return select(is_large, stirling, near)


@scalar(lambda x: False)
def is_negative(x):
    """Whether the near functions are not for x."""
    return x < like(x, 0.0)


_any_lgamma, _any_digamma = of_scipy("gammaln"), of_scipy("psi")


@scalar(_lgamma_in_python, inlined=False)
def lgamma(x):
    noinline()
    return _any_lgamma(x) if is_negative(x) else near_lgamma(x)


@scalar(in_python("psi"), inlined=False)
def digamma(x):
    noinline()
    return _any_digamma(x) if is_negative(x) else near_digamma(x)
