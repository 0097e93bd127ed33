"""Bessel functions of the first kind, of order 0 and 1, in float64.

Up to 8 they are a polynomial times the distances from their zeros; beyond, J0(x) is size(x) times
cos(x - pi/4 + phase(x)) and J1(x) is size(x) times sin(x - pi/4 + phase(x)). Coefficients:
interpolation at Chebyshev nodes, computed with 50 digits.
"""

from typing import Any

import numpy as np

from ...compiler.attributes import noinline
from ...compiler.kernel import part
from .bits import like, odd, scalar, select, series, turned
from .library import in_python, of_scipy
from .trig import half_quarters, is_far, on_eighth

__all__ = ["bessel_j0", "bessel_j1", "near_bessel_j0", "near_bessel_j1"]


def _double(*coefficients: float) -> Any:
    return series(coefficients, coefficients)


# J0(x) / ((x**2 - a**2) (x**2 - b**2)) in x**2 / 64 - 1, for its zeros a and b below 8.
_j0_near = _double(
    6.56372250427021208e-12, -5.63144051685272929e-11, 8.74131031083806342e-10,
    -9.79050543021991372e-9, 9.59764272899646374e-8, -7.89502457189315842e-7,
    5.37298737968351104e-6, -0.0000296048707925464699, 0.000128551440287186576,
    -0.000424609269802163881, 0.0010162823041569687, -0.00164154984815388112,
    0.00159452696018024468, -0.000745360703295443266, 0.0000879387347084299725,
)  # fmt: skip
# Size times sqrt(x), and phase times x, in 1 / x**2 for x > 8.
_j0_size = _double(
    -11800848270.3080378, 1333401283.26117719, -71937486.2932325311, 2587045.222829487,
    -76323.6832720771143, 2278.39773978429318, -84.9416876203961322, 4.66572728474368144,
    -0.433127670338056233, 0.0825935179291939876, -0.0498677850498383474, 0.797884560802865337,
)  # fmt: skip
_j0_phase = _double(
    113747836714.558606, -12667027494.0098645, 667425829.719776101, -23052536.9538722608,
    634085.281089623705, -16870.0529666970601, 532.004010171008639, -23.466042551081724,
    1.63805206151931198, -0.20957030138358741, 0.0651041666630994335, -0.124999999999999807,
)  # fmt: skip
# The same of J1(x) / x.
_j1_near = _double(
    -3.20277079783061558e-12, 2.58127587439813169e-11, -3.71578665051507973e-10,
    3.85141700127168948e-9, -3.46690280107940397e-8, 2.59744559980214136e-7,
    -1.59364678880961932e-6, 7.81581186916772887e-6, -0.0000297124926848063907,
    0.0000840255059558533192, -0.000166778465217004191, 0.000212556837409614486,
    -0.000148908653991999882, 0.0000402327571243828244,
)  # fmt: skip
_j1_size = _double(
    13472322875.5894663, -1525557072.08856391, 82605337.4365904083, -2990271.97334463122,
    89307.0571070295278, -2725.9953878163563, 105.543464272237249, -6.17461968990794995,
    0.642533238942541597, -0.15427845880177699, 0.149603355150152401, 0.797884560802865377,
)  # fmt: skip
_j1_phase = _double(
    -129733188058.987415, 14475999697.5946496, -765275484.40572301, 26588346.6510587902,
    -739365.393981868569, 20068.5302579005399, -655.089876856112815, 30.6137714020002409,
    -2.36938225628930948, 0.370898424958125612, -0.164062499995974569, 0.374999999999999783,
)  # fmt: skip


@part
def _from_zeros(x, first, first_low, second, second_low):
    """(x**2 - a**2) (x**2 - b**2) of zeros that are given in two parts."""
    one = ((x - first) - first_low) * (x + first)
    return one * (((x - second) - second_low) * (x + second))


@part
def _far(x):
    """x, at least 8, and 1 / x**2."""
    x = select(x < 8.0, np.float64(8.0), x)
    return x, 1.0 / (x * x)


@scalar(in_python("j0"))
def near_bessel_j0(x):
    a = abs(np.float64(x))
    zeros = _from_zeros(
        a, 2.404825557695773, -1.176691651530894e-16, 5.520078110286311, 8.088597146146722e-17
    )
    near = zeros * _j0_near(a * a * 0.015625 - 1.0)
    far, z = _far(a)
    q, r = half_quarters(far)
    sine, cosine = on_eighth(r + _j0_phase(z) / far)
    wave = turned(select(odd(q), sine, cosine), q + 1.0)
    near = select(a < 1e-8, np.float64(1.0), near)  # exactly, as slopes are to be
    return like(x, select(a < 8.0, near, wave * _j0_size(z) / np.sqrt(far)))


@scalar(in_python("j1"))
def near_bessel_j1(x):
    y = np.float64(x)
    a = abs(y)
    zeros = _from_zeros(
        a, 3.8317059702075125, -1.5269184090088067e-16, 7.015586669815619, -9.414165653410389e-17
    )
    near = a * (zeros * _j1_near(a * a * 0.015625 - 1.0))
    far, z = _far(a)
    q, r = half_quarters(far)
    sine, cosine = on_eighth(r + _j1_phase(z) / far)
    wave = turned(select(odd(q), cosine, sine), q)
    out = select(a < 8.0, near, wave * _j1_size(z) / np.sqrt(far))
    return like(x, select(y < 0.0, -out, select(y == 0.0, y, out)))


_any_j0, _any_j1 = of_scipy("j0"), of_scipy("j1")


@scalar(in_python("j0"), inlined=False)
def bessel_j0(x):
    noinline()
    return _any_j0(x) if is_far(x) else near_bessel_j0(x)


@scalar(in_python("j1"), inlined=False)
def bessel_j1(x):
    noinline()
    return _any_j1(x) if is_far(x) else near_bessel_j1(x)
