"""Incomplete gamma and beta functions: derivatives in their parameters, over the density.

For P(a, x), the distribution function of the gamma distribution with density f, the functions give
dP/da / f and its like. Series of positive terms below the mean, a continued fraction or the series
of the other tail above it (DLMF 8.7.3, 8.9.2, 8.17.8), with derivatives term by term. They are
implicit slopes of quantiles: -dP/da / f is dx/da at a constant P (Figurnov, Mohamed, Mnih: Implicit
reparameterization gradients, 2018).
"""

import math

import numpy as np

from ...compiler.kernel import part
from .bits import like, scalar
from .library import of_scipy
from .loggamma import digamma, lgamma

__all__ = [
    "beta_parts",
    "betaincinv",
    "binomial_quantile",
    "gamma_parts",
    "gammaincinv",
    "poisson_quantile",
]  # fmt: skip

gammaincinv, betaincinv = of_scipy("gammaincinv", 2), of_scipy("betaincinv", 3)
gammaincc, betainc, ndtri = of_scipy("gammaincc", 2), of_scipy("betainc", 3), of_scipy("ndtri")
_MOST = 1_000_000  # terms


@part
def _trigamma(x):
    """The derivative of digamma for x > 0: its recurrence up to 10, then an asymptotic series."""
    total = 0.0
    while x < 10.0:
        total += 1.0 / (x * x)
        x += 1.0
    y = 1.0 / (x * x)
    tail = 1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * (5.0 / 66.0 - y * 691.0 / 2730.0)))
    return total + (1.0 + 0.5 / x + y * (1.0 / 6.0 - y * tail)) / x


def _gamma_parts(n, a, x):
    """The n-th derivative of P(a, x) in a over the density, n = 1 or 2."""
    kind, a, x = x, np.float64(a), np.float64(x)
    if not (a > 0.0 and 0.0 <= x < np.inf):
        return like(kind, np.nan)
    if x == 0.0:
        return like(kind, 0.0)
    below = x < a + 1.0
    # Below, 1 / a and its square are left out of digamma, trigamma and sums: they cancel.
    log, curve = math.log(x) - digamma(a + below), _trigamma(a + below)
    if below:
        # P / f is the sum of x**(k + 1) / (a (a + 1) ... (a + k)).
        term, h, squares = x / a, 0.0, 0.0
        value, first, second = term, 0.0, 0.0
        for k in range(1, _MOST):
            step = 1.0 / (a + k)
            term *= x * step
            h += step
            squares += step * step
            more = term * (h * h + squares)
            value += term
            first -= term * h
            second += more
            if more < 1e-17 * second:
                break
    else:
        # Q / f is x times a continued fraction, whose convergents are A / B.
        b = x + 1.0 - a
        a0, b0, a1, b1 = 0.0, 1.0, 1.0, b
        da0, db0, da1, db1 = 0.0, 0.0, 0.0, -1.0
        dda0, ddb0, dda1, ddb1 = 0.0, 0.0, 0.0, 0.0
        value = first = second = 0.0
        for k in range(1, _MOST):
            scale = 1.0 / abs(b1)
            a0, b0, a1, b1 = a0 * scale, b0 * scale, a1 * scale, b1 * scale
            da0, db0, da1, db1 = da0 * scale, db0 * scale, da1 * scale, db1 * scale
            dda0, ddb0, dda1, ddb1 = dda0 * scale, ddb0 * scale, dda1 * scale, ddb1 * scale
            old, older, c = second, first, a1 / b1
            value = c
            first = (da1 - c * db1) / b1
            second = (dda1 - 2.0 * first * db1 - c * ddb1) / b1
            # Rounding keeps each of them from standing still.
            error = abs(second - old) + abs(first - older)
            if k > 2 and error <= 1e-15 * (abs(second) + abs(first) + abs(c)):
                break
            p = -k * (k - a)
            b += 2.0
            a0, a1, da0, da1, dda0, dda1 = (
                a1, b * a1 + p * a0,
                da1, b * da1 - a1 + p * da0 + k * a0,
                dda1, b * dda1 - 2.0 * da1 + p * dda0 + 2.0 * k * da0,
            )  # fmt: skip
            b0, b1, db0, db1, ddb0, ddb1 = (
                b1, b * b1 + p * b0,
                db1, b * db1 - b1 + p * db0 + k * b0,
                ddb1, b * ddb1 - 2.0 * db1 + p * ddb0 + 2.0 * k * db0,
            )  # fmt: skip
        value, first, second = -x * value, -x * first, -x * second
    if n == 1.0:
        return like(kind, value * log + first)
    return like(kind, value * (log * log - curve) + 2.0 * first * log + second)


def _beta_parts(n, m, a, b, x):
    """The derivative of I_x(a, b), n times in a and m times in b, over the density; n + m <= 2."""
    kind, a, b, x = x, np.float64(a), np.float64(b), np.float64(x)
    if not (a > 0.0 and b > 0.0 and 0.0 <= x <= 1.0):
        return like(kind, np.nan)
    y = 1.0 - x
    if x == 0.0 or y == 0.0:
        return like(kind, 0.0)
    # Of 1 - I_y(b, a) above the mean.
    sign = 1.0
    if x * (a + b) > a or (b < 1.0 and a * y < 3.0 and y < 0.01):
        a, b, x, y, n, m, sign = b, a, y, x, m, n, -1.0
    # I / f is y / a times the sum of (a + b)_k / (a + 1)_k x**(k + 1). The derivatives of 1 / a
    # cancel with digamma(a) - digamma(a + 1).
    term, up, down, ups, downs = x * y / a, 0.0, 0.0, 0.0, 0.0
    value = of_a = of_b = twice = 0.0
    for k in range(_MOST):
        slope = up - down
        value += term
        of_a += term * slope
        of_b += term * up
        if n == 2.0:
            more = term * (slope * slope - ups + downs)
        elif m == 2.0:
            more = term * (up * up - ups)
        else:
            more = term * (slope * up - ups)
        twice += more
        if (
            k > 2
            and term < 1e-17 * value
            and term * (slope * slope + up * up + ups + downs) < (1e-17 * (abs(twice) + value))
        ):
            break
        one, other = 1.0 / (a + b + k), 1.0 / (a + 1.0 + k)
        up += one
        down += other
        ups += one * one
        downs += other * other
        term *= (a + b + k) * other * x
    both = digamma(a + b)
    la, lb = math.log(x) - digamma(a + 1.0) + both, math.log(y) - digamma(b) + both
    if n + m == 1.0:
        return like(kind, sign * (value * la + of_a if n == 1.0 else value * lb + of_b))
    curve = _trigamma(a + b)
    if n == 2.0:
        total = value * (la * la + curve - _trigamma(a + 1.0)) + 2.0 * of_a * la + twice
    elif m == 2.0:
        total = value * (lb * lb + curve - _trigamma(b)) + 2.0 * of_b * lb + twice
    else:
        total = value * (la * lb + curve) + of_a * lb + of_b * la + twice
    return like(kind, sign * total)


def _poisson_quantile(mean, u):
    """The least k with P(X <= k) >= u of the Poisson distribution: from a guess by the normal
    distribution, step by step."""
    kind, mean, u = u, np.float64(mean), np.float64(u)
    if not (0.0 <= mean < np.inf and 0.0 <= u < 1.0):
        return like(kind, np.nan)
    if mean == 0.0:
        return like(kind, 0.0)
    k = 0.0
    if mean > 10.0:
        z = ndtri(max(u, 1e-300))
        k = max(np.floor(mean + math.sqrt(mean) * z + (z * z - 1.0) / 6.0), 0.0)
    term = math.exp(k * math.log(mean) - mean - lgamma(k + 1.0))
    below = gammaincc(k + 1.0, mean)
    for _ in range(_MOST):  # down while the number below is large enough, too
        if not (k > 0.0 and below - term >= u):
            break
        below -= term
        term *= k / mean
        k -= 1.0
    for _ in range(_MOST):
        if below >= u or (term < 1e-18 and k > mean):
            break
        k += 1.0
        term *= mean / k
        below += term
    return like(kind, k)


def _binomial_quantile(n, p, u):
    """The least k with P(X <= k) >= u of the binomial distribution, found like that of the Poisson
    distribution."""
    kind, n, p, u = u, np.float64(n), np.float64(p), np.float64(u)
    if not (0.0 <= n < np.inf and 0.0 <= p <= 1.0 and 0.0 <= u < 1.0):
        return like(kind, np.nan)
    if n == 0.0 or p == 0.0 or p == 1.0:
        return like(kind, n if p == 1.0 else 0.0)
    k, odds, mean = 0.0, p / (1.0 - p), n * p
    if mean > 10.0:
        z = ndtri(max(u, 1e-300))
        skew = (1.0 - 2.0 * p) * (z * z - 1.0) / 6.0
        k = np.floor(mean + math.sqrt(mean * (1.0 - p)) * z + skew)
        k = min(max(k, 0.0), n - 1.0)
    choices = lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0)
    term = math.exp(choices + k * math.log(p) + (n - k) * math.log1p(-p))
    below = betainc(n - k, k + 1.0, 1.0 - p)
    for _ in range(_MOST):
        if not (k > 0.0 and below - term >= u):
            break
        below -= term
        term *= k / ((n - k + 1.0) * odds)
        k -= 1.0
    for _ in range(_MOST):
        if below >= u or k >= n or (term < 1e-18 and k > mean):
            break
        term *= (n - k) / (k + 1.0) * odds
        k += 1.0
        below += term
    return like(kind, k)


def _plain(function):
    """The function in plain Python, in the dtype of its last argument."""
    return lambda *args: type(args[-1])(function(*args))


gamma_parts = scalar(_plain(_gamma_parts), inlined=False)(_gamma_parts)
beta_parts = scalar(_plain(_beta_parts), inlined=False)(_beta_parts)
poisson_quantile = scalar(_plain(_poisson_quantile), inlined=False)(_poisson_quantile)
binomial_quantile = scalar(_plain(_binomial_quantile), inlined=False)(_binomial_quantile)
