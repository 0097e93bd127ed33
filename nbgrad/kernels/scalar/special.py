"""Special functions: SciPy's own, and those that it has no pointers to."""

import math

import numpy as np

from ..jit.kernel import DISABLED, device, with_twin
from ..pointers import f8, scratch
from .bits import like
from .library import of_scipy
from .power import power

__all__ = [
    "bessel_i0e", "bessel_i1e", "bessel_iv", "bessel_ive", "bessel_j0", "bessel_j1", "bessel_jv",
    "bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e", "bessel_kv", "bessel_kve", "bessel_y0",
    "bessel_y1", "bessel_yv", "beta", "betainc", "betaln", "boxcox", "boxcox1p", "digamma",
    "erfcinv", "erfcx", "erfinv", "exp1", "expi", "gamma", "gammainc", "gammaincc", "hurwitz",
    "inv_boxcox", "inv_boxcox1p", "lambertw", "lgamma", "log_ndtr", "ndtr", "ndtri",
]  # fmt: skip

digamma, gamma, lgamma = of_scipy("psi"), of_scipy("gamma"), of_scipy("gammaln")
gammainc, gammaincc = of_scipy("gammainc", 2), of_scipy("gammaincc", 2)
beta, betaln, betainc = of_scipy("beta", 2), of_scipy("betaln", 2), of_scipy("betainc", 3)
erfcx, erfinv, erfcinv = of_scipy("erfcx"), of_scipy("erfinv"), of_scipy("erfcinv")
ndtr, log_ndtr, ndtri = of_scipy("ndtr"), of_scipy("log_ndtr"), of_scipy("ndtri")
exp1, expi = of_scipy("exp1"), of_scipy("expi")
boxcox, inv_boxcox = of_scipy("boxcox", 2), of_scipy("inv_boxcox", 2)
boxcox1p, inv_boxcox1p = of_scipy("boxcox1p", 2), of_scipy("inv_boxcox1p", 2)
bessel_j0, bessel_j1, bessel_jv = of_scipy("j0"), of_scipy("j1"), of_scipy("jv", 2)
bessel_y0, bessel_y1, bessel_yv = of_scipy("y0"), of_scipy("y1"), of_scipy("yv", 2)
bessel_i0e, bessel_i1e = of_scipy("i0e"), of_scipy("i1e")
bessel_iv, bessel_ive = of_scipy("iv", 2), of_scipy("ive", 2)
bessel_k0, bessel_k0e = of_scipy("k0"), of_scipy("k0e")
bessel_k1, bessel_k1e = of_scipy("k1"), of_scipy("k1e")
bessel_kv, bessel_kve = of_scipy("kv", 2), of_scipy("kve", 2)


def _twin(n, s, q):
    from scipy import special  # here, as only plain Python asks

    if n == 0 and s > 1:
        return type(s)(special.zeta(float(s), float(q)))
    return type(s)(_hurwitz(n, s, q))


# B(2k) / (2k)!, for k = 1, 2, ...
_BERNOULLI = (
    0.08333333333333333, -0.001388888888888889, 3.306878306878307e-05, -8.267195767195768e-07,
    2.08767569878681e-08, -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13,
    8.586062056277845e-15, -2.174868698558062e-16, 5.5090028283602295e-18, -1.3954464685812522e-19,
)  # fmt: skip
_TERMS = 10


@device
def _sum_above_zero(s, q):
    """The sum of (q + k)**-s by Euler and Maclaurin, for q > 0 (DLMF 25.11.5 with ten terms)."""
    total = 0.0
    for k in range(_TERMS):
        total += power(q + k, -s)
    a = q + _TERMS
    bounded = min(s, 1e10)  # beyond, the tail is nothing
    square = 1.0 / (a * a)
    rising = bounded * square
    tail = 1.0 / (bounded - 1.0) + 0.5 / a
    for k in range(12):
        tail += _BERNOULLI[k] * rising
        rising *= (bounded + (2 * k + 1)) * (bounded + (2 * k + 2)) * square
    last = power(a, 1.0 - s)
    return total + (last * tail if last > 0.0 else 0.0)


@device
def _slope_above_zero(n, s, q):
    """The derivative of that in s, n times, n <= 15: the sum of f(q + k) with
    f(t) = (-log t)**n t**-s."""
    count = int(n)
    total = 0.0
    for k in range(_TERMS):
        t = q + k
        total += (-math.log(t)) ** count * power(t, -s)
    a = q + _TERMS
    log = math.log(a)
    # p[i] is the i-th derivative in log t of f(t) t**s: f' is (p[1] - s p[0]) / t**(s + 1).
    p = f8(scratch(128), 0)
    p[count] = -1.0 if count % 2 else 1.0
    for i in range(count):
        p[count] *= i + 1
    for i in range(count - 1, -1, -1):
        p[i] = p[i + 1] * log / (count - i)
    integral, factor = 0.0, 1.0 / (s - 1.0)
    for i in range(count + 1):
        integral += p[i] * factor
        factor /= s - 1.0
    tail = integral + 0.5 * p[0] / a
    scale = 1.0
    for k in range(23):
        for i in range(count):
            p[i] = p[i + 1] - (s + k) * p[i]
        p[count] *= -(s + k)
        scale /= a
        if k % 2 == 0:
            tail -= _BERNOULLI[k // 2] * p[0] * scale / a
    last = power(a, 1.0 - s)
    return total + (last * tail if last > 0.0 else 0.0)


def _hurwitz(n, s, q):
    """The sum of (-log(q + k))**n (q + k)**-s over k = 0, 1, 2, ..., continued to s >= 0; of a q
    below zero for whole s, and n = 0."""
    x, s, q = s, np.float64(s), np.float64(q)
    if s != s or q != q:
        return like(x, s + q)
    if s == 1.0:
        return like(x, -np.inf if n % 2.0 else np.inf)
    if q > 0.0:
        return like(x, _slope_above_zero(n, s, q) if n else _sum_above_zero(s, q))
    if q == np.floor(q):
        return like(x, np.inf)
    if s != np.floor(s) or n:
        return like(x, np.nan)
    # The terms below zero are those from their nearest to zero on, without what follows them.
    near = np.floor(q) - q + 1.0
    below = _sum_above_zero(s, near) - _sum_above_zero(s, 1.0 - q)
    if s != 2.0 * np.floor(0.5 * s):
        below = -below
    return like(x, _sum_above_zero(s, q - np.floor(q)) + below)


hurwitz = _twin if DISABLED else with_twin(device(_hurwitz), _twin)


def _lambertw_twin(x, k):
    from scipy import special  # here, as only plain Python asks

    value = special.lambertw(float(x), int(k))
    return type(x)(value.real if value.imag == 0.0 or value.real != value.real else np.nan)


def _lambertw(x, k):
    """The real w with w exp(w) = x, on the upper branch for k = 0 and the lower for k = -1, by
    Halley's iteration; near -1/e where they meet, by their series (DLMF 4.13.6)."""
    z = np.float64(x)
    upper = k == 0.0
    # e z + 1, without what is lost where z is near -1/e.
    above = (z + 0.36787944117144233) * 2.718281828459045 - 3.379393482018345e-17
    if z == 0.0:
        return like(x, z if upper else -np.inf)
    if z != z or above < -2e-16 or (not upper and z > 0.0):
        return like(x, np.nan)
    p = math.sqrt(2.0 * max(above, 0.0))
    p = p if upper else -p
    series = -1.0 + p * (
        1.0
        + p
        * (
            -1.0 / 3.0
            + p * (11.0 / 72.0 + p * (-43.0 / 540.0 + p * (769.0 / 17280.0 - p * 221.0 / 8505.0)))
        )
    )
    if abs(p) < 1e-3 or z == np.inf:
        return like(x, series if z < np.inf else z)
    if upper:
        grown = math.log1p(max(z, -0.25))
        w = series if z < -0.25 else grown * (1.0 - math.log1p(max(grown, 0.0)) / (2.0 + grown))
    else:
        grown = math.log(-z)
        w = series if z < -0.2 else grown - math.log(-grown)
    for _ in range(6):
        # f / exp(w) with f = w exp(w) - z, which neither overflows nor vanishes.
        f = w - z * math.exp(-w)
        step = f / (w + 1.0 - (w + 2.0) * f / (2.0 * w + 2.0))
        w = w - step
        if abs(step) < 1e-8 * abs(w):
            break
    return like(x, w)


lambertw = _lambertw_twin if DISABLED else with_twin(device(_lambertw), _lambertw_twin)
