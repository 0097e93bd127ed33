"""Special functions: SciPy's own, and those that it has no pointers to."""

import numpy as np

from ..jit.kernel import DISABLED, device, with_twin
from .bits import like
from .library import of_scipy
from .power import power

__all__ = ["betaln", "digamma", "erfcx", "hurwitz", "jv", "lgamma", "log_ndtr", "ndtr"]

digamma, lgamma, erfcx = of_scipy("psi"), of_scipy("gammaln"), of_scipy("erfcx")
ndtr, log_ndtr = of_scipy("ndtr"), of_scipy("log_ndtr")
betaln, jv = of_scipy("betaln", 2), of_scipy("jv", 2)


def _twin(s, q):
    from scipy import special  # here, as only plain Python asks

    return type(q)(special.zeta(float(s), float(q)))


@device
def _above_zero(s, q):
    """The sum of (q + k)**-s by Euler and Maclaurin, for q > 0 (DLMF 25.11.5 with ten terms)."""
    terms = 10.0
    total = 0.0
    for k in range(10):
        total += power(q + k, -s)
    a = q + terms
    bounded = min(s, 1e10)  # beyond, the tail is nothing
    square = 1.0 / (a * a)
    rising = bounded * square
    tail = 1.0 / (bounded - 1.0) + 0.5 / a
    for k in range(12):
        tail += _BERNOULLI[k] * rising
        rising *= (bounded + (2 * k + 1)) * (bounded + (2 * k + 2)) * square
    last = power(a, 1.0 - s)
    return total + (last * tail if last > 0.0 else 0.0)


# B(2k) / (2k)!, for k = 1, 2, ...
_BERNOULLI = (
    0.08333333333333333, -0.001388888888888889, 3.306878306878307e-05, -8.267195767195768e-07,
    2.08767569878681e-08, -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13,
    8.586062056277845e-15, -2.174868698558062e-16, 5.5090028283602295e-18, -1.3954464685812522e-19,
)  # fmt: skip


def _hurwitz(s, q):
    """The sum of (q + k)**-s over k = 0, 1, 2, ..., for s > 1; of a q below zero for whole s."""
    x, s, q = q, np.float64(s), np.float64(q)
    if s != s or q != q:
        return like(x, s + q)
    if s <= 1.0:
        return like(x, np.inf if s == 1.0 else np.nan)
    if q > 0.0:
        return like(x, _above_zero(s, q))
    if q == np.floor(q):
        return like(x, np.inf)
    if s != np.floor(s):
        return like(x, np.nan)
    # The terms below zero are those from their nearest to zero on, without what follows them.
    near = np.floor(q) - q + 1.0
    below = _above_zero(s, near) - _above_zero(s, 1.0 - q)
    if s != 2.0 * np.floor(0.5 * s):
        below = -below
    return like(x, _above_zero(s, q - np.floor(q)) + below)


hurwitz = _twin if DISABLED else with_twin(device(_hurwitz), _twin)
