"""The largest and the smallest elements of arrays, and their places."""

import operator
from collections.abc import Callable, Sequence

import numpy as np

from ...ir.reductions import MAXIMUM, MINIMUM, Reduction
from ...ir.statements import Accumulate
from .array_table import axis_of, function_row
from .arrays import count_of, fresh, in_memory, lazy, nest, number, position_of, require
from .elements import product, row_strides
from .emit import FunctionBuilder
from .reductions import kept_axis, over_axes
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

__all__: list[str] = []

_NOWHERE = Place("", DOUBLE)


def _better(emit: FunctionBuilder, compare: Callable, x: Value, best: Value) -> Number:
    """Whether a number is better than the best one, or the first nan."""
    better = emit.truth(emit.operation(compare, x, best))
    if emit.dtype(x).kind != "f":
        return better
    new = emit.truth(emit.operation(operator.ne, x, x))
    old = emit.truth(emit.operation(operator.eq, best, best))
    both = emit.applied("and", [new, old], BOOL)
    return emit.applied("or", [better, both], BOOL)


def _require_elements(emit: FunctionBuilder, value: Lazy) -> None:
    size = count_of(emit, value.shape)
    message = "zero-size array to reduction operation, which has no identity"
    require(emit, emit.operation(operator.gt, size, Known(0)), message)


def _extreme(
    emit: FunctionBuilder, a: Value, axis: "Value | None", compare: Callable, is_place: bool
) -> Value:
    """The first best element, or its index, of all or along an axis."""
    value = lazy(emit, in_memory(emit, a) if not lazy(emit, a).cheap else a)
    where = axis_of(axis, len(value.shape))
    if where is not None and len(value.shape) == 1:
        where = None
    _require_elements(emit, value)
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


def _extreme_element(
    emit: FunctionBuilder, a: Value, axis: "Value | None", kind: Reduction, compare: Callable
) -> Value:
    """The first best element of all or along an axis, which is read where it stands: so a
    derivative needs its place only."""
    value = lazy(emit, in_memory(emit, a) if not lazy(emit, a).cheap else a)
    if value.dtype.kind != "f":
        return _extreme(emit, a, axis, compare, False)
    where = axis_of(axis, len(value.shape))
    _require_elements(emit, value)
    if where is None:
        found: Value = value
        for _ in value.shape:
            found = _best_along(emit, lazy(emit, found), -1, kind)
        return found
    return _best_along(emit, value, where, kind)


def _best_along(emit: FunctionBuilder, value: Lazy, axis: int, kind: Reduction) -> Value:
    """The first best element along an axis, found in two loops that LLVM vectorises."""
    axis %= len(value.shape)
    length = value.shape[axis]

    def best(outer: Sequence[Value]) -> Value:
        def element(i: Value) -> Value:
            return value.element([*outer[:axis], i, *outer[axis:]])

        most = emit.accumulator(element(KNOWN_0), value.dtype)
        with nest(emit, [length]) as (i,):
            x = emit.typed(element(i)).operand
            emit.add(Accumulate(str(most.operand), kind, x, value.dtype, loose=True))
        most = emit.typed(emit.settled(most))
        place = emit.accumulator(length, INT)
        with nest(emit, [length]) as (i,):
            x = emit.typed(emit.settled(element(i)))
            same = emit.truth(emit.operation(operator.eq, x, most))
            is_nan = emit.truth(emit.operation(operator.ne, x, x))
            is_best = emit.applied("or", [same, is_nan], BOOL)
            here = emit.applied("select", [is_best, i, length], INT)
            emit.accumulate(place, emit.extreme(min, [place, here]))
        here = emit.typed(emit.settled(place))
        return element(Number(here.operand, INT, True))

    rest = (*value.shape[:axis], *value.shape[axis + 1 :])
    if not rest:
        return best([])
    result = fresh(emit, rest, value.dtype)
    strides = row_strides(emit, result)
    with nest(emit, rest) as outer:
        emit.store(result.place, position_of(emit, strides, outer), best(outer))
    return result


@function_row(np.max, np.amax)
@over_axes
def max_(
    emit: FunctionBuilder, a: Value, axis: "Value | None" = None, keepdims: Value = KNOWN_FALSE
) -> Value:
    found = _extreme_element(emit, a, axis, MAXIMUM, operator.gt)
    return kept_axis(emit, found, axis_of(axis, len(lazy(emit, a).shape)), keepdims)


@function_row(np.min, np.amin)
@over_axes
def min_(
    emit: FunctionBuilder, a: Value, axis: "Value | None" = None, keepdims: Value = KNOWN_FALSE
) -> Value:
    found = _extreme_element(emit, a, axis, MINIMUM, operator.lt)
    return kept_axis(emit, found, axis_of(axis, len(lazy(emit, a).shape)), keepdims)


@function_row(np.argmax)
def argmax(emit: FunctionBuilder, a: Value, axis: "Value | None" = None) -> Value:
    return _extreme(emit, a, axis, operator.gt, True)


@function_row(np.argmin)
def argmin(emit: FunctionBuilder, a: Value, axis: "Value | None" = None) -> Value:
    return _extreme(emit, a, axis, operator.lt, True)
