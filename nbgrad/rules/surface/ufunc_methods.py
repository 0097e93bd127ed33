"""Methods of ufuncs: `np.add.reduce`, `np.multiply.accumulate`, `np.subtract.outer` and others."""

import functools
import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...core.array import functions, implements
from ...core.conversions import FILL
from ...core.primitive import Aval, bind, shape_of
from ...core.symbols import noted
from ...errors import ArgumentError, EmptyError, IndexOutOfBounds, NoRuleError, OutError
from ...kernels import shapes
from ...runtime.lines import user_line
from .. import batching
from ..dtypes import FLOATS
from ..families import Custom, sample, scaled, ufunc_primitives
from ..families.arrays import zeros_like
from ..forms.recorded import recorded
from ..recurrences import recurrence_row
from ..reduce import chosen, counted, is_float
from ..scans import cumprod, cumsum, joined, scanned

_REDUCTIONS: dict[Any, Any] = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min,
    np.logical_and: np.all, np.logical_or: np.any,
}  # fmt: skip
_ASSOCIATIVE = {
    np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp, np.logaddexp2,
    np.hypot, np.logical_xor,
}  # fmt: skip


def _two(ufunc, method: str) -> None:
    if ufunc.nin != 2 or ufunc.nout != 1:
        raise ArgumentError(f"{ufunc.__name__}.{method}: only of functions of two arguments")


def _no_out(ufunc, method: str, out) -> None:
    if out is not None and any(x is not None for x in out):
        raise OutError(
            f"np.{ufunc.__name__}.{method}(out=...) cannot write a tracked array into a plain one: "
            f"use what it returns, or {FILL}{user_line()}"
        )


@implements("ufunc.reduce")
def reduce(ufunc, array, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
    """The reduction by a ufunc over `axis`; np.sum for np.add."""
    _two(ufunc, "reduce")
    _no_out(ufunc, "reduce", out)
    options = {} if where is True else {"where": where}
    if initial is not None:
        options["initial"] = initial
    if not is_float(dtype):
        return counted(ufunc.reduce, array, axis, dtype, keepdims=keepdims, **options)
    if ufunc in _REDUCTIONS:
        if dtype is not None:
            array = chosen("reduce", array, dtype)
        return functions[_REDUCTIONS[ufunc]](array, axis=axis, keepdims=bool(keepdims), **options)
    name = f"{ufunc.__name__}.reduce"
    if where is not True:
        raise NoRuleError(f"np.{name}(where=...): put the neutral element there by np.where")
    array = chosen(name, array, dtype)
    shape = shape_of(array)
    axes = shapes.axes_of(axis, len(shape), name, of_ufunc=True)
    if len(axes) > 1 and ufunc not in _ASSOCIATIVE:
        raise ArgumentError(f"{name}: the order of elements matters, so `axis` is one axis")
    kept = [i for i in range(len(shape)) if i not in axes]
    count = math.prod(shape[i] for i in axes)
    flat = np.transpose(array, (*kept, *axes))
    flat = np.reshape(flat, (*(shape[i] for i in kept), count))
    if not count:
        initial = ufunc.identity if initial is None else initial
        if initial is None:
            raise EmptyError(
                f"{name}: the shape {shape} has no elements along {axes}: give initial"
            )
        total = np.full(shape_of(flat)[:-1], initial, flat.dtype)
    else:
        total = _fold(ufunc, flat, initial)
    return np.reshape(total, shapes.reduced(shape, axes, bool(keepdims)))


def _fold(ufunc, flat, initial):
    if ufunc in _ASSOCIATIVE:
        total = joined(ufunc, flat)
        return total if initial is None else ufunc(initial, total)
    parts = [flat[..., i] for i in range(shape_of(flat)[-1])]
    return functools.reduce(ufunc, parts if initial is None else [initial, *parts])


# Ufuncs whose NumPy loop is faster than a scan by pairs.
_IN_ONE_GO = (np.maximum, np.minimum, np.fmax, np.fmin)


def _steps(name: str, x, out):
    """The partials of each element of the result in the previous one and in the argument."""
    row: Any = ufunc_primitives[getattr(np, name)]
    before, now, after = out[..., :-1], x[..., 1:], out[..., 1:]
    first, second = (
        np.broadcast_to(partial(before, now, after), shape_of(after)) for partial in row.partials
    )
    start = zeros_like(x[..., :1])
    return np.concatenate([start, first], -1), np.concatenate([start + 1.0, second], -1)


def _accumulated_rule(ct, out, args, need, *, name):
    before, now = _steps(name, args[0], out)
    return [scaled(bind(recurrence_row, before, ct, reverse=True), now)]


def _accumulated_push(tangents, out, args, *, name):
    before, now = _steps(name, args[0], out)
    return bind(recurrence_row, before, scaled(tangents[0], now), reverse=False)


accumulated = Custom(
    "accumulate", lambda x, *, name: getattr(np, name).accumulate(x, axis=-1),
    lambda x, *, name: Aval.of(x.shape, x.dtype), _accumulated_rule, _accumulated_push,
    samples=[
        sample((4,), name="maximum"), sample((2, 5), name="fmin"), sample((3,), name="fmax"),
        sample((2, 1), name="minimum"),
    ],
    batch=batching.along(),
    form=recorded(lambda x, *, name: scanned(getattr(np, name), x)),
    reference=lambda x, *, name: getattr(np, name).accumulate(x, axis=-1),
    spelling="`np.maximum.accumulate`",
    notes="cumulative maxima and minima along the last axis; ties share as in the function itself, "
    "step by step",
)  # fmt: skip


@implements("ufunc.accumulate")
def accumulate(ufunc, array, axis=0, dtype=None, out=None):
    """The cumulative reduction by a ufunc along `axis`; np.cumsum for np.add."""
    _two(ufunc, "accumulate")
    _no_out(ufunc, "accumulate", out)
    name = f"{ufunc.__name__}.accumulate"
    if not is_float(dtype):
        return counted(ufunc.accumulate, array, axis, dtype)
    array = chosen(name, array, dtype)
    axis = normalize_axis_index(axis, len(shape_of(array)), name)
    if ufunc is np.add:
        return cumsum(array, axis)
    if ufunc is np.multiply:
        return cumprod(array, axis)
    moved = np.moveaxis(array, axis, -1)
    if ufunc in _IN_ONE_GO and array.dtype in FLOATS and array.size:
        found = bind(accumulated, moved, name=ufunc.__name__)
    elif ufunc in _ASSOCIATIVE:
        found = scanned(ufunc, moved)
    elif not shape_of(moved)[-1]:
        found = moved
    else:
        parts = [moved[..., 0]]
        for i in range(1, shape_of(moved)[-1]):
            parts.append(ufunc(parts[-1], moved[..., i]))
        found = np.stack(parts, axis=-1)
    return np.moveaxis(found, -1, axis)


@implements("ufunc.reduceat")
def reduceat(ufunc, array, indices, axis=0, dtype=None, out=None):
    """The reductions of the slices between adjacent indices."""
    _no_out(ufunc, "reduceat", out)
    name = f"{ufunc.__name__}.reduceat"
    n = shape_of(array)[normalize_axis_index(axis, len(shape_of(array)), name)]
    starts = [shapes.whole(i, f"{name}: an index") for i in noted(indices)]
    if any(not 0 <= i < n for i in starts):
        raise IndexOutOfBounds(
            f"{name}: an index of {starts} lies outside of an axis of length {n}"
        )
    moved, parts = np.moveaxis(array, axis, -1), []
    for i, stop in zip(starts, [*starts[1:], n], strict=True):
        parts.append(reduce(ufunc, moved[..., i : max(stop, i + 1)], -1, dtype))
    return np.moveaxis(np.stack(parts, axis=-1), -1, axis)


@implements("ufunc.outer")
def outer(ufunc, a, b, **options):
    """The ufunc of each element of `a` with each of `b`."""
    _two(ufunc, "outer")
    a = np.reshape(a, shape_of(a) + (1,) * len(shape_of(b)))
    return ufunc(a, b, **options)
