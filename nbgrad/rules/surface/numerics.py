"""Differences, integrals, interpolation and evenly spaced numbers."""

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ...core.array import Array, implements
from ...core.primitive import shape_of
from ...errors import ArgumentError, ArgumentTypeError, DimensionMismatch, DtypeError, EmptyError
from ...kernels import shapes
from ...runtime.kinds import is_a
from ..dtypes import float_type
from ..layout import given
from ..nondiff import stopped
from ..order import searchsorted
from ..select import diff, take


def _cut(x, axis: int, *bounds):
    return x[(*(slice(None),) * axis, slice(*bounds))]


def _column(x, axis: int, ndim: int):
    """A vector reshaped to lie along `axis`."""
    return np.reshape(x, tuple(-1 if i == axis else 1 for i in range(ndim)))


# -- differences ----------------------------------------------------------------------------------


@implements(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of adjacent elements of the flattened array, with numbers before and after."""
    out = diff(np.reshape(given(ary), -1))
    parts = [None if x is None else np.reshape(given(x), -1) for x in (to_begin, to_end)]
    for name, x in zip(("to_begin", "to_end"), parts, strict=True):
        if x is not None and not np.can_cast(x.dtype, out.dtype, "same_kind"):
            raise DtypeError(f"ediff1d: {name} of dtype {x.dtype} is not that of {out.dtype}")
    parts = [x if x is None else x.astype(out.dtype) for x in parts]
    found = [x for x in (parts[0], out, parts[1]) if x is not None]
    return np.concatenate(found) if len(found) > 1 else out


@implements(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    """Second-order central differences; steps and coordinates have a derivative too."""
    f = given(f)
    if f.dtype.kind in "iu":
        f = f.astype(np.float64)
    shape = shape_of(f)
    n = len(shape)
    axes = range(n) if axis is None else normalize_axis_tuple(axis, n, "gradient")
    if edge_order not in (1, 2):
        raise ArgumentError("'edge_order' greater than 2 not supported")
    if len(varargs) not in (0, 1, len(axes)):
        raise ArgumentTypeError("gradient: invalid number of arguments")
    steps = list(varargs) * (len(axes) if len(varargs) == 1 else 1) or [1.0] * len(axes)
    if len(varargs) == 1 and len(axes) > 1 and shape_of(given(varargs[0])):
        raise ArgumentError("gradient: when 1d, distances must match the length of the axis")
    found = [_slope(f, at, h, edge_order) for at, h in zip(axes, steps, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _slope(f, axis: int, h: Any, edge_order: int):
    n, ndim = shape_of(f)[axis], len(shape_of(f))
    if n < edge_order + 1:
        raise ArgumentError(
            "gradient: the shape is too small: at least (edge_order + 1) elements are required"
        )
    h = h if is_a(h, (float, int)) else given(h)
    if shape_of(h):
        if shape_of(h) != (n,):
            raise ArgumentError(
                f"gradient: the coordinates have the shape {shape_of(h)}, the axis the length {n}"
            )
        h = diff(h.astype(float_type(h.dtype)))
    steps = np.broadcast_to(h, (n - 1,)) if shape_of(h) else None
    slopes = diff(f, axis=axis)  # of adjacent elements
    slopes = slopes / (h if steps is None else _column(steps, axis, ndim))
    first, last = _cut(slopes, axis, 0, 1), _cut(slopes, axis, n - 2, n - 1)
    left, right = _cut(slopes, axis, 0, n - 2), _cut(slopes, axis, 1, n - 1)
    before: Any = h if steps is None else _column(steps[:-1], axis, ndim)
    behind: Any = h if steps is None else _column(steps[1:], axis, ndim)
    if steps is None:  # without the element in between, which may be nan
        inner = (_cut(f, axis, 2, n) - _cut(f, axis, 0, n - 2)) / (2.0 * h)
    else:
        inner = (behind * left + before * right) / (before + behind)
    if edge_order == 2:
        # The slope at the ends of a parabola through three points.
        bend = (right - left) / (before + behind)
        ends = (h, h) if steps is None else (steps[0], steps[-1])
        first = first - ends[0] * _cut(bend, axis, 0, 1)
        last = last + ends[1] * _cut(bend, axis, n - 3, n - 2)
    out = np.concatenate([first, inner, last], axis=axis)
    return out.astype(float_type(f.dtype))


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral along `axis` by the trapezoidal rule, with coordinates `x` or steps `dx`."""
    y = given(y)
    ndim = len(shape_of(y))
    axis = normalize_axis_index(axis, ndim, "trapezoid")
    pairs = _cut(y, axis, 1, None) + _cut(y, axis, 0, -1)
    if x is None:
        return np.sum(pairs * (dx * 0.5), axis=axis)
    x = given(x)
    steps = diff(x, axis=-1 if len(shape_of(x)) == 1 else axis)
    steps = _column(steps, axis, ndim) if len(shape_of(x)) == 1 else steps
    return np.sum(steps * pairs * 0.5, axis=axis)


implements(*(getattr(np, name) for name in ("trapezoid", "trapz") if hasattr(np, name)))(trapezoid)


@implements(np.unwrap)
def unwrap(p, discont=None, axis=-1, *, period=2 * math.pi):
    """Angles without jumps, by adding multiples of the period."""
    p = given(p)
    axis = normalize_axis_index(axis, len(shape_of(p)), "unwrap")
    steps = stopped(diff(p, axis=axis))
    discont = period / 2 if discont is None else discont
    low = -period / 2
    wrapped = np.mod(steps - low, period) + low
    wrapped = np.where(np.logical_and(wrapped == low, steps > 0), -low, wrapped)
    correct = np.where(np.abs(steps) < discont, 0.0, wrapped - steps)
    dtype = np.result_type(p.dtype, period)
    zeros = np.zeros(shape_of(_cut(p, axis, 0, 1)), dtype)
    return p + np.concatenate([zeros, np.cumsum(correct, axis=axis).astype(dtype)], axis=axis)


# -- interpolation --------------------------------------------------------------------------------


@implements(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    """Linear interpolation between the points (xp, fp), with derivatives in x, xp and fp; `left`
    and `right` outside. At a point the derivative in x is that from the right."""
    x, xp, fp = map(given, (x, xp, fp))
    if len(shape_of(xp)) != 1 or shape_of(xp) != shape_of(fp):
        raise DimensionMismatch(
            f"interp: the points have the shapes {shape_of(xp)} and {shape_of(fp)}; both have one "
            "axis, of one length"
        )
    n = shape_of(xp)[0]
    if not n:
        raise EmptyError("array of sample points is empty")
    x, xp, fp = (z.astype(np.float64) for z in (x, xp, fp))
    if period is not None:
        if period == 0:
            raise ArgumentError("period must be a non-zero value")
        period = abs(period)
        x, xp = np.mod(x, period), np.mod(xp, period)
        order = np.argsort(xp)
        xp, fp = take(xp, order), take(fp, order)
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
        left = right = None
        n += 2
    first = fp[0] if left is None else left
    last = fp[n - 1] if right is None else right
    if n == 1:
        return np.where(x < xp[0], first, np.where(x > xp[0], last, fp[0] + 0.0 * x))
    at = searchsorted(xp, x, "right")
    at = np.minimum(np.maximum(at - 1, 0), n - 2)
    x0, x1, f0, f1 = (take(z, i) for z in (xp, fp) for i in (at, at + 1))
    equal = x0 == x1  # at the last point, or for repeated points
    slope = np.where(equal, 0.0, f1 - f0) / np.where(equal, 1.0, x1 - x0)
    # From the right end at the last point, so that its value is exact.
    inside = np.where(x == xp[n - 1], f1 + (x - x1) * slope, f0 + (x - x0) * slope)
    return np.where(x < xp[0], first, np.where(x > xp[n - 1], last, inside))


# -- evenly spaced numbers ------------------------------------------------------------------------


def _float(x: Any) -> Any:
    """An end as floats; a Python number, which takes the dtype of the other end, stays a number."""
    return float(x) if type(x) in (int, float) else np.multiply(given(x), 1.0)


def _floats_alike(*ends: Any) -> list[Any]:
    """Ends in their common float dtype; Python numbers stay numbers."""
    numbers = [type(x) in (int, float) for x in ends]
    arrays = [x if number else given(x) for x, number in zip(ends, numbers, strict=True)]
    kinds = [x.dtype for x, number in zip(arrays, numbers, strict=True) if not number]
    dtype = np.result_type(*kinds) if kinds else np.dtype(np.float64)
    dtype = dtype if dtype.kind == "f" else np.dtype(np.float64)
    return [
        float(x) if number else x.astype(dtype) for x, number in zip(arrays, numbers, strict=True)
    ]


def _spaced(start, stop, num: int, endpoint: bool):
    """Evenly spaced numbers along a new first axis, and the step."""
    num = shapes.whole(num, "linspace: num")
    if num < 0:
        raise ArgumentError(f"Number of samples, {num}, must be non-negative.")
    start, stop = _floats_alike(start, stop)
    step = (stop - start) / max(num - endpoint, 1)
    if num - endpoint <= 0:
        step = step * np.nan
    kinds = [x.dtype for x in (start, stop) if hasattr(x, "dtype")]
    places = np.arange(num).astype(float_type(*kinds))
    shape = np.broadcast_shapes(shape_of(start), shape_of(stop))
    places = places.reshape(num, *(1,) * len(shape))
    out = (stop - start) * (places / max(num - endpoint, 1)) + start
    if endpoint and num > 1:
        last = np.broadcast_to(stop, (1, *shape))
        out = np.concatenate([out[:-1], last.astype(out.dtype)])
    return out, step


@implements(np.linspace)
def linspace(start, stop, num=50, endpoint: bool = True, retstep: bool = False, dtype=None,
             axis=0, *, device=None):  # fmt: skip
    """Evenly spaced numbers; both ends have a derivative."""
    out, step = _spaced(start, stop, num, bool(endpoint))
    out = out if dtype is None else out.astype(dtype)
    out = out if axis == 0 else np.moveaxis(out, 0, axis)
    return (out, step) if retstep else out


@implements(np.geomspace)
def geomspace(start, stop, num=50, endpoint: bool = True, dtype=None, axis=0):
    """Numbers spaced evenly on a logarithmic scale between ends of one sign."""
    start, stop = _float(start), _float(stop)
    sign = np.sign(stopped(start))
    if is_a(sign, np.ndarray) and np.any(sign == 0):
        raise ArgumentError("Geometric sequence cannot include zero")
    low, high = np.log10(start * sign), np.log10(stop * sign)
    exponents = _spaced(low, high, num, bool(endpoint))[0]
    out = np.power(10.0, exponents) * sign
    n, shape = shape_of(out)[0], shape_of(out)[1:]
    # Multiplied by the sign twice, so that a nan sign gives nan.
    ends = [np.broadcast_to(x * sign * sign, (1, *shape)) for x in (start, stop)]
    if n > 1:
        inner = [out[1:-1], ends[1]] if endpoint else [out[1:]]
        out = np.concatenate([ends[0], *inner])
    elif n:
        out = ends[0]
    out = out.astype(np.float64 if dtype is None else dtype)
    return out if axis == 0 else np.moveaxis(out, 0, axis)


# -- functions along axes -------------------------------------------------------------------------


@implements(np.apply_along_axis)
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """The results of a function of each 1-D slice along `axis`."""
    arr = given(arr)
    n = len(shape_of(arr))
    axis = normalize_axis_index(axis, n, "apply_along_axis")
    lead = shape_of(arr)[:axis] + shape_of(arr)[axis + 1 :]
    if 0 in lead:
        raise ArgumentError("Cannot apply_along_axis when any iteration dimensions are 0")
    lines = np.reshape(np.moveaxis(arr, axis, -1), (math.prod(lead), shape_of(arr)[axis]))
    made = [func1d(lines[i], *args, **kwargs) for i in range(math.prod(lead))]
    made = [x if isinstance(x, Array) else np.asarray(x) for x in made]
    inner = shape_of(made[0])
    out = np.reshape(np.stack(made), (*lead, *inner))
    return np.moveaxis(
        out, range(len(lead), len(lead) + len(inner)), range(axis, axis + len(inner))
    )
