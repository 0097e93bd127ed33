"""Incomplete gamma and beta functions, the distribution functions of gamma and beta draws.

A derivative in a parameter is the density times a slope: of P(a, x) with the density f,
`gamma_slope` is dP/da / f, which is minus dx/da at a constant P, the slope of a quantile (Figurnov,
Mohamed, Mnih: Implicit reparameterization gradients, 2018).
"""

# Partials call the functions that they decorate.
# pyright: reportGeneralTypeIssues=false

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.primitive import bind
from ...errors import NoRuleError
from ..families import Elementwise, Interval, positive, scipy_function
from .entropies import kl_div, xlog1py, xlogy
from .gammas import betaln, digamma, gammaln, polygamma

unit = Interval(0.31, 0.9)

# -- densities ------------------------------------------------------------------------------------

# Stirling's formula in powers of 1 / a**2 (DLMF 5.11.1).
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def _stirling(a):
    """log(gamma(a)) - (a - 1/2) log(a) + a - log(2 pi) / 2, for a > 10."""
    lacking = 0.0
    for number in reversed(_STIRLING):
        lacking = number + lacking / (a * a)
    return lacking / a


def _gamma_density(a, x):
    """x**(a - 1) exp(-x) / gamma(a); by Stirling's formula for large a, where the terms cancel."""
    near = np.exp(xlogy(a - 1, x) - x - gammaln(a))
    large = a > 10
    wide, over = np.where(large, a, 10.0), np.where(x == 0, 1.0, x)
    far = np.sqrt(wide / (2 * math.pi)) * np.exp(-kl_div(wide, x) - _stirling(wide)) / over
    return np.where(x < 0, np.nan, np.where(large, far, near))


def beta_density(a, b, x):
    """x**(a - 1) (1 - x)**(b - 1) / beta(a, b); for large parameters, the larger one is replaced
    by Stirling's formula, and the rest is a gamma density."""
    near = np.exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))
    turned = b > a
    more, less = np.where(turned, b, a), np.where(turned, a, b)
    at, rest = np.where(turned, 1 - x, x), np.where(turned, x, 1 - x)
    large = more > 10
    wide, over = np.where(large, more, 10.0), np.where(at == 0, 1.0, at)
    total = wide + less
    logs = _stirling(total) - _stirling(wide) - kl_div(wide, total * at)
    far = np.sqrt(wide * total) / over * np.exp(logs) * _gamma_density(less, total * rest)
    outside = np.logical_or(x < 0, x > 1)
    return np.where(outside, np.nan, np.where(large, far, near))


# -- slopes in parameters -------------------------------------------------------------------------


class _Slope(Elementwise):
    """A slope in parameters, with no third derivative in them; outside of the registry."""

    registered = False

    def __init__(self, name: str, body: str, *partials: Callable[..., Any]):
        super().__init__(None, body, partials, domains=[positive] * len(partials), name=name)


def _third(*args):
    raise NoRuleError(
        "incomplete gamma and beta functions, and draws by them, have no third derivative in a "
        "parameter of their shape"
    )


def _gamma_log(a, x):
    """The derivative of the logarithm of the density in a."""
    return np.log(x) - digamma(a)


def _gamma_rise(a, x):
    return (a - 1.0) / x - 1.0


gamma_curve = _Slope(
    "gamma_curve", "gamma_parts(2.0, x, y)", _third,
    lambda a, x, out: _gamma_log(a, x) ** 2 - polygamma(1, a) - out * _gamma_rise(a, x),
)  # fmt: skip
gamma_slope = _Slope(
    "gamma_slope", "gamma_parts(1.0, x, y)",
    lambda a, x, out: bind(gamma_curve, a, x) - out * _gamma_log(a, x),
    lambda a, x, out: _gamma_log(a, x) - out * _gamma_rise(a, x),
)  # fmt: skip


def _beta_logs(a, b, x) -> tuple[Any, Any]:
    """The derivatives of the logarithm of the density in a and b."""
    both = digamma(a + b)
    return np.log(x) - digamma(a) + both, np.log1p(-x) - digamma(b) + both


def _beta_slope(n: int, m: int) -> Any:
    """The derivative of I(a, b, x), n times in a and m times in b, over the density."""
    first = n + m == 1

    def of_parameter(at: int) -> Any:
        def partial(a, b, x, out):
            more = beta_slopes[n + (at == 0), m + (at == 1)]
            return bind(more, a, b, x) - out * _beta_logs(a, b, x)[at]

        return partial if first else _third

    def of_x(a, b, x, out):
        logs = _beta_logs(a, b, x)
        if first:
            slope = logs[m]
        else:
            curve = polygamma(1, a + b)
            slope = logs[0 if n else 1] * logs[1 if m else 0] + curve
            slope = slope if n == m else slope - polygamma(1, a if n else b)
        return slope - out * ((a - 1.0) / x - (b - 1.0) / (1.0 - x))

    return _Slope(
        f"beta_slope_{n}{m}", f"beta_parts({n}.0, {m}.0, x, y, z)",
        of_parameter(0), of_parameter(1), of_x,
    )  # fmt: skip


beta_slopes = {pair: _beta_slope(*pair) for pair in ((2, 0), (1, 1), (0, 2), (1, 0), (0, 1))}

# -- functions ------------------------------------------------------------------------------------


def _gamma_in_a(a, x):
    constant = np.logical_or(x == 0, np.isinf(x))  # 0 or 1 for each a
    x = np.where(constant, 1.0, x)
    return np.where(constant, 0.0, _gamma_density(a, x) * bind(gamma_slope, a, x))


def _beta_in(n: int, m: int) -> Callable[..., Any]:
    def partial(a, b, x, out):
        constant = np.logical_or(x == 0, x == 1)
        x = np.where(constant, 0.5, x)
        return np.where(constant, 0.0, beta_density(a, b, x) * bind(beta_slopes[n, m], a, b, x))

    return partial


@scipy_function(
    "gammainc(x, y)", [positive, positive], lambda a, x, out: _gamma_in_a(a, x),
    lambda a, x, out: _gamma_density(a, x), notes="at most two derivatives in a", orders=2,
)  # fmt: skip
def gammainc(a, x) -> Any:
    """The lower incomplete gamma function over gamma(a), elementwise; differentiable in x, and
    twice in a.

    >>> round(float(nbgrad.special.gammainc(1.0, 2.0)), 12)  # 1 - exp(-2)
    0.864664716763
    """


@scipy_function(
    "gammaincc(x, y)", [positive, positive], lambda a, x, out: -_gamma_in_a(a, x),
    lambda a, x, out: -_gamma_density(a, x), notes="at most two derivatives in a", orders=2,
)  # fmt: skip
def gammaincc(a, x) -> Any:
    """1 - gammainc(a, x), elementwise, accurate where that is small.

    >>> round(float(nbgrad.special.gammaincc(2.0, 1.0)), 6)
    0.735759
    """


@scipy_function(
    "betainc(x, y, z)", [positive, positive, unit], _beta_in(1, 0), _beta_in(0, 1),
    lambda a, b, x, out: beta_density(a, b, x), orders=2,
    notes="at most two derivatives in a and b",
)  # fmt: skip
def betainc(a, b, x) -> Any:
    """The incomplete beta function over beta(a, b), elementwise; differentiable in x, and twice in
    a and b.

    >>> float(nbgrad.special.betainc(1.0, 1.0, 0.25))
    0.25
    """
