"""New arrays: constants, ranges, copies."""

import operator
from collections.abc import Sequence

import numpy as np

from ...ir.affine import Affine
from .array_table import FUNCTIONS, dtype_from, function_row, known_of, method_row, shape_from
from .arrays import assign, fill, fresh, in_memory, is_array, lazy, require, shape_of
from .elements import element as element_of
from .elementwise import dtype_of_elements
from .emit import FunctionBuilder
from .syntax import Unsupported
from .values import (
    BOOL,
    DOUBLE,
    INT,
    KNOWN_FALSE,
    Array,
    Complex,
    Known,
    Lazy,
    Number,
    Value,
    members,
)

__all__ = ["constant"]

_FIFTY, _TRUE = Known(50), Known(True)


def constant(emit: FunctionBuilder, shape: Sequence[Number], value: Value, dtype: np.dtype) -> Lazy:
    """An array of equal elements."""
    number = emit.settled(emit.cast(value, dtype))
    return Lazy(tuple(shape), dtype, lambda _: number, cheap=True)


@function_row(np.zeros)
def zeros(emit: FunctionBuilder, shape: Value, dtype: "Value | None" = None) -> Value:
    return constant(emit, shape_from(emit, shape), Known(0), dtype_from(dtype, DOUBLE))


@function_row(np.ones)
def ones(emit: FunctionBuilder, shape: Value, dtype: "Value | None" = None) -> Value:
    return constant(emit, shape_from(emit, shape), Known(1), dtype_from(dtype, DOUBLE))


@function_row(np.full)
def full(
    emit: FunctionBuilder, shape: Value, fill_value: Value, dtype: "Value | None" = None
) -> Value:
    own = dtype_from(dtype, emit.dtype(fill_value))
    return constant(emit, shape_from(emit, shape), fill_value, own)


@function_row(np.empty, np.ndarray)
def empty(emit: FunctionBuilder, shape: Value, dtype: "Value | None" = None) -> Value:
    return fresh(emit, shape_from(emit, shape), dtype_from(dtype, DOUBLE))


@function_row(np.zeros_like)
def zeros_like(emit: FunctionBuilder, a: Value, dtype: "Value | None" = None) -> Value:
    return constant(emit, shape_of(a), Known(0), dtype_from(dtype, dtype_of_elements(emit, a)))


@function_row(np.ones_like)
def ones_like(emit: FunctionBuilder, a: Value, dtype: "Value | None" = None) -> Value:
    return constant(emit, shape_of(a), Known(1), dtype_from(dtype, dtype_of_elements(emit, a)))


@function_row(np.full_like)
def full_like(
    emit: FunctionBuilder, a: Value, fill_value: Value, dtype: "Value | None" = None
) -> Value:
    return constant(emit, shape_of(a), fill_value, dtype_from(dtype, dtype_of_elements(emit, a)))


@function_row(np.empty_like)
def empty_like(emit: FunctionBuilder, a: Value, dtype: "Value | None" = None) -> Value:
    return fresh(emit, shape_of(a), dtype_from(dtype, dtype_of_elements(emit, a)))


@function_row(np.eye, np.identity)
def eye(
    emit: FunctionBuilder, N: Value, M: "Value | None" = None, k: "Value | None" = None,
    dtype: "Value | None" = None,
) -> Value:  # fmt: skip
    rows = shape_from(emit, N)[0]
    is_square = M is None or (isinstance(M, Known) and M.value is None)
    columns = rows if M is None or is_square else shape_from(emit, M)[0]
    shift, own = Known(0) if k is None else k, dtype_from(dtype, DOUBLE)

    def element(at: Sequence[Value]) -> Value:
        same = emit.operation(operator.eq, emit.operation(operator.add, at[0], shift), at[1])
        return emit.cast(same, own)

    return Lazy((rows, columns), own, element, cheap=True)


@function_row(np.arange)
def arange(
    emit: FunctionBuilder, start: Value, stop: "Value | None" = None, step: "Value | None" = None,
    dtype: "Value | None" = None,
) -> Value:  # fmt: skip
    first, last = (Known(0), start) if stop is None else (start, stop)
    by = Known(1) if step is None else step
    first, last, by = (emit.settled(x) for x in (first, last, by))
    common = emit.common([first, last, by])
    own = dtype_from(dtype, DOUBLE if common.kind == "f" else INT)
    between = emit.operation(operator.sub, last, first)
    if isinstance(by, Known) and by.value == 1 and common.kind != "f":
        size: Value = between
    else:
        size = _rounded_up(emit, emit.operation(operator.truediv, between, by))
    length = emit.extreme(max, [emit.cast(size, INT), Known(0)])
    shape = (Number(emit.typed(length).operand, INT, True),)

    def element(at: Sequence[Value]) -> Value:
        distance = emit.operation(operator.mul, at[0], by)
        return emit.cast(emit.operation(operator.add, first, distance), own)

    return Lazy(shape, own, element, cheap=True)


def _rounded_up(emit: FunctionBuilder, value: Value) -> Value:
    return emit.applied("np.ceil", [emit.cast(value, DOUBLE)], DOUBLE)


@function_row(np.linspace)
def linspace(
    emit: FunctionBuilder, start: Value, stop: Value, num: Value = _FIFTY,
    endpoint: Value = _TRUE, retstep: Value = KNOWN_FALSE,
) -> Value:  # fmt: skip
    first, last = (emit.settled(emit.cast(x, DOUBLE)) for x in (start, stop))
    (count,) = shape_from(emit, num)
    has_end = known_of(endpoint, "`endpoint`")
    most = emit.operation(operator.sub, count, Known(1)) if has_end else count
    width = emit.operation(operator.sub, last, first)
    step = emit.typed(emit.operation(operator.truediv, width, most))

    def element(at: Sequence[Value]) -> Value:
        here = emit.operation(operator.add, first, emit.operation(operator.mul, at[0], step))
        is_last = emit.typed(emit.operation(operator.eq, at[0], most))
        is_single = emit.typed(emit.operation(operator.eq, most, Known(0)))
        ends = emit.applied("select", [is_last, emit.cast(last, DOUBLE), emit.typed(here)], DOUBLE)
        return emit.applied("select", [is_single, emit.cast(first, DOUBLE), ends], DOUBLE)

    found = Lazy((count,), DOUBLE, element, cheap=True)
    return (found, step) if known_of(retstep, "`retstep`") else found


@method_row
@function_row(np.copy)
def copy(emit: FunctionBuilder, a: Value) -> Value:
    array = fresh(emit, shape_of(a), dtype_of_elements(emit, a))
    fill(emit, array, lazy(emit, a))
    return array


@method_row
def astype(emit: FunctionBuilder, a: Value, dtype: Value) -> Value:
    own, inner = dtype_from(dtype, DOUBLE), lazy(emit, a)

    def element(at: Sequence[Value]) -> Value:
        value = inner.element(at)
        return emit.truth(value) if own == BOOL else emit.cast(value, own)

    return Lazy(inner.shape, own, element, inner.sources, inner.cheap)


@function_row(np.asarray, np.asanyarray)
def asarray(emit: FunctionBuilder, a: Value, dtype: "Value | None" = None) -> Value:
    if isinstance(a, Array) and dtype_from(dtype, a.place.dtype) == a.place.dtype:
        return a
    return array(emit, a, dtype)


@function_row(np.asfortranarray)
def asfortranarray(emit: FunctionBuilder, a: Value, dtype: "Value | None" = None) -> Value:
    """A copy in C order, as all arrays here; an array of one axis is itself."""
    found = asarray(emit, a, dtype)
    is_same = isinstance(found, Array) and found.strides is None and len(found.shape) < 2
    return found if is_same else copy(emit, found)


@function_row(np.ascontiguousarray)
def ascontiguousarray(emit: FunctionBuilder, a: Value, dtype: "Value | None" = None) -> Value:
    found = asarray(emit, a, dtype)
    return found if isinstance(found, Array) and found.strides is None else copy(emit, found)


@function_row(np.array)
def array(emit: FunctionBuilder, object: Value, dtype: "Value | None" = None) -> Value:
    if is_array(object):
        made = copy(emit, object)
        return made if dtype is None else astype(emit, made, dtype)
    if _has_array(object):
        rows = [x if is_array(x) else array(emit, x) for x in members(object)]
        made = FUNCTIONS[np.stack](emit, tuple(rows))
        return made if dtype is None else astype(emit, made, dtype)
    shape: list[int] = []
    leaves = _leaves(object, shape, 0)
    own = dtype_from(dtype, emit.common(leaves) if leaves else DOUBLE)
    made = fresh(emit, shape_from(emit, tuple(map(Known, shape))), own)
    for i, leaf in enumerate(leaves):
        emit.store(made.place, Affine(i, ()), leaf)
    return made


def _has_array(value: Value) -> bool:
    if isinstance(value, tuple) and not isinstance(value, Complex):
        return any(_has_array(x) for x in value)
    return is_array(value)


def _leaves(value: Value, shape: list[int], depth: int) -> list[Value]:
    if isinstance(value, Known) and isinstance(value.value, tuple):
        value = tuple(map(Known, value.value))
    if not isinstance(value, tuple) or isinstance(value, Complex):
        if len(shape) != depth:  # the first leaf has set it
            raise Unsupported("np.array of rows of several lengths")
        if is_array(value):
            raise Unsupported("np.array of arrays: use np.stack")
        return [value]
    if depth == len(shape):
        shape.append(len(value))
    elif shape[depth] != len(value):
        raise Unsupported("np.array of rows of several lengths")
    return [leaf for each in value for leaf in _leaves(each, shape, depth + 1)]


@method_row
def fill_(emit: FunctionBuilder, a: Value, value: Value) -> Value:
    if not isinstance(a, Array):
        raise Unsupported("fill of an array that has no name")
    assign(emit, a, value)
    return Known(None)


@method_row
def item(emit: FunctionBuilder, a: Value, *args: Value) -> Value:
    from .views import flattened_array  # which copies arrays

    if len(args) == 1:
        return element_of(emit, flattened_array(emit, a), args[0])
    if args:
        return element_of(emit, a, args)
    inner = lazy(emit, in_memory(emit, a))
    for length in inner.shape:
        require(emit, emit.operation(operator.eq, length, Known(1)), "item of several elements")
    return inner.element([Known(0)] * len(inner.shape))
