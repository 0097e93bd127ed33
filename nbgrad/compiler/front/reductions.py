"""Reductions of arrays, over all elements or along one axis."""

import operator
from collections.abc import Callable, Sequence
from functools import wraps

import numpy as np

from .array_table import axis_of, function_row, known_of, several_axes
from .arrays import (
    count_of,
    fresh,
    in_memory,
    is_array,
    lazy,
    nest,
    number,
    position_of,
    require,
)
from .elements import product, row_strides
from .elementwise import each_element
from .emit import FunctionBuilder
from .syntax import Unsupported
from .values import (
    BOOL,
    DOUBLE,
    INT,
    KNOWN_0,
    KNOWN_FALSE,
    Array,
    Known,
    Lazy,
    Number,
    Place,
    Value,
)

__all__ = ["root", "sum_", "total_dtype"]

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
    if isinstance(a, tuple):
        raise Unsupported("a reduction of a tuple")
    return lazy(emit, a)


def _over_axes(row: Callable[..., Value]) -> Callable[..., Value]:
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


def _kept(emit: FunctionBuilder, found: Value, axis: int | None, keepdims: Value) -> Value:
    """The result with an axis of length 1 in the place of that which is reduced."""
    if not known_of(keepdims, "keepdims"):
        return found
    if axis is None or not isinstance(found, Array):
        raise Unsupported("keepdims without an axis")
    shape = (*found.shape[:axis], number(1), *found.shape[axis:])
    return Array(found.place, shape, None, found.mutable)


@function_row(np.sum)
@_over_axes
def sum_(
    emit: FunctionBuilder, a: Value, axis: "Value | None" = None, keepdims: Value = KNOWN_FALSE
) -> Value:
    value = _of(emit, a)
    where, dtype = axis_of(axis, len(value.shape)), total_dtype(value.dtype)

    def step(x: Value, y: Value) -> Value:
        return emit.operation(operator.add, x, emit.cast(y, dtype))

    return _kept(emit, _reduced(emit, value, where, Known(0), dtype, step), where, keepdims)


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
@_over_axes
def mean(
    emit: FunctionBuilder, a: Value, axis: "Value | None" = None, keepdims: Value = KNOWN_FALSE
) -> Value:
    value = _of(emit, a)
    if value.dtype.kind != "f":
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
    square = each_element(emit, lambda x: emit.operation(operator.mul, x, x), [apart])
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


_NOWHERE = Place("", DOUBLE)


# -- maxima ---------------------------------------------------------------------------------------


def _better(emit: FunctionBuilder, compare: Callable, x: Value, best: Value) -> Number:
    """Whether a number is better than the best one, or the first nan."""
    better = emit.truth(emit.operation(compare, x, best))
    if emit.dtype(x).kind != "f":
        return better
    new = emit.truth(emit.operation(operator.ne, x, x))
    old = emit.truth(emit.operation(operator.eq, best, best))
    both = emit.applied("and", [new, old], BOOL)
    return emit.applied("or", [better, both], BOOL)


def _extreme(
    emit: FunctionBuilder, a: Value, axis: "Value | None", compare: Callable, is_place: bool
) -> Value:
    """The first best element, or its index, of all or along an axis."""
    value = lazy(emit, in_memory(emit, a) if not _of(emit, a).cheap else a)
    where = axis_of(axis, len(value.shape))
    if where is not None and len(value.shape) == 1:
        where = None
    size = count_of(emit, value.shape)
    message = "zero-size array to reduction operation, which has no identity"
    require(emit, emit.operation(operator.gt, size, Known(0)), message)
    dtype = INT if is_place else value.dtype

    def best(outer: Sequence[Value], shape: Sequence[Number]) -> Value:
        def full(at: Sequence[Value]) -> list[Value]:
            return list(at) if where is None else [*outer[:where], *at, *outer[where:]]

        zeros = [number(0)] * len(shape)
        found = emit.accumulator(value.element(full(zeros)), value.dtype)
        place = emit.accumulator(Known(0), INT)
        strides = row_strides(emit, Array(_NOWHERE, tuple(shape)))
        with nest(emit, shape) as at:
            x = emit.settled(value.element(full(at)))
            better = _better(emit, compare, x, found)
            if is_place:
                here: Value = KNOWN_0
                for stride, i in zip(strides, at, strict=True):
                    here = emit.operation(operator.add, product(emit, stride, i), here)
                both = [better, emit.cast(here, INT), place]
                emit.accumulate(place, emit.applied("select", both, INT))
            both = [better, emit.typed(x), found]
            emit.accumulate(found, emit.applied("select", both, value.dtype))
        return emit.settled(place if is_place else found)

    if where is None:
        return best([], value.shape)
    rest = (*value.shape[:where], *value.shape[where + 1 :])
    result = fresh(emit, rest, dtype)
    strides = row_strides(emit, result)
    with nest(emit, rest) as outer:
        found = best(outer, value.shape[where : where + 1])
        emit.store(result.place, position_of(emit, strides, outer), found)
    return result


@function_row(np.max, np.amax)
@_over_axes
def max_(
    emit: FunctionBuilder, a: Value, axis: "Value | None" = None, keepdims: Value = KNOWN_FALSE
) -> Value:
    found = _extreme(emit, a, axis, operator.gt, False)
    return _kept(emit, found, axis_of(axis, len(_of(emit, a).shape)), keepdims)


@function_row(np.min, np.amin)
@_over_axes
def min_(
    emit: FunctionBuilder, a: Value, axis: "Value | None" = None, keepdims: Value = KNOWN_FALSE
) -> Value:
    found = _extreme(emit, a, axis, operator.lt, False)
    return _kept(emit, found, axis_of(axis, len(_of(emit, a).shape)), keepdims)


@function_row(np.argmax)
def argmax(emit: FunctionBuilder, a: Value, axis: "Value | None" = None) -> Value:
    return _extreme(emit, a, axis, operator.gt, True)


@function_row(np.argmin)
def argmin(emit: FunctionBuilder, a: Value, axis: "Value | None" = None) -> Value:
    return _extreme(emit, a, axis, operator.lt, True)


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
