"""Reductions and scans that ignore nan, which gets no cotangent."""

from collections.abc import Callable

import numpy as np

from ...core.array import implements
from ...core.primitive import shape_of
from ...kernels import shapes
from .. import reduce
from ..norm import std, var
from ..reduce import chosen, require_float
from ..scans import cumprod, cumsum
from ..select import on_values


def _without(a, number: float):
    """The array with nan replaced by a number."""
    return np.where(np.isnan(a), a.dtype.type(number).item(), a)


def _numbers(a, where):
    """The mask `where` without nan."""
    isnan = np.isnan(a)
    return np.logical_not(isnan) if where is True else np.logical_and(where, np.logical_not(isnan))


@implements(np.nansum)
def nansum(a, axis=None, dtype=None, *, keepdims: bool = False, initial=None, where=True):
    """Sum over `axis`, with nan counted as 0."""
    a = _without(a, 0.0)
    return reduce.sum(a, axis, dtype, keepdims=keepdims, initial=initial, where=where)


@implements(np.nanprod)
def nanprod(a, axis=None, dtype=None, *, keepdims: bool = False, initial=None, where=True):
    """Product over `axis`, with nan counted as 1."""
    a = _without(a, 1.0)
    return reduce.prod(a, axis, dtype, keepdims=keepdims, initial=initial, where=where)


@implements(np.nancumsum)
def nancumsum(a, axis=None, dtype=None):
    """Cumulative sums along `axis`, with nan counted as 0."""
    return cumsum(_without(a, 0.0), axis, dtype)


@implements(np.nancumprod)
def nancumprod(a, axis=None, dtype=None):
    """Cumulative products along `axis`, with nan counted as 1."""
    return cumprod(_without(a, 1.0), axis, dtype)


@implements(np.nanmean)
def nanmean(a, axis=None, dtype=None, *, keepdims: bool = False, where=True):
    """Mean over `axis`, ignoring nan; nan if all elements are."""
    require_float("nanmean", dtype)
    return np.mean(a, axis, dtype, keepdims=keepdims, where=_numbers(a, where))


def _spread(function: Callable, op: str, what: str) -> None:
    def of_numbers(a, axis=None, dtype=None, *, ddof=0, keepdims: bool = False, where=True,
                   mean=None, correction=None):  # fmt: skip
        require_float(op, dtype)
        a, where = chosen(op, a, dtype), _numbers(a, where)
        axis = shapes.axes_of(axis, len(shape_of(a)), op, of_ufunc=True)
        options = {"ddof": ddof, "keepdims": keepdims, "mean": mean, "correction": correction}
        return function(a, axis, where=where, **options)

    of_numbers.__name__ = op
    of_numbers.__doc__ = f"{what} over `axis`, ignoring nan; nan if too few elements are left."
    implements(getattr(np, op))(of_numbers)


_spread(var, "nanvar", "The variance")
_spread(std, "nanstd", "The standard deviation")


def _extreme(extreme: Callable, none: float, op: str) -> Callable:
    def of_numbers(a, axis=None, *, keepdims: bool = False, initial=None, where=True):
        if a.dtype.kind in "iub":
            return extreme(a, axis, keepdims=keepdims, initial=initial, where=where)
        axes = shapes.axes_of(axis, len(shape_of(a)), op, of_ufunc=True)
        out = extreme(_without(a, none), axes, keepdims=keepdims, initial=initial, where=where)
        hidden = np.all(np.isnan(a), axis=axes, keepdims=keepdims)
        return np.where(hidden, np.nan, out) if initial is None else out

    of_numbers.__doc__ = f"np.{op[3:]} over `axis`, ignoring nan; nan if all elements are."
    return of_numbers


implements(np.nanmax)(_extreme(np.max, -np.inf, "nanmax"))
implements(np.nanmin)(_extreme(np.min, np.inf, "nanmin"))
implements(np.nanargmax)(on_values(np.nanargmax))
implements(np.nanargmin)(on_values(np.nanargmin))
