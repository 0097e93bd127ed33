"""The gamma, beta, polygamma and zeta functions."""

# Partials call the functions that they decorate.
# pyright: reportGeneralTypeIssues=false

import math
from typing import Any

import numpy as np

from ...core.array import apply
from ...core.primitive import bind
from ...errors import ArgumentError, NoRuleError
from ...kernels import shapes
from ..families import above_one, elementwise, positive, scipy_function

_LOG_2PI = math.log(2 * math.pi)

# -- logarithms of the gamma function and their derivatives ---------------------------------------


def _polygamma_body(*, n: int) -> str:
    """n! times the sum of (x + k)**-(n + 1), with its sign."""
    sign = "" if n % 2 else "-"
    zeta = f"whole_hurwitz({n + 1}.0, x)" if n <= 8 else f"hurwitz(0.0, {n + 1}.0, x)"
    return f"{sign}{float(math.factorial(n))} * {zeta}"


def _polygamma(x, *, n):
    from scipy.special import polygamma  # imported by tests only

    return polygamma(n, x).astype(x.dtype)


polygamma_row = elementwise(
    None, _polygamma_body, [lambda x, out, n: polygamma(n + 1, x)], domains=[positive],
    name="polygamma", params=[{"n": n} for n in (1, 2)], reference=_polygamma,
    spelling="`nbgrad.special.polygamma`", notes="derivative of digamma, n times",
)  # fmt: skip


def _gammaln(x):
    from scipy.special import gammaln  # imported by tests only

    subnormal = (x > 0) & (x < np.finfo(x.dtype).tiny)  # where SciPy's is inf
    return np.where(subnormal, -np.log(x), gammaln(x))


@scipy_function(
    "lgamma(x)", positive, lambda x, out: digamma(x), reference=_gammaln,
    spelling="`scipy.special.gammaln`",
    notes="log of the absolute value; inf at 0 and the negative integers, where its derivative is "
    "-inf and nan",
)  # fmt: skip
def gammaln(x) -> Any:
    """log(abs(gamma(x))), elementwise; its derivative is `digamma(x)`.

    >>> round(float(nbgrad.special.gammaln(5.0)), 12)  # log(24)
    3.178053830348
    """


@scipy_function(
    "select(x < 0.0, nan, lgamma(x))", positive,
    lambda x, out: np.where(x < 0, np.nan, digamma(x)),
    reference=lambda x: np.where(x < 0, np.nan, _gammaln(x)), spelling="`scipy.special.loggamma`",
    notes="real: nan below 0, where `gammaln` is the real part",
)  # fmt: skip
def loggamma(z) -> Any:
    """log(gamma(z)) of real numbers, elementwise: nan below 0. Its derivative is `digamma(z)`.

    >>> round(float(nbgrad.special.loggamma(5.0)), 6)
    3.178054
    """


@scipy_function(
    "digamma(x)", positive, lambda x, out: polygamma(1, x), of="psi",
    notes="-inf at 0, nan at the negative integers",
)  # fmt: skip
def digamma(x) -> Any:
    """The derivative of log(gamma(x)), elementwise; its own derivative is `polygamma(1, x)`.

    >>> round(float(nbgrad.special.digamma(1.0)), 12)
    -0.577215664902
    """


psi = digamma


def polygamma(n: int, x):
    """The derivative of order n + 1 of log(gamma(x)), elementwise.

    `n` must be an integer, not an array. Raises TypeError otherwise, ValueError if it is negative.

    >>> round(float(nbgrad.special.polygamma(1, 1.0)), 12)  # pi**2 / 6
    1.644934066848
    """
    n = shapes.whole(n, "polygamma: n")
    if n < 0:
        raise ArgumentError(f"polygamma: n is {n}, and must be 0 or more")
    return digamma(x) if n == 0 else apply(polygamma_row, x, n=n)


# -- gamma and beta functions ---------------------------------------------------------------------


@scipy_function(
    "gamma(x)", positive, lambda x, out: out * digamma(x),
    notes="nan at the negative integers, and their slope",
)  # fmt: skip
def gamma(z) -> Any:
    """The gamma function of real numbers, elementwise.

    >>> float(nbgrad.special.gamma(5.0))
    24.0
    """


@scipy_function(
    "rgamma(x)", positive, lambda x, out: -out * digamma(x),
    notes="0 at the poles of gamma, where its derivative is nan",
)  # fmt: skip
def rgamma(z) -> Any:
    """1 / gamma(z), elementwise: 0 at the poles of gamma, where its derivative is nan.

    >>> float(nbgrad.special.rgamma(3.0))
    0.5
    """


@scipy_function(
    "beta(x, y)", [positive, positive],
    lambda x, y, out: out * (digamma(x) - digamma(x + y)),
    lambda x, y, out: out * (digamma(y) - digamma(x + y)),
)  # fmt: skip
def beta(a, b) -> Any:
    """gamma(a) gamma(b) / gamma(a + b), elementwise.

    >>> round(float(nbgrad.special.beta(2.0, 3.0)), 6)
    0.083333
    """


@scipy_function(
    "betaln(x, y)", [positive, positive],
    lambda x, y, out: digamma(x) - digamma(x + y), lambda x, y, out: digamma(y) - digamma(x + y),
)  # fmt: skip
def betaln(a, b) -> Any:
    """log(abs(beta(a, b))), elementwise.

    >>> round(float(nbgrad.special.betaln(2.0, 3.0)), 12)  # log(1 / 12)
    -2.484906649788
    """


# -- zeta -----------------------------------------------------------------------------------------


def _zeta_in_q(s, q, out, n):
    steps = zeta_row_of(s + 1, q, n)
    return -s * steps - n * zeta_row_of(s + 1, q, n - 1) if n else -s * steps


def _zeta(s, q, *, n):
    dtype = np.result_type(s, q)
    if n:
        import mpmath  # imported by tests only

        def slope(s, q):
            if s == 1:
                return (-1) ** n * np.inf
            if not (-0.25 <= s < np.inf and 0 < q < np.inf):
                return np.nan
            digits = s * np.log10(max(q, 1.0))
            if digits > 330 or s > 1e3:
                return (-np.log(q)) ** n * np.power(q, -s)
            with mpmath.workdps(30 + int(digits)):
                return float(mpmath.zeta(s, q, n))

        slopes = np.vectorize(slope, otypes=[float])
        return slopes(np.asarray(s, float), np.asarray(q, float)).astype(dtype)
    from scipy.special import zeta  # imported by tests only

    # SciPy's function is nan where 1 / q**s is 0, and inf for nan at its poles.
    value = np.where(np.isnan(s) | np.isnan(q), np.nan, zeta(np.minimum(s, 1e4), q))
    return value.astype(dtype)


def _zeta_above_one(s, q, *, n):
    return _zeta(np.where(s < 1, np.nan, s), q, n=n).astype(np.result_type(s, q))


def _riemann(s, *, n):
    from scipy.special import zeta  # imported by tests only

    if n:
        return _zeta(s, np.ones_like(s), n=n)
    return zeta(s).astype(s.dtype)


zeta_row = elementwise(
    None,
    lambda n: f"select(x > 1.0, hurwitz({n}.0, x, y), select(x == 1.0, {'-' * (n % 2)}inf, nan))",
    [lambda s, q, out, n: zeta_row_of(s, q, n + 1), _zeta_in_q],
    domains=[above_one, positive], name="zeta", params=[{"n": n} for n in (0, 1)],
    reference=_zeta_above_one,
    spelling="`scipy.special.zeta`", notes="its derivative in the exponent, n times, up to 15",
)  # fmt: skip


def _riemann_body(*, n: int) -> str:
    return f"select(x < -0.25, nan, hurwitz({n}.0, x, 1.0))" if n else "riemann(x)"


def _riemann_slope(s, out, n):
    """The derivative of order n + 1; of the function itself by reflection below 0 (DLMF 25.4.1)."""
    if n:
        return riemann_row_of(s, n + 1)
    reflects = s < -0.25
    below = np.where(reflects, s, -1.0)
    sine, cosine = np.sin(0.5 * math.pi * below), np.cos(0.5 * math.pi * below)
    scale = 2 * np.exp(gammaln(1 - below) + (below - 1) * _LOG_2PI)
    angle = (_LOG_2PI - digamma(1 - below)) * sine + 0.5 * math.pi * cosine
    turned = angle * riemann_row_of(1 - below, 0) - sine * riemann_row_of(1 - below, 1)
    return np.where(reflects, scale * turned, riemann_row_of(np.where(reflects, 0.5, s), 1))


riemann_row = elementwise(
    None, _riemann_body, [_riemann_slope], domains=[above_one], name="riemann_zeta",
    params=[{"n": n} for n in (0, 1)], reference=_riemann, spelling="`scipy.special.zeta`",
    notes="its derivative n times, up to 15, and from the second on nan below -1/4",
    slow="the pullback sums ten powers, where the value has a table",
)  # fmt: skip


# Limited by the kernel, which holds this many powers of a logarithm.
_MOST_SLOPES = 15


def _require_order(n: int) -> int:
    if n > _MOST_SLOPES:
        raise NoRuleError(f"zeta: its slope in the exponent is known up to order {_MOST_SLOPES}")
    return n


def zeta_row_of(s, q, n: int):
    return bind(zeta_row, s, q, n=_require_order(n))


def riemann_row_of(s, n: int):
    return bind(riemann_row, s, n=_require_order(n))


def zeta(x, q=None):
    """The sum of (q + k)**-x over k = 0, 1, 2, ..., elementwise, for x > 1; without `q`, the
    Riemann zeta function of any x.

    >>> round(float(nbgrad.special.zeta(2.0)), 12)  # pi**2 / 6
    1.644934066848
    """
    return riemann(x) if q is None else zeta_row_of(x, q, 0)


def riemann(x):
    """The Riemann zeta function, elementwise."""
    return riemann_row_of(x, 0)
