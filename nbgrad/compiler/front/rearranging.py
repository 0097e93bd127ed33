"""Functions of NumPy that join, reorder, sort and search arrays."""

import operator
from collections.abc import Sequence

import numpy as np

from . import algebra
from .array_table import axis_of, function_row, known_of, method_row
from .arrays import (
    assign,
    broadcast,
    fill,
    fresh,
    in_memory,
    is_array,
    lazy,
    number,
    require_same,
    shape_of,
)
from .elements import from_the_end
from .elementwise import loop_dtype
from .emit import FunctionBuilder
from .products import read
from .selection import part
from .syntax import Unsupported
from .tuples import is_tuple
from .values import (
    INT,
    KNOWN_0,
    KNOWN_1,
    Array,
    Known,
    Lazy,
    Number,
    Slice,
    Value,
    members,
)
from .views import flattened_array, reshaped, transposed

__all__ = ["concatenate"]

_LEFT, _BY_ROWS, _LAST = Known("left"), Known("C"), Known(-1)

# -- joining --------------------------------------------------------------------------------------


def _arrays(emit: FunctionBuilder, arrays: Value, axis: int | None = None) -> list[Lazy]:
    """The arrays that are joined, of one rank; with a new `axis` where they have one axis."""
    parts = [lazy(emit, each) for each in members(arrays)]
    if axis is not None:
        parts = [_with_axis(x, axis) if len(x.shape) == 1 else x for x in parts]
    if not parts or len({len(each.shape) for each in parts}) != 1:
        raise Unsupported("joining arrays of several numbers of axes")
    return parts


def _joined(emit: FunctionBuilder, parts: Sequence[Lazy], axis: int) -> Array:
    """The parts one after another along an axis."""
    first = parts[0]
    total: Value = first.shape[axis]
    for each in parts[1:]:
        for i, (x, y) in enumerate(zip(first.shape, each.shape, strict=True)):
            if i != axis:
                require_same(emit, x, y)
        total = emit.operation(operator.add, total, each.shape[axis])
    shape = list(first.shape)
    shape[axis] = emit.typed(total)
    made = fresh(emit, shape, loop_dtype(emit, parts))
    start: Value = KNOWN_0
    for each in parts:
        stop = emit.settled(emit.operation(operator.add, start, each.shape[axis]))
        index: list[Value] = [Slice(None, None, None)] * len(shape)
        index[axis] = Slice(start, stop, None)
        view = part(emit, made, tuple(index))
        assert isinstance(view, Array)
        fill(emit, Array(view.place, each.shape, view.strides), each)
        start = stop
    return made


def _with_axis(each: Lazy, axis: int) -> Lazy:
    """The array with a new axis of length 1."""
    shape = (*each.shape[:axis], number(1), *each.shape[axis:])
    return Lazy(
        shape, each.dtype, lambda at: each.element([*at[:axis], *at[axis + 1 :]]),
        tuple((x, False) for x, _ in each.sources), each.cheap,
    )  # fmt: skip


@function_row(np.concatenate)
def concatenate(emit: FunctionBuilder, arrays: Value, axis: Value = KNOWN_0) -> Value:
    parts = _arrays(emit, arrays)
    where = axis_of(axis, len(parts[0].shape))
    if where is None:
        raise Unsupported("np.concatenate without an axis")
    return _joined(emit, parts, where)


@function_row(np.stack)
def stack(emit: FunctionBuilder, arrays: Value, axis: Value = KNOWN_0) -> Value:
    parts = _arrays(emit, arrays)
    where = axis_of(axis, len(parts[0].shape) + 1)
    assert where is not None
    return _joined(emit, [_with_axis(each, where) for each in parts], where)


@function_row(np.vstack)
def vstack(emit: FunctionBuilder, tup: Value) -> Value:
    return _joined(emit, _arrays(emit, tup, 0), 0)


@function_row(np.hstack)
def hstack(emit: FunctionBuilder, tup: Value) -> Value:
    parts = _arrays(emit, tup)
    return _joined(emit, parts, 0 if len(parts[0].shape) == 1 else 1)


@function_row(np.column_stack)
def column_stack(emit: FunctionBuilder, tup: Value) -> Value:
    return _joined(emit, _arrays(emit, tup, 1), 1)


# -- other orders ---------------------------------------------------------------------------------


def _sliced(emit: FunctionBuilder, a: Value, axis: int, index: Slice) -> Value:
    whole: list[Value] = [Slice(None, None, None)] * len(shape_of(a))
    whole[axis] = index
    array = in_memory(emit, a)
    assert isinstance(array, Array)
    return part(emit, array, tuple(whole))


@function_row(np.flip)
def flip(emit: FunctionBuilder, m: Value, axis: "Value | None" = None) -> Value:
    where, found = axis_of(axis, len(shape_of(m))), m
    for each in range(len(shape_of(m))) if where is None else (where,):
        found = _sliced(emit, found, each, Slice(None, None, Known(-1)))
    return found


@function_row(np.flipud)
def flipud(emit: FunctionBuilder, m: Value) -> Value:
    return flip(emit, m, Known(0))


@function_row(np.fliplr)
def fliplr(emit: FunctionBuilder, m: Value) -> Value:
    return flip(emit, m, Known(1))


@function_row(np.diff)
def diff(emit: FunctionBuilder, a: Value, n: Value = KNOWN_1) -> Value:
    found, last = a, len(shape_of(a)) - 1
    for _ in range(known_of(n, "the order of np.diff")):
        found = in_memory(emit, found)
        later = _sliced(emit, found, last, Slice(Known(1), None, None))
        sooner = _sliced(emit, found, last, Slice(None, Known(-1), None))
        found = emit.operation(operator.sub, later, sooner)
    return found


@function_row(np.roll)
def roll(emit: FunctionBuilder, a: Value, shift: Value, axis: "Value | None" = None) -> Value:
    value = lazy(emit, a if lazy(emit, a).cheap else in_memory(emit, a))
    where = axis_of(axis, len(value.shape))
    if where is None:
        if len(value.shape) != 1:
            raise Unsupported("np.roll of several axes without an axis")
        where = 0
    length = value.shape[where]
    by = emit.settled(emit.operation(operator.mod, shift, length))

    def element(at: Sequence[Value]) -> Value:
        before = emit.operation(operator.sub, at[where], by)
        return value.element([*at[:where], from_the_end(emit, before, length), *at[where + 1 :]])

    sources = tuple((x, False) for x, _ in value.sources)
    return Lazy(value.shape, value.dtype, element, sources, True)


@method_row
@function_row(np.transpose)
def transpose(emit: FunctionBuilder, a: Value, *axes: Value) -> Value:
    given = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, Known)) else axes
    order = known_of(given, "the axes of a transposition") if axes else None
    return transposed(emit, a, None if not order else [x % len(shape_of(a)) for x in order])


@function_row(np.reshape)
def reshape(emit: FunctionBuilder, a: Value, shape: Value, order: Value = _BY_ROWS) -> Value:
    if known_of(order, "an order") != "C":
        raise Unsupported("np.reshape in another order than that of rows")
    return reshaped(emit, a, members(shape) if _is_tuple(shape) else (shape,))


def _is_tuple(value: Value) -> bool:
    return is_tuple(value)


@method_row
def reshape_(emit: FunctionBuilder, a: Value, *newshape: Value) -> Value:
    is_whole = len(newshape) == 1 and _is_tuple(newshape[0])
    return reshaped(emit, a, members(newshape[0]) if is_whole else newshape)


@method_row
@function_row(np.ravel)
def ravel(emit: FunctionBuilder, a: Value) -> Value:
    return flattened_array(emit, a)


@method_row
def flatten(emit: FunctionBuilder, a: Value) -> Value:
    flat = flattened_array(emit, a)
    copy = fresh(emit, flat.shape, flat.place.dtype)
    fill(emit, copy, lazy(emit, flat))
    return copy


@function_row(np.expand_dims)
def expand_dims(emit: FunctionBuilder, a: Value, axis: Value) -> Value:
    where = axis_of(axis, len(shape_of(a)) + 1)
    assert where is not None
    index: list[Value] = [Slice(None, None, None)] * len(shape_of(a))
    array = in_memory(emit, a)
    assert isinstance(array, Array)
    return part(emit, array, (*index[:where], Known(None), *index[where:]))


@function_row(np.tril)
def tril(emit: FunctionBuilder, m: Value, k: Value = KNOWN_0) -> Value:
    return _triangle(emit, m, k, operator.le)


@function_row(np.triu)
def triu(emit: FunctionBuilder, m: Value, k: Value = KNOWN_0) -> Value:
    return _triangle(emit, m, k, operator.ge)


def _triangle(emit: FunctionBuilder, m: Value, k: Value, compare: object) -> Value:
    value = lazy(emit, m)

    def element(at: Sequence[Value]) -> Value:
        edge = emit.operation(operator.add, at[-2], k)
        inside = emit.truth(emit.operation(compare, at[-1], edge))  # pyright: ignore
        both = [emit.typed(value.element(at)), emit.cast(Known(0), value.dtype)]
        return emit.applied("select", [inside, *both], value.dtype)

    return Lazy(value.shape, value.dtype, element, value.sources)


@function_row(np.diag)
def diag(emit: FunctionBuilder, v: Value) -> Value:
    value = lazy(emit, v if lazy(emit, v).cheap else in_memory(emit, v))
    sources = tuple((x, False) for x, _ in value.sources)
    if len(value.shape) == 2:
        length = emit.typed(emit.extreme(min, list(value.shape)))
        shape = (Number(length.operand, INT, True),)
        return Lazy(shape, value.dtype, lambda at: value.element([at[0]] * 2), sources, True)

    def element(at: Sequence[Value]) -> Value:
        same = emit.truth(emit.operation(operator.eq, at[0], at[1]))
        both = [emit.typed(value.element(at[:1])), emit.cast(Known(0), value.dtype)]
        return emit.applied("select", [same, *both], value.dtype)

    return Lazy(value.shape * 2, value.dtype, element, sources, True)


# -- sorting and searching ------------------------------------------------------------------------


@method_row
@function_row(np.argsort)
def argsort(emit: FunctionBuilder, a: Value) -> Value:
    if len(shape_of(a)) != 1:
        raise Unsupported("np.argsort of more than one axis")
    return read(emit, algebra.places_in_order, a)


@function_row(np.sort)
def sort(emit: FunctionBuilder, a: Value) -> Value:
    array = in_memory(emit, a)
    assert isinstance(array, Array)
    return part(emit, array, argsort(emit, array))


@method_row
def sort_(emit: FunctionBuilder, a: Value, axis: Value = _LAST) -> Value:
    from .calls import call  # which calls functions of arrays

    if not isinstance(a, Array):
        raise Unsupported("sort of an array that has no name")
    rows = sort(emit, a) if len(a.shape) == 1 else call(emit, np.sort, (a,), {"axis": axis})
    assign(emit, a, in_memory(emit, rows))
    return Known(None)


@method_row
def partition_(emit: FunctionBuilder, a: Value, kth: Value, axis: Value = _LAST) -> Value:
    from .calls import call  # which calls functions of arrays

    if not isinstance(a, Array):
        raise Unsupported("partition of an array that has no name")
    assign(emit, a, in_memory(emit, call(emit, np.partition, (a, kth), {"axis": axis})))
    return Known(None)


@function_row(np.searchsorted)
def searchsorted(emit: FunctionBuilder, a: Value, v: Value, side: Value = _LEFT) -> Value:
    kind = known_of(side, "the side of np.searchsorted")
    function = algebra.places_left if kind == "left" else algebra.places_right
    if is_array(v):
        return read(emit, function, a, v)
    one = fresh(emit, (number(1),), emit.dtype(v))
    fill(emit, one, broadcast(emit, [lazy(emit, v)], one.shape)[1][0])
    found = read(emit, function, a, one)
    return lazy(emit, found).element([number(0)])
