"""Parts of arrays by indices: views, and the copies of integer and boolean indexing."""

import operator
from collections.abc import Sequence

import numpy as np

from .arrays import (
    assign,
    broadcast,
    fill,
    fresh,
    in_memory,
    lazy,
    nest,
    position_of,
    require_same,
    shape_of,
)
from .elements import from_the_end, position, row_strides
from .emit import FunctionBuilder
from .syntax import Unsupported
from .values import BOOL, INT, Array, Known, Lazy, Number, Slice, Value
from .views import WHOLE, view

__all__ = ["part", "set_part"]


def part(emit: FunctionBuilder, array: Array | Lazy, index: Value) -> Value:
    """array[index]"""
    array = in_memory(emit, array)  # pyright: ignore
    assert isinstance(array, Array)
    indices = _full(array, index)
    if any(isinstance(each, (Array, Lazy)) for each in indices):
        return _selected(emit, array, indices)
    return view(emit, array, indices)


def set_part(emit: FunctionBuilder, array: Array, index: Value, value: Value) -> None:
    """array[index] = value"""
    indices = _full(array, index)
    if not any(isinstance(each, (Array, Lazy)) for each in indices):
        assign(emit, view(emit, array, indices), value)
    elif (mask := _mask_of(indices)) is not None:
        _set_masked(emit, _masked_part(emit, array, indices), mask, value)
    else:
        emit.writes.note(array.place.buffer)
        value = in_memory(emit, value)
        chosen, places, axis = _gathered(emit, array, indices)
        shape = (*chosen.shape[:axis], *places.shape, *chosen.shape[axis + 1 :])
        _, (value,) = broadcast(emit, [lazy(emit, value)], shape)
        strides = row_strides(emit, chosen)
        with nest(emit, shape) as at:
            here = _at(emit, at, places, axis, chosen.shape[axis])
            emit.store(chosen.place, position_of(emit, strides, here), value.element(at))


def _full(array: Array, index: Value) -> list[Value]:
    """The indices, one for each axis and new axis."""
    given = list(index) if isinstance(index, tuple) else [index]
    indices: list[Value] = []
    taken = sum(_axes(each) for each in given)
    if taken > len(array.shape):
        raise Unsupported("too many indices for an array")
    missing: list[Value] = [WHOLE] * (len(array.shape) - taken)
    for each in given:
        if isinstance(each, Known) and each.value is Ellipsis:
            indices += missing
            missing = []
        else:
            indices.append(each)
    return [*indices, *missing]


def _axes(index: Value) -> int:
    """The number of axes that an index stands for."""
    if isinstance(index, Known) and (index.value is None or index.value is Ellipsis):
        return 0
    if isinstance(index, (Array, Lazy)) and _dtype(index) == BOOL:
        return len(index.shape)
    return 1


def _dtype(value: Array | Lazy) -> np.dtype:
    return value.dtype if isinstance(value, Lazy) else value.place.dtype


# -- integer and boolean indexing -----------------------------------------------------------------


def _mask_of(indices: Sequence[Value]) -> Array | Lazy | None:
    """The mask among indices."""
    several = [each for each in indices if isinstance(each, (Array, Lazy))]
    masks = [each for each in several if _dtype(each) == BOOL]
    if masks and len(several) > 1:
        raise Unsupported("an index of several arrays: use a loop")
    return masks[0] if masks else None


def _masked_part(emit: FunctionBuilder, array: Array, indices: Sequence[Value]) -> Array:
    """The part of an array from which a mask selects along the first axes; the indices before it
    are integers."""
    mask = _mask_of(indices)
    place = next(i for i, each in enumerate(indices) if each is mask)
    before, rest = indices[:place], indices[place + 1 :]
    if any(isinstance(each, Slice) for each in before) or any(each is not WHOLE for each in rest):
        raise Unsupported("a mask with slices or behind them: use a loop")
    missing = [WHOLE] * (len(array.shape) - len(before))
    return view(emit, array, [*before, *missing]) if before else array


def _selected(emit: FunctionBuilder, array: Array, indices: Sequence[Value]) -> Value:
    if (mask := _mask_of(indices)) is not None:
        return _masked(emit, _masked_part(emit, array, indices), mask)
    chosen, places, axis = _gathered(emit, array, indices)
    inner = lazy(emit, chosen)
    shape = (*chosen.shape[:axis], *places.shape, *chosen.shape[axis + 1 :])

    def element(at: Sequence[Value]) -> Value:
        return inner.element(_at(emit, at, places, axis, chosen.shape[axis]))

    sources = ((array, False), *((x, False) for x, _ in places.sources))
    return Lazy(shape, array.place.dtype, element, sources, cheap=True)


def _gathered(
    emit: FunctionBuilder, array: Array, indices: Sequence[Value]
) -> tuple[Array, Lazy, int]:
    """The array of the other indices, the positions along the axis that an array selects, and the
    number of that axis."""
    several = [each for each in indices if isinstance(each, (Array, Lazy))]
    if len(several) > 1 or any(_dtype(each).kind not in "iu" for each in several):
        raise Unsupported("an index of several arrays: use a loop")
    others = [WHOLE if isinstance(each, (Array, Lazy)) else each for each in indices]
    before = others[: next(i for i, x in enumerate(indices) if isinstance(x, (Array, Lazy)))]
    axis = sum(isinstance(x, Slice) or (isinstance(x, Known) and x.value is None) for x in before)
    places = lazy(
        emit, several[0] if isinstance(several[0], Array) else in_memory(emit, several[0])
    )
    return view(emit, array, others), places, axis


def _at(
    emit: FunctionBuilder, at: Sequence[Value], places: Lazy, axis: int, length: Number
) -> list[Value]:
    """The indices in an array, along one axis of which elements are selected."""
    rank = len(places.shape)
    chosen = places.element(at[axis : axis + rank])
    return [*at[:axis], from_the_end(emit, chosen, length), *at[axis + rank :]]


def _mask(emit: FunctionBuilder, array: Array, mask: Value) -> tuple[Lazy, int]:
    """A mask in memory, and the number of axes that it stands for."""
    kept = in_memory(emit, mask)
    for x, y in zip(shape_of(kept), array.shape, strict=False):
        require_same(emit, x, y)
    return lazy(emit, kept), len(shape_of(kept))


def _places(emit: FunctionBuilder, mask: Lazy) -> Array:
    """The places where a mask of one axis is true. A derivative needs these, and not the mask."""
    (length,) = mask.shape
    room, end = fresh(emit, (length,), INT), emit.accumulator(Known(0), INT)
    with nest(emit, [length]) as (i,):
        row = emit.typed(emit.settled(end))
        emit.store(room.place, position(emit, row), i)
        more = emit.operation(operator.add, row, emit.cast(mask.element([i]), INT))
        emit.accumulate(end, more)
    count = emit.typed(emit.settled(end))
    kept = fresh(emit, (Number(count.operand, INT, True),), INT)
    fill(emit, kept, lazy(emit, room))
    return kept


def _masked(emit: FunctionBuilder, array: Array, given: Value) -> Value:
    """array[mask]: the elements where a mask is true."""
    mask, rank = _mask(emit, array, given)
    if rank == 1:
        places, source = lazy(emit, _places(emit, mask)), lazy(emit, array)

        def element(at: Sequence[Value]) -> Value:
            here = Number(emit.typed(places.element(at[:1])).operand, INT, True)
            return source.element([here, *at[1:]])

        shape = (*places.shape, *array.shape[1:])
        return Lazy(shape, array.place.dtype, element, ((array, False),), cheap=True)
    total = emit.accumulator(Known(0), INT)
    with nest(emit, mask.shape) as at:
        emit.accumulate(
            total, emit.operation(operator.add, total, emit.cast(mask.element(at), INT))
        )
    count = emit.settled(total)
    assert isinstance(count, Number)
    rest = array.shape[rank:]
    found = fresh(emit, (Number(count.operand, INT, True), *rest), array.place.dtype)
    source = lazy(emit, array)
    strides = row_strides(emit, found)
    here = emit.accumulator(Known(0), INT)
    with nest(emit, mask.shape) as at:
        with emit.block() as then:
            row = emit.settled(here)
            with nest(emit, rest) as inner:
                where = position_of(emit, strides, [row, *inner])
                emit.store(found.place, where, source.element([*at, *inner]))
            emit.accumulate(here, emit.operation(operator.add, row, Known(1)))
        emit.branch(emit.truth(mask.element(at)), then, [])
    return found


def _set_masked(emit: FunctionBuilder, array: Array, mask: Value, value: Value) -> None:
    """array[mask] = value"""
    if not array.mutable:
        raise Unsupported("assignment to an element of an array that is read-only")
    emit.writes.note(array.place.buffer)
    value = in_memory(emit, value)
    bits, rank = _mask(emit, array, mask)
    if rank != len(array.shape) or len(shape_of(value)) > 1:
        raise Unsupported("assignment by a mask of fewer axes: use a loop")
    given, strides = lazy(emit, value), row_strides(emit, array)
    here = emit.accumulator(Known(0), INT)
    with nest(emit, bits.shape) as at:
        with emit.block() as then:
            row = emit.settled(here)
            element = given.element([row] if given.shape else [])
            emit.store(array.place, position_of(emit, strides, at), element)
            emit.accumulate(here, emit.operation(operator.add, row, Known(1)))
        emit.branch(emit.truth(bits.element(at)), then, [])
