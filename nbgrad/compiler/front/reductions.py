"""Reductions of arrays, over all elements or along one axis."""

import operator
from collections.abc import Callable
from functools import wraps

import numpy as np

from .array_table import axis_of, function_row, known_of, several_axes
from .arrays import (
    assign,
    count_of,
    fill,
    fresh,
    in_memory,
    is_array,
    lazy,
    nest,
    number,
    position_of,
)
from .elements import row_strides
from .elementwise import each_element
from .emit import FunctionBuilder
from .syntax import Unsupported
from .tuples import is_tuple
from .values import (
    BOOL,
    DOUBLE,
    INT,
    KNOWN_0,
    KNOWN_FALSE,
    Array,
    Known,
    Lazy,
    Value,
)

__all__ = ["kept_axis", "over_axes", "root", "sum_", "total_dtype"]

Step = Callable[[Value, Value], Value]


def _reduced(
    emit: FunctionBuilder, value: Lazy, axis: int | None, start: Value, dtype: np.dtype, step: Step
) -> Value:
    """Combine all elements, or those along an axis, from `start` on."""
    if axis is None:
        total = emit.accumulator(start, dtype)
        with nest(emit, value.shape) as at:
            emit.accumulate(total, step(total, value.element(at)))
        return emit.settled(total)
    rest = (*value.shape[:axis], *value.shape[axis + 1 :])
    if not rest:
        return _reduced(emit, value, None, start, dtype, step)
    found = fresh(emit, rest, dtype)
    strides = row_strides(emit, found)
    with nest(emit, rest) as at:
        total = emit.accumulator(start, dtype)
        with nest(emit, value.shape[axis : axis + 1]) as (i,):
            emit.accumulate(total, step(total, value.element([*at[:axis], i, *at[axis:]])))
        emit.store(found.place, position_of(emit, strides, at), emit.settled(total))
    return found


def total_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of sums."""
    return INT if dtype.kind in "bi" else np.dtype(np.uint64) if dtype.kind == "u" else dtype


def _of(emit: FunctionBuilder, a: Value) -> Lazy:
    if is_tuple(a):
        raise Unsupported("a reduction of a tuple")
    return lazy(emit, a)


def over_axes(row: Callable[..., Value]) -> Callable[..., Value]:
    """The row of a reduction, which reduces several axes one after another."""

    @wraps(row)
    def reduced(
        emit: FunctionBuilder, a: Value, axis: "Value | None" = None, keepdims: Value = KNOWN_FALSE
    ) -> Value:
        several = several_axes(axis, len(_of(emit, a).shape))
        if several is None:
            return row(emit, a, axis, keepdims)
        for each in several:
            a = row(emit, a, Known(each), keepdims)
        return a

    return reduced


def kept_axis(emit: FunctionBuilder, found: Value, axis: int | None, keepdims: Value) -> Value:
    """The result with an axis of length 1 in the place of that which is reduced."""
    if not known_of(keepdims, "keepdims"):
        return found
    if axis is None or not isinstance(found, Array):
        raise Unsupported("keepdims without an axis")
    shape = (*found.shape[:axis], number(1), *found.shape[axis:])
    return Array(found.place, shape, None, found.mutable)


@function_row(np.sum)
@over_axes
def sum_(
    emit: FunctionBuilder, a: Value, axis: "Value | None" = None, keepdims: Value = KNOWN_FALSE
) -> Value:
    value = _of(emit, a)
    where, dtype = axis_of(axis, len(value.shape)), total_dtype(value.dtype)

    def step(x: Value, y: Value) -> Value:
        return emit.operation(operator.add, x, emit.cast(y, dtype))

    if where is not None and where < len(value.shape) - 1:
        return kept_axis(emit, _sum_of_rows(emit, value, where, dtype), where, keepdims)
    return kept_axis(emit, _reduced(emit, value, where, Known(0), dtype, step), where, keepdims)


def _sum_of_rows(emit: FunctionBuilder, value: Lazy, axis: int, dtype: np.dtype) -> Value:
    """Sums along an axis that is not the last, in the order of the memory."""
    total = fresh(emit, (*value.shape[:axis], *value.shape[axis + 1 :]), dtype)
    assign(emit, total, KNOWN_0)
    strides, place = row_strides(emit, total), total.place
    with nest(emit, value.shape) as at:
        x = emit.cast(value.element(at), dtype)
        emit.add_to(place, position_of(emit, strides, [*at[:axis], *at[axis + 1 :]]), x)
    # A result that is read more than once is copied. The copy is written once, so that reverse mode
    # records no partial sums.
    found = fresh(emit, total.shape, dtype)
    fill(emit, found, lazy(emit, total))
    return found


@function_row(np.prod)
def prod(emit: FunctionBuilder, a: Value, axis: "Value | None" = None) -> Value:
    value = _of(emit, a)
    where, dtype = axis_of(axis, len(value.shape)), total_dtype(value.dtype)

    def step(x: Value, y: Value) -> Value:
        return emit.operation(operator.mul, x, emit.cast(y, dtype))

    return _reduced(emit, value, where, Known(1), dtype, step)


def _count(emit: FunctionBuilder, value: Lazy, axis: int | None) -> Value:
    return count_of(emit, value.shape) if axis is None else value.shape[axis]


@function_row(np.mean)
@over_axes
def mean(
    emit: FunctionBuilder, a: Value, axis: "Value | None" = None, keepdims: Value = KNOWN_FALSE
) -> Value:
    value = _of(emit, a)
    if value.dtype.kind not in "fc":
        inner = value.element
        value = Lazy(value.shape, DOUBLE, lambda at: emit.cast(inner(at), DOUBLE), value.sources)
    count = _count(emit, value, axis_of(axis, len(value.shape)))
    total = sum_(emit, value, axis, keepdims)
    return emit.operation(operator.truediv, total, emit.cast(count, value.dtype))


@function_row(np.var)
def var(
    emit: FunctionBuilder, a: Value, axis: "Value | None" = None, ddof: Value = KNOWN_0,
    keepdims: Value = KNOWN_FALSE,
) -> Value:  # fmt: skip
    value = lazy(emit, a if _of(emit, a).cheap else in_memory(emit, a))
    where = axis_of(axis, len(value.shape))
    center = in_memory(emit, mean(emit, value, axis))
    if isinstance(center, Array) and where is not None:
        strides = row_strides(emit, center)
        place = center.place
        middle: Value = Lazy(
            value.shape, place.dtype,
            lambda at: emit.load(
                place, position_of(emit, strides, [*at[:where], *at[where + 1 :]])
            ),
            cheap=True,
        )  # fmt: skip
    else:
        middle = center
    apart = emit.operation(operator.sub, value, middle)

    def squared(x: Value) -> Value:
        found = emit.operation(operator.mul, x, x)
        return emit.cast(found, DOUBLE) if where is None else found  # as Numba does for float32

    square = each_element(emit, squared, [apart])
    total = sum_(emit, square, axis, keepdims)
    count = emit.operation(operator.sub, _count(emit, value, where), ddof)
    return emit.operation(operator.truediv, total, count)


@function_row(np.std)
def std(
    emit: FunctionBuilder, a: Value, axis: "Value | None" = None, ddof: Value = KNOWN_0,
    keepdims: Value = KNOWN_FALSE,
) -> Value:  # fmt: skip
    return root(emit, var(emit, a, axis, ddof, keepdims))


def root(emit: FunctionBuilder, value: Value) -> Value:
    """The square root of a number, or of each element."""

    def of_number(x: Value) -> Value:
        here = emit.typed(x)
        return emit.applied("sqrt", [here], here.dtype)

    return each_element(emit, of_number, [value]) if is_array(value) else of_number(value)


@function_row(np.any)
def any_(emit: FunctionBuilder, a: Value, axis: "Value | None" = None) -> Value:
    value = _of(emit, a)

    def step(x: Value, y: Value) -> Value:
        return emit.applied("or", [emit.truth(x), emit.truth(y)], BOOL)

    where = axis_of(axis, len(value.shape))
    return _reduced(emit, value, where, Known(False), BOOL, step)


@function_row(np.all)
def all_(emit: FunctionBuilder, a: Value, axis: "Value | None" = None) -> Value:
    value = _of(emit, a)

    def step(x: Value, y: Value) -> Value:
        return emit.applied("and", [emit.truth(x), emit.truth(y)], BOOL)

    where = axis_of(axis, len(value.shape))
    return _reduced(emit, value, where, Known(True), BOOL, step)


@function_row(np.count_nonzero)
def count_nonzero(emit: FunctionBuilder, a: Value) -> Value:
    return sum_(emit, each_element(emit, emit.truth, [a]))
