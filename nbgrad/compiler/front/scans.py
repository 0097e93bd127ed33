"""Norms, and functions that combine each element with those before it."""

import math
import operator
from collections.abc import Callable
from functools import partial

import numpy as np

from .array_table import axis_of, function_row, known_of
from .arrays import fresh, lazy, nest, position_of, shape_of
from .elements import row_strides
from .elementwise import each_element
from .emit import FunctionBuilder
from .reductions import root, sum_, total_dtype
from .syntax import Unsupported
from .values import DOUBLE, KNOWN_0, Known, Value

__all__ = ["norm"]


@function_row(np.linalg.norm)
def norm(
    emit: FunctionBuilder, x: Value, ord: "Value | None" = None, axis: "Value | None" = None
) -> Value:
    kind = known_of(ord, "the order of a norm")
    if kind not in (None, 2, "fro") or (kind == 2 and len(lazy(emit, x).shape) != 1):
        from .further import vector_norm  # which reads functions

        if axis is not None or len(shape_of(x)) != 1 or not isinstance(kind, (int, float)):
            raise Unsupported(f"np.linalg.norm of order {kind} of such an array")
        return vector_norm(emit, x, kind)
    square = each_element(emit, lambda x: emit.operation(operator.mul, x, x), [_floats(emit, x)])
    return root(emit, sum_(emit, square, axis))


def _floats(emit: FunctionBuilder, x: Value) -> Value:
    value = lazy(emit, x)
    if value.dtype.kind == "f":
        return value
    return each_element(emit, lambda x: emit.cast(x, DOUBLE), [value])


@function_row(np.cumsum)
def cumsum(emit: FunctionBuilder, a: Value, axis: "Value | None" = None) -> Value:
    return _scan(emit, a, axis, partial(emit.operation, operator.add), 0)


@function_row(np.cumprod)
def cumprod(emit: FunctionBuilder, a: Value, axis: "Value | None" = None) -> Value:
    return _scan(emit, a, axis, partial(emit.operation, operator.mul), 1)


@function_row(np.add.accumulate)
def accumulated(emit: FunctionBuilder, array: Value, axis: Value = KNOWN_0) -> Value:
    return _scan(emit, array, axis, partial(emit.operation, operator.add), 0)


@function_row(np.multiply.accumulate)
def multiplied(emit: FunctionBuilder, array: Value, axis: Value = KNOWN_0) -> Value:
    return _scan(emit, array, axis, partial(emit.operation, operator.mul), 1)


@function_row(np.maximum.accumulate)
def highest(emit: FunctionBuilder, array: Value, axis: Value = KNOWN_0) -> Value:
    return _extreme(emit, array, axis, np.maximum, -math.inf)


@function_row(np.minimum.accumulate)
def lowest(emit: FunctionBuilder, array: Value, axis: Value = KNOWN_0) -> Value:
    return _extreme(emit, array, axis, np.minimum, math.inf)


def _extreme(
    emit: FunctionBuilder, array: Value, axis: Value, function: np.ufunc, start: float
) -> Value:
    from .calls import call  # which calls functions of arrays

    if lazy(emit, array).dtype.kind != "f":
        raise Unsupported(f"np.{function.__name__}.accumulate of integers")
    return _scan(emit, array, axis, lambda x, y: call(emit, function, (x, y)), start)


def _scan(
    emit: FunctionBuilder, a: Value, axis: "Value | None", join: Callable, start: float
) -> Value:
    """Combine each element with those before it."""
    value = lazy(emit, a)
    where = axis_of(axis, len(value.shape))
    if where is None:
        if len(value.shape) != 1:
            raise Unsupported("np.cumsum of several axes: give an axis")
        where = 0
    dtype = total_dtype(value.dtype)
    rest = (*value.shape[:where], *value.shape[where + 1 :])
    found = fresh(emit, value.shape, dtype)
    strides = row_strides(emit, found)
    with nest(emit, rest) as outer:
        total = emit.accumulator(Known(start), dtype)
        with nest(emit, value.shape[where : where + 1]) as (i,):
            at = [*outer[:where], i, *outer[where:]]
            now = emit.settled(join(total, emit.cast(value.element(at), dtype)))
            emit.accumulate(total, now)
            emit.store(found.place, position_of(emit, strides, at), now)
    return found
