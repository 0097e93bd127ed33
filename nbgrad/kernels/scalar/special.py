"""Special functions: SciPy's own, and those that it does not export to C."""

import math

import numpy as np

from ...compiler.attributes import noinline, wide_vectors
from ...compiler.kernel import device, part
from ...compiler.pointers import f8, hidden, scratch
from .bits import like, radd, scalar, select, series
from .library import of_scipy
from .logarithm import log
from .loggamma import lgamma
from .power import power

__all__ = [
    "bessel_iv", "bessel_ive", "bessel_jv", "bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e",
    "bessel_kv", "bessel_kve", "bessel_y0", "bessel_y1", "bessel_yv", "beta", "betainc", "betaln",
    "boxcox", "boxcox1p", "erfcinv", "erfinv", "exp1", "expi", "gamma", "gammainc", "gammaincc",
    "hurwitz", "inv_boxcox", "inv_boxcox1p", "lambertw", "log1p_rest", "ndtri", "rgamma", "riemann",
    "stdtr", "whole_hurwitz",
]  # fmt: skip

gamma, rgamma, stdtr = of_scipy("gamma"), of_scipy("rgamma"), of_scipy("stdtr", 2)
gammainc, gammaincc = of_scipy("gammainc", 2), of_scipy("gammaincc", 2)
beta, betaln, betainc = of_scipy("beta", 2), of_scipy("betaln", 2), of_scipy("betainc", 3)
erfinv, erfcinv, ndtri = of_scipy("erfinv"), of_scipy("erfcinv"), of_scipy("ndtri")
exp1, expi, zetac = of_scipy("exp1"), of_scipy("expi"), of_scipy("zetac")
boxcox, inv_boxcox = of_scipy("boxcox", 2), of_scipy("inv_boxcox", 2)
boxcox1p, inv_boxcox1p = of_scipy("boxcox1p", 2), of_scipy("inv_boxcox1p", 2)
bessel_y0, bessel_y1 = of_scipy("y0"), of_scipy("y1")
bessel_jv, bessel_yv = of_scipy("jv", 2), of_scipy("yv", 2)
bessel_iv, bessel_ive = of_scipy("iv", 2), of_scipy("ive", 2)
bessel_k0, bessel_k0e = of_scipy("k0"), of_scipy("k0e")
bessel_k1, bessel_k1e = of_scipy("k1"), of_scipy("k1e")
bessel_kv, bessel_kve = of_scipy("kv", 2), of_scipy("kve", 2)


def _twin(n, s, q):
    from scipy import special  # here, as only plain Python asks

    if n == 0 and s > 1 and q == q:  # SciPy's is nan where 1 / q**s is 0
        return type(s)(special.zeta(min(float(s), 1e4), float(q)))
    return type(s)(_hurwitz(n, s, q))


# (log1p(t) - t + t s) / (2 s**3) in s**2, with s = t / (2 + t) up to 0.34.
_log1p_rest = series(
    tuple(1.0 / k for k in range(35, 2, -2)), tuple(1.0 / k for k in range(17, 2, -2))
)


@scalar(lambda t: type(t)(_rest_in_python(float(t)) if abs(t) <= 0.5 else np.nan))
def log1p_rest(t):
    """log1p(t) - t without cancellation, for -0.5 <= t <= 0.5: log1p(t) is 2 atanh(s)."""
    s = t / (like(t, 2.0) + t)
    square = s * s
    return (s + s) * square * _log1p_rest(square) - t * s


def _rest_in_python(t):
    return sum(-((-t) ** k) / k for k in range(2, 60))


# B(2k) / (2k)!, for k = 1, 2, ...
_BERNOULLI = (
    0.08333333333333333, -0.001388888888888889, 3.306878306878307e-05, -8.267195767195768e-07,
    2.08767569878681e-08, -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13,
    8.586062056277845e-15, -2.174868698558062e-16, 5.5090028283602295e-18, -1.3954464685812522e-19,
)  # fmt: skip
_TERMS = 10
_LANES = 16  # terms and the end of them, and what fills the vectors


def _apart(function):
    """A function that is not written into its callers, whatever they are."""
    return device(function, forceinline=False)


@_apart
def _sum_above_zero(s, q):
    """The sum of (q + k)**-s by Euler and Maclaurin, for q > 0 (DLMF 25.11.5 with ten terms)."""
    noinline()
    wide_vectors()
    total = last = 0.0
    for k in range(hidden(_LANES)):
        ends = k == _TERMS
        term = power(q + k, select(ends, 1.0 - s, -s))
        last = radd(last, select(ends, term, 0.0))
        total = radd(total, select(k < _TERMS, term, 0.0))
    a = q + _TERMS
    bounded = min(s, 1e10)  # beyond, the tail is nothing
    square = 1.0 / (a * a)
    rising = bounded * square
    tail = 1.0 / (bounded - 1.0) + 0.5 / a
    for k in range(hidden(12)):
        tail += _BERNOULLI[k] * rising
        rising *= (bounded + (2 * k + 1)) * (bounded + (2 * k + 2)) * square
    return total + (last * tail if last > 0.0 else 0.0)


@_apart
def _slope_above_zero(n, s, q):
    """The derivative of that in s, n times, n <= 15: the sum of f(q + k) with
    f(t) = (-log t)**n t**-s."""
    noinline()
    wide_vectors()
    count = int(n)
    terms, logs = f8(scratch(128), 0), f8(scratch(128), 0)
    for k in range(hidden(_LANES)):
        logs[k] = log(q + k)
        terms[k] = power(q + k, select(k == _TERMS, 1.0 - s, -s))
    last, end = terms[_TERMS], logs[_TERMS]
    for _ in range(count):
        for k in range(hidden(_LANES)):
            terms[k] *= -logs[k]
    total = 0.0
    for k in range(_TERMS):
        total += terms[k]
    a = q + _TERMS
    # p[i] is the i-th derivative in log t of f(t) t**s: f' is (p[1] - s p[0]) / t**(s + 1).
    p = f8(scratch(128), 0)
    p[count] = -1.0 if count % 2 else 1.0
    for i in range(count):
        p[count] *= i + 1
    for i in range(count - 1, -1, -1):
        p[i] = p[i + 1] * end / (count - i)
    tail, factor = 0.5 * p[0] / a, 1.0 / (s - 1.0)
    for i in range(count + 1):
        tail += p[i] * factor
        factor /= s - 1.0
    scale = 1.0
    for k in range(hidden(23)):
        for i in range(count):
            p[i] = p[i + 1] - (s + k) * p[i]
        p[count] *= -(s + k)
        scale /= a
        if k % 2 == 0:
            tail -= _BERNOULLI[k // 2] * p[0] * scale / a
    return total + (last * tail if last > 0.0 else 0.0)


def _hurwitz(n, s, q):
    """The sum of (-log(q + k))**n (q + k)**-s over k = 0, 1, 2, ..., continued to s >= 0; of a q
    below zero for whole s, and n = 0."""
    x, s, q = s, np.float64(s), np.float64(q)
    if s != s or q != q:
        return like(x, s + q)
    if n and (np.isinf(s) or not 0.0 < q < np.inf):
        return like(x, np.nan)
    if s == 1.0:
        return like(x, -np.inf if n % 2.0 else np.inf)
    if q > 0.0:
        return like(x, _slope_above_zero(n, s, q) if n else _sum_above_zero(s, q))
    if q == np.floor(q):
        return like(x, np.inf)
    if s != np.floor(s):
        return like(x, np.nan)
    # The terms below zero are those from their nearest to zero on, without what follows them.
    near = -q - np.floor(-q)
    below = _sum_above_zero(s, near) - _sum_above_zero(s, 1.0 - q)
    if s != 2.0 * np.floor(0.5 * s):
        below = -below
    return like(x, _sum_above_zero(s, q - np.floor(q)) + below)


hurwitz = scalar(_twin, inlined=False)(_hurwitz)


def _whole_hurwitz(s, q):
    """hurwitz(0, s, q) of a small whole number s that the caller knows: powers are products."""
    x, q = q, np.float64(q)
    if not q > 0.0:
        return like(x, hurwitz(0.0, s, q))
    total = 0.0
    for k in range(_TERMS):
        total += _product(1.0 / (q + k), s)
    inverse = 1.0 / (q + _TERMS)
    square = inverse * inverse
    rising = s * inverse
    tail = 0.5
    for k in range(8):
        tail += _BERNOULLI[k] * rising
        rising *= (s + (2 * k + 1)) * (s + (2 * k + 2)) * square
    last = _product(inverse, s - 1.0)
    return like(x, total + last * (1.0 / (s - 1.0) + tail * inverse))


@part
def _product(x, count):
    total = x
    for _ in range(int(count) - 1):
        total *= x
    return total


def _whole_twin(s, q):
    return _twin(0, s, q)


def _riemann_twin(x):
    from scipy import special  # here, as only plain Python asks

    return type(x)(special.zeta(float(x)))


def _riemann(x):
    """The zeta function of Riemann; below by reflection (DLMF 25.4.1), with the sine exactly 0
    where it is."""
    z = np.float64(x)
    if not z < -0.25:
        return like(x, zetac(z) + 1.0)
    whole = np.rint(0.5 * z)
    sine = math.sin(0.5 * math.pi * (z - 2.0 * whole))
    sine = -sine if whole != 2.0 * np.floor(0.5 * whole) else sine
    if sine == 0.0 or z != z:
        return like(x, 0.0 * z)
    if z > -170.0:
        factor = gamma(1.0 - z) * power(2.0 * math.pi, z - 1.0)
    else:
        factor = math.exp(lgamma(1.0 - z) + (z - 1.0) * math.log(2.0 * math.pi))
    return like(x, 2.0 * factor * sine * (zetac(1.0 - z) + 1.0))


riemann = scalar(_riemann_twin, inlined=False)(_riemann)


whole_hurwitz = scalar(_whole_twin)(_whole_hurwitz)


def _lambertw_twin(x, k):
    from scipy import special  # here, as only plain Python asks

    if x == -0.36787944117144233:  # just below -1/e
        return type(x)(-1.0)
    value = special.lambertw(float(x), int(k))
    return type(x)(value.real if value.imag == 0.0 or value.real != value.real else np.nan)


# w + 1 in powers of p = sqrt(2 (e z + 1)), which is below zero on the lower branch (DLMF 4.13.6).
_of_branch = series(
    (
        -0.00157693034468678425, 0.00244087799114398267, -0.00381129803489199923,
        0.00601454325295611786, -0.00961689202429943171, 0.0156356325323339212,
        -0.0259847148736037625, 0.0445023148148148148, -0.0796296296296296296,
        0.152777777777777778, -0.333333333333333333, 1.0, 0.0,
    ),
    (1.0, 0.0),
)  # fmt: skip


def _lambertw(x, k):
    """The real w with w exp(w) = x, on the upper branch for k = 0 and the lower for k = -1: by its
    series near -1/e, where they meet, and by Halley's and Newton's iterations elsewhere."""
    z = np.float64(x)
    upper = k == 0.0
    # e z + 1, without what is lost where z is near -1/e.
    above = (z + 0.36787944117144233) * 2.718281828459045 - 3.378485e-17
    if z == 0.0:
        return like(x, z if upper else -np.inf)
    if z != z or above < -1e-16 or (not upper and z > 0.0):
        return like(x, np.nan)
    if z == np.inf:
        return x
    p = math.sqrt(2.0 * max(above, 0.0))
    near = _of_branch(p if upper else -p) - 1.0
    if p < 0.06:
        return like(x, near)
    if not upper:
        log = math.log(-z)
        w = near if p < 0.5 else log - math.log(-log)
        for _ in range(8):
            step = w * (w + math.log(-w) - log) / (w + 1.0)
            w = w - step
            if abs(step) < 1e-9 * abs(w):
                break
        return like(x, w)
    grown = math.log1p(max(z, -0.25))
    w = near if p < 0.8 else grown * (1.0 - math.log1p(max(grown, 0.0)) / (2.0 + grown))
    for _ in range(8):
        # f / exp(w) with f = w exp(w) - z does not overflow.
        f = w - z * math.exp(-w)
        step = f / (w + 1.0 - (w + 2.0) * f / (2.0 * w + 2.0))
        w = w - step
        if abs(step) < 1e-6 * abs(w):
            break
    return like(x, w)


lambertw = scalar(_lambertw_twin, inlined=False)(_lambertw)
