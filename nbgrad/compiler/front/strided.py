"""Views with strides of their own: broadcast arrays, diagonals and windows."""

import operator
from collections.abc import Sequence

import numpy as np

from .array_table import axis_of, function_row, known_of, method_row, shape_from
from .arrays import (
    broadcast,
    in_memory,
    is_one,
    lazy,
    number,
    require,
    require_same,
    shape_of,
)
from .elements import moved, product, row_strides
from .emit import FunctionBuilder
from .refusals import described
from .syntax import Unsupported
from .values import INT, KNOWN_0, KNOWN_1, KNOWN_FALSE, Array, Known, Number, Value

__all__ = ["repeated"]


def _strided(emit: FunctionBuilder, value: Value) -> tuple[Array, list[Number]]:
    """An array in memory, and its strides."""
    array = in_memory(emit, value)
    if not isinstance(array, Array):
        raise Unsupported("a view of a number")
    return array, [emit.typed(x) for x in row_strides(emit, array)]


def _added(emit: FunctionBuilder, x: Value, y: int) -> Value:
    return emit.operation(operator.add, x, Known(y)) if y else x


# -- broadcasting ---------------------------------------------------------------------------------


@function_row(np.broadcast_to)
def broadcast_to(emit: FunctionBuilder, array: Value, shape: Value) -> Value:
    return repeated(emit, array, shape_from(emit, shape))


@function_row(np.broadcast_arrays)
def broadcast_arrays(emit: FunctionBuilder, *args: Value) -> Value:
    shape, _ = broadcast(emit, [lazy(emit, x) for x in args])
    return tuple(repeated(emit, x, shape) for x in args)


def repeated(emit: FunctionBuilder, value: Value, shape: Sequence[Number]) -> Value:
    """A value in a shape: a view, in which repeated axes have the stride 0."""
    _, (found,) = broadcast(emit, [lazy(emit, value)], shape)
    if not isinstance(value, Array):
        return found
    gained = len(shape) - len(value.shape)
    strides = [number(0)] * gained
    for length, wanted, stride in zip(
        value.shape, shape[gained:], row_strides(emit, value), strict=True
    ):
        strides.append(number(0) if is_one(length) and not is_one(wanted) else emit.typed(stride))
    return Array(value.place, tuple(shape), tuple(strides), False)


@function_row(np.einsum)
def einsum(emit: FunctionBuilder, subscripts: Value, *operands: Value) -> Value:
    """Axes in another order, and diagonals: calls that sum nothing give views."""
    text = str(getattr(subscripts, "value", "")).replace(" ", "")
    given, arrow, wanted = text.partition("->")
    array = in_memory(emit, operands[0]) if len(operands) == 1 else None
    is_view = arrow and set(given) == set(wanted) and len(set(wanted)) == len(wanted)
    if not (is_view and given.isalpha() and isinstance(array, Array)):
        raise Unsupported(described(np.einsum))
    if len(array.shape) != len(given):
        raise Unsupported(f"np.einsum: {given} has not as many letters as the array has axes")
    lengths: dict[str, Number] = {}
    steps: dict[str, Value] = {}
    for letter, length, step in zip(given, array.shape, row_strides(emit, array), strict=True):
        require_same(emit, length, lengths.setdefault(letter, length))
        steps[letter] = emit.operation(operator.add, steps.get(letter, KNOWN_0), step)
    return Array(
        array.place, tuple(lengths[x] for x in wanted),
        tuple(emit.typed(steps[x]) for x in wanted), array.mutable,
    )  # fmt: skip


# -- diagonals ------------------------------------------------------------------------------------


@method_row
@function_row(np.diagonal)
def diagonal(
    emit: FunctionBuilder, a: Value, offset: Value = KNOWN_0, axis1: Value = KNOWN_0,
    axis2: Value = KNOWN_1,
) -> Value:  # fmt: skip
    array, strides = _strided(emit, a)
    rank, by = len(array.shape), known_of(offset, "an offset")
    first, second = (axis_of(x, rank) for x in (axis1, axis2))
    if first is None or second is None or first == second:
        raise Unsupported("a diagonal of one axis")
    before = {first: max(-by, 0), second: max(by, 0)}
    place, lengths = array.place, []
    for axis, count in before.items():
        if count:
            place = moved(emit, place, product(emit, strides[axis], Known(count)))
        lengths.append(_added(emit, array.shape[axis], -count))
    if by:
        lengths = [emit.extreme(max, [x, KNOWN_0]) for x in lengths]
    length = emit.typed(emit.extreme(min, lengths))
    step = emit.typed(emit.operation(operator.add, strides[first], strides[second]))
    rest = [axis for axis in range(rank) if axis not in before]
    return Array(
        place, (*(array.shape[x] for x in rest), Number(length.operand, INT, True)),
        (*(strides[x] for x in rest), step), False,
    )  # fmt: skip


if hasattr(np.linalg, "diagonal"):  # since NumPy 2.0

    @function_row(np.linalg.diagonal)
    def of_last_axes(emit: FunctionBuilder, x: Value, offset: Value = KNOWN_0) -> Value:
        rank = len(shape_of(x))
        return diagonal(emit, x, offset, Known(rank - 2), Known(rank - 1))


# -- windows --------------------------------------------------------------------------------------


@function_row(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    emit: FunctionBuilder, x: Value, window_shape: Value, axis: "Value | None" = None,
    subok: Value = KNOWN_FALSE, writeable: Value = KNOWN_FALSE,
) -> Value:  # fmt: skip
    """Windows that cannot be written to, as those of tracked arrays: they overlap."""
    array, strides = _strided(emit, x)
    rank, windows = len(array.shape), shape_from(emit, window_shape)
    along = known_of(axis, "an axis")
    axes = tuple(range(rank)) if along is None else along if isinstance(along, tuple) else (along,)
    if len(axes) != len(windows) or not all(-rank <= each < rank for each in axes):
        raise Unsupported("windows of other axes than the array has")
    shape = list(array.shape)
    for place, window in zip(axes, windows, strict=True):
        least = emit.operation(operator.le, window, shape[place])
        require(emit, least, "window shape cannot be larger than input array shape")
        count = emit.operation(operator.sub, _added(emit, shape[place], 1), window)
        shape[place] = Number(emit.typed(count).operand, INT, True)
    return Array(
        array.place, (*shape, *windows), (*strides, *(strides[place] for place in axes)),
        False,
    )  # fmt: skip
