"""The gamma function and its kin."""

import math

import numpy as np

from ..core.array import apply, implements
from ..core.primitive import bind
from ..kernels import shapes
from .families import elementwise, positive

# -- logarithms of the gamma function and their derivatives ---------------------------------------


def _polygamma_body(*, n: int) -> str:
    """n! times the sum of (x + k)**-(n + 1), with its sign."""
    sign = "" if n % 2 else "-"
    return f"{sign}{float(math.factorial(n))} * hurwitz({n + 1}.0, x)" if n else "digamma(x)"


def _polygamma(x, *, n):
    from scipy.special import polygamma  # here, as only tests ask

    return polygamma(n, x).astype(x.dtype)


gammaln_row = elementwise(
    None, "lgamma(x)", [lambda x, out: digamma(x)], domains=[positive], name="gammaln",
    reference="scipy.special.gammaln",
    notes="log of the absolute value; inf at 0 and the negative integers",
)  # fmt: skip
loggamma_row = elementwise(
    None, "select(x < 0.0, nan, lgamma(x))", [lambda x, out: np.where(x < 0, np.nan, digamma(x))],
    domains=[positive], name="loggamma", reference="scipy.special.loggamma",
    notes="real: nan below 0, where `gammaln` is the real part",
)  # fmt: skip
digamma_row = elementwise(
    None, "digamma(x)", [lambda x, out: polygamma(1, x)], domains=[positive], name="digamma",
    reference="scipy.special.psi",
)  # fmt: skip
polygamma_row = elementwise(
    None, _polygamma_body, [lambda x, out, n: polygamma(n + 1, x)], domains=[positive],
    name="polygamma", params=[{"n": n} for n in (1, 2, 5)], reference=_polygamma,
    spelling="`nbgrad.special.polygamma`", notes="derivative of digamma, n times",
)  # fmt: skip


@implements("scipy.special.gammaln")
def gammaln(x):
    """log(abs(gamma(x))), elementwise; its derivative is `digamma(x)`.

    >>> float(nbgrad.special.gammaln(5.0))  # log(24)
    3.178053830347946
    """
    return apply(gammaln_row, x)


@implements("scipy.special.loggamma")
def loggamma(z):
    """log(gamma(z)) of real numbers, elementwise: nan below 0. Its derivative is `digamma(z)`."""
    return apply(loggamma_row, z)


@implements("scipy.special.psi")
def digamma(x):
    """The derivative of log(gamma(x)), elementwise; its own derivative is `polygamma(1, x)`.

    >>> float(nbgrad.special.digamma(1.0))
    -0.5772156649015329
    """
    return apply(digamma_row, x)


psi = digamma


def polygamma(n: int, x):
    """The derivative of order n + 1 of log(gamma(x)), elementwise.

    `n` is a whole number, not an array. Raises TypeError for another, ValueError below 0.

    >>> float(nbgrad.special.polygamma(1, 1.0))  # pi**2 / 6
    1.6449340668482266
    """
    n = shapes.whole(n, "polygamma: n")
    if n < 0:
        raise ValueError(f"polygamma: n is {n}, and must be 0 or more")
    return digamma(x) if n == 0 else apply(polygamma_row, x, n=n)


# -- the beta function ----------------------------------------------------------------------------

betaln_row = elementwise(
    None, "betaln(x, y)",
    [lambda x, y, out: digamma(x) - digamma(x + y), lambda x, y, out: digamma(y) - digamma(x + y)],
    domains=[positive, positive], name="betaln", reference="scipy.special.betaln",
)  # fmt: skip


@implements("scipy.special.betaln")
def betaln(a, b):
    """log(abs(beta(a, b))), elementwise.

    >>> float(nbgrad.special.betaln(2.0, 3.0))  # log(1 / 12)
    -2.4849066497880004
    """
    return bind(betaln_row, a, b)
