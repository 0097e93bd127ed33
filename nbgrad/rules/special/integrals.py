"""Exponential integrals, Lambert's function, the zeta function, and powers as transformations."""

import numpy as np

from ...core.array import apply, implements
from ...errors import NoRuleError
from ..families import Interval, elementwise, positive

# -- exponential integrals ------------------------------------------------------------------------

exp1_row = elementwise(
    None, "exp1(x)", [lambda x, out: np.where(x < 0, np.nan, -np.exp(-x) / x)], domains=[positive],
    name="exp1", reference="scipy.special.exp1", notes="nan below 0, where it is complex",
)  # fmt: skip
expi_row = elementwise(
    None, "expi(x)", [lambda x, out: np.exp(x) / x], domains=[positive], name="expi",
    reference="scipy.special.expi", notes="-inf at 0, with derivative inf from the right",
)  # fmt: skip


@implements("scipy.special.exp1")
def exp1(z):
    """The integral of exp(-t) / t from z to infinity, elementwise, of real numbers."""
    return apply(exp1_row, z)


@implements("scipy.special.expi")
def expi(x):
    """The integral of exp(t) / t from -infinity to x, elementwise: the principal value."""
    return apply(expi_row, x)


# -- Lambert's function ---------------------------------------------------------------------------


def _lambertw(x, *, k):
    from scipy.special import lambertw  # here, as only tests ask

    value = lambertw(x, k)
    return np.where(value.imag == 0, value.real, np.nan).astype(x.dtype)


def _lambertw_slope(x, out, k):
    """exp(-w) / (1 + w), which is w / (x (1 + w)) where exp(-w) overflows."""
    return np.exp(-out) / (1 + out)


lambertw_row = elementwise(
    None, lambda k: f"lambertw(x, {k}.0)", [_lambertw_slope], domains=[Interval(-0.3, -0.1)],
    name="lambertw", params=[{"k": 0}, {"k": -1}], reference=_lambertw,
    spelling="`nbgrad.special.lambertw`", notes="real branches 0 and -1; nan where it is complex",
)  # fmt: skip


def lambertw(z, k: int = 0):
    """The real w with w * exp(w) = z, elementwise: on branch 0, where w >= -1, or on branch -1,
    where w <= -1. It is nan where there is none, and the slope is infinite at -1 / e.

    SciPy's function gives complex numbers. Raises NoRuleError for other branches.

    >>> float(nbgrad.special.lambertw(np.e))
    1.0
    """
    if k not in (0, -1):
        raise NoRuleError(f"lambertw: branch {k!r} is complex; nbgrad has the real ones, 0 and -1")
    return apply(lambertw_row, z, k=int(k))
