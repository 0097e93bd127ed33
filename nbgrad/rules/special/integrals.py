"""Exponential integrals and Lambert's W function."""

from typing import Any

import numpy as np

from ...core.array import apply
from ...errors import NoRuleError
from ..families import Interval, elementwise, positive, scipy_function


@scipy_function(
    "exp1(x)", positive, lambda x, out: np.where(x < 0, np.nan, -np.exp(-x) / x),
    notes="nan below 0, where it is complex",
)  # fmt: skip
def exp1(z) -> Any:
    """The integral of exp(-t) / t from z to infinity, elementwise, for real numbers.

    >>> round(float(nbgrad.special.exp1(1.0)), 6)
    0.219384
    """


@scipy_function(
    "expi(x)", positive, lambda x, out: np.exp(x) / x,
    notes="-inf at 0, with derivative inf from the right",
)  # fmt: skip
def expi(x) -> Any:
    """The principal value of the integral of exp(t) / t from -infinity to x, elementwise.

    >>> round(float(nbgrad.special.expi(1.0)), 6)
    1.895118
    """


def _lambertw(x, *, k):
    from scipy.special import lambertw  # imported by tests only

    value = lambertw(x, k)
    return np.where(value.imag == 0, value.real, np.nan).astype(x.dtype)


lambertw_row = elementwise(
    None, lambda k: f"lambertw(x, {k}.0)",
    # w / (x (1 + w)), in a form that does not divide by a small x.
    [lambda x, out, k: np.exp(-out) / (1 + out)], domains=[Interval(-0.3, -0.1)],
    name="lambertw", params=[{"k": 0}, {"k": -1}], reference=_lambertw,
    spelling="`nbgrad.special.lambertw`", notes="real branches 0 and -1; nan where it is complex",
)  # fmt: skip


def lambertw(z, k: int = 0):
    """The real w with w * exp(w) = z, elementwise: w >= -1 on branch 0, w <= -1 on branch -1.

    The value is nan if there is no such w, and the derivative is infinite at -1 / e. SciPy's
    function returns complex numbers. Raises NoRuleError for other branches.

    >>> float(nbgrad.special.lambertw(np.e))
    1.0
    """
    if k not in (0, -1):
        raise NoRuleError(f"lambertw: branch {k!r} is complex; nbgrad has the real ones, 0 and -1")
    return apply(lambertw_row, z, k=int(k))
