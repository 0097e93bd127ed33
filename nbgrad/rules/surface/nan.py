"""Reductions and scans that pass nan over: it counts as nothing, and gets no cotangent."""

from collections.abc import Callable

import numpy as np

from ...core.array import implements
from ...core.primitive import shape_of
from ...kernels import shapes
from .. import reduce
from ..norm import std, var
from ..reduce import chosen
from ..scans import cumprod, cumsum
from ..select import on_values


def _without(a, number: float):
    """The array with a number in place of each nan."""
    return np.where(np.isnan(a), a.dtype.type(number).item(), a)


def _numbers(a, where):
    """Where numbers are chosen."""
    isnan = np.isnan(a)
    return np.logical_not(isnan) if where is True else np.logical_and(where, np.logical_not(isnan))


@implements(np.nansum)
def nansum(a, axis=None, dtype=None, *, keepdims: bool = False, initial=None, where=True):
    """Sum over `axis`, in which nan is 0."""
    a = _without(a, 0.0)
    return reduce.sum(a, axis, dtype, keepdims=keepdims, initial=initial, where=where)


@implements(np.nanprod)
def nanprod(a, axis=None, dtype=None, *, keepdims: bool = False, initial=None, where=True):
    """Product over `axis`, in which nan is 1."""
    a = _without(a, 1.0)
    return reduce.prod(a, axis, dtype, keepdims=keepdims, initial=initial, where=where)


@implements(np.nancumsum)
def nancumsum(a, axis=None, dtype=None):
    """Running sums, in which nan is 0."""
    return cumsum(_without(a, 0.0), axis, dtype)


@implements(np.nancumprod)
def nancumprod(a, axis=None, dtype=None):
    """Running products, in which nan is 1."""
    return cumprod(_without(a, 1.0), axis, dtype)


@implements(np.nanmean)
def nanmean(a, axis=None, dtype=None, *, keepdims: bool = False, where=True):
    """Mean of the elements over `axis` that are numbers; nan where there are none."""
    return np.mean(a, axis, dtype, keepdims=keepdims, where=_numbers(a, where))


@implements(np.nanvar)
def nanvar(a, axis=None, dtype=None, *, ddof=0, keepdims: bool = False, where=True,
           mean=None, correction=None):  # fmt: skip
    """Variance of the elements over `axis` that are numbers; nan where too few are."""
    a, where = chosen("nanvar", a, dtype), _numbers(a, where)
    axis = shapes.axes_of(axis, len(shape_of(a)), "nanvar", of_ufunc=True)
    return var(a, axis, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction)


@implements(np.nanstd)
def nanstd(a, axis=None, dtype=None, *, ddof=0, keepdims: bool = False, where=True,
           mean=None, correction=None):  # fmt: skip
    """Standard deviation of the elements over `axis` that are numbers; nan where too few are."""
    a, where = chosen("nanstd", a, dtype), _numbers(a, where)
    axis = shapes.axes_of(axis, len(shape_of(a)), "nanstd", of_ufunc=True)
    return std(a, axis, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction)


def _extreme(extreme: Callable, none: float, op: str) -> Callable:
    def of_numbers(a, axis=None, *, keepdims: bool = False, initial=None, where=True):
        if a.dtype.kind in "iub":
            return extreme(a, axis, keepdims=keepdims, initial=initial, where=where)
        axes = shapes.axes_of(axis, len(shape_of(a)), op, of_ufunc=True)
        out = extreme(_without(a, none), axes, keepdims=keepdims, initial=initial, where=where)
        hidden = np.all(np.isnan(a), axis=axes, keepdims=keepdims)
        return np.where(hidden, np.nan, out) if initial is None else out

    of_numbers.__doc__ = (
        f"What np.{op[3:]} gives of the elements over `axis` that are numbers; nan where there are "
        "none."
    )
    return of_numbers


implements(np.nanmax)(_extreme(np.max, -np.inf, "nanmax"))
implements(np.nanmin)(_extreme(np.min, np.inf, "nanmin"))
implements(np.nanargmax)(on_values(np.nanargmax))
implements(np.nanargmin)(on_values(np.nanargmin))
