"""Arguments of interpolators: floats, axes, and conditions on their values."""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...core.assertions import require
from ...core.primitive import shape_of
from ...errors import ComplexError, DimensionMismatch, require_unmasked
from ...rules.layout import given
from ...rules.select import are_whole


def floats(x: Any, what: str) -> Any:
    """An array of float64. Raises ComplexError, which is a TypeError, for complex numbers."""
    x = given(x)
    require_unmasked(x, what)
    if x.dtype.kind not in "biuf":
        raise ComplexError(f"{what} has the dtype {x.dtype}; it must be an array of real numbers")
    return x if x.dtype == np.float64 else x.astype(np.float64)


def prepared(op: str, x: Any, y: Any, axis: int, slopes: Any = None) -> tuple:
    """The points x, the values with their axis first, and the axis, checked as SciPy does."""
    x, y = floats(x, f"{op}: x"), floats(y, f"{op}: y")
    if not shape_of(y):
        raise DimensionMismatch(f"{op}: `y` is one number; it needs an axis as long as `x`")
    axis = normalize_axis_index(axis, len(shape_of(y)))
    if len(shape_of(x)) != 1:
        raise DimensionMismatch(f"{op}: `x` must be 1-dimensional, not of shape {shape_of(x)}")
    if shape_of(x)[0] < 2:
        raise DimensionMismatch(f"{op}: `x` must contain at least 2 elements")
    if slopes is not None:
        slopes = floats(slopes, f"{op}: dydx")
        if shape_of(slopes) != shape_of(y):
            raise DimensionMismatch(
                f"{op}: the shapes of `y` and `dydx`, {shape_of(y)} and {shape_of(slopes)}, must "
                "be identical"
            )
        slopes = np.moveaxis(slopes, axis, 0)
    if shape_of(x)[0] != shape_of(y)[axis]:
        raise DimensionMismatch(
            f"{op}: the length of `y`, of shape {shape_of(y)}, along axis={axis} doesn't match the "
            f"length of `x`, {shape_of(x)[0]}"
        )
    for name, values in (("x", x), ("y", y), ("dydx", slopes)):
        if values is not None:
            require(np.all(np.isfinite(values)), f"{op}: `{name}` must contain only finite values")
    require(np.all(x[1:] > x[:-1]), f"{op}: `x` must be strictly increasing sequence")
    return x, np.moveaxis(y, axis, 0), axis, slopes


def column(x: Any, ndim: int) -> Any:
    """A vector along the first of `ndim` axes."""
    return np.reshape(x, (-1, *(1,) * (ndim - 1))) if ndim > 1 else x


def places(x: Any, q: Any, low: int, high: int) -> Any:
    """The index of the interval of each q in the sorted x, from `low` to `high`: the one that
    begins at q if q is a point."""
    return np.minimum(np.maximum(np.searchsorted(x, q, "right") - 1, low), high)


def laid_out(out: Any, shape: tuple[int, ...], axis: int) -> Any:
    """The values (queries, ...) with the axes of the queries, of `shape`, at `axis`."""
    rest = shape_of(out)[1:]
    out = np.reshape(out, (*shape, *rest))
    n = len(shape)
    order = (*range(n, n + axis), *range(n), *range(n + axis, n + len(rest)))
    return out if order == tuple(range(len(order))) else np.transpose(out, order)


def queries(op: str, x: Any) -> Any:
    """Points at which an interpolator is evaluated."""
    x = given(x)
    return floats(np.asarray(x, np.float64) if are_whole(x) else x, f"{op}: x")
