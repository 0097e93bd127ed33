"""Parts of arrays by indices: views, and the copies of integer and boolean indexing."""

import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .array_table import FUNCTIONS
from .arrays import (
    assign,
    broadcast,
    fill,
    fresh,
    in_memory,
    is_one,
    lazy,
    nest,
    position_of,
    require,
    require_same,
    shape_of,
)
from .elements import from_the_end, position, row_strides
from .emit import FunctionBuilder
from .syntax import Unsupported
from .tuples import is_tuple
from .values import BOOL, INT, KNOWN_0, Array, Known, Lazy, List, Number, Slice, Value, whole
from .views import WHOLE, view

__all__ = ["part", "places_of", "set_part"]


def part(emit: FunctionBuilder, array: Array | Lazy, index: Value) -> Value:
    """array[index]"""
    array = in_memory(emit, array)  # pyright: ignore
    assert isinstance(array, Array)
    indices = _full(emit, array, index)
    if any(isinstance(each, (Array, Lazy)) for each in indices):
        return _selected(emit, array, indices)
    return view(emit, array, indices)


def set_part(emit: FunctionBuilder, array: Array, index: Value, value: Value) -> None:
    """array[index] = value"""
    indices = _full(emit, array, index)
    if not any(isinstance(each, (Array, Lazy)) for each in indices):
        assign(emit, view(emit, array, indices), value)
    elif (mask := _mask_of(indices)) is not None:
        _set_masked(emit, _masked_part(emit, array, indices), mask, value)
    else:
        emit.writes.note(array.place.buffer)
        value = _apart(emit, value, array)
        gathered = _Gathered(emit, array, indices)
        _, (value,) = broadcast(emit, [lazy(emit, value)], gathered.shape)
        strides = row_strides(emit, gathered.array)
        with nest(emit, gathered.shape) as at:
            here = gathered.at(emit, at)
            emit.store(gathered.array.place, position_of(emit, strides, here), value.element(at))


def _apart(emit: FunctionBuilder, value: Value, array: Array) -> Value:
    """A value in memory, where no part of an array is: a copy, if it is a view of it."""
    value = in_memory(emit, value)
    if isinstance(value, Array) and whole(value.place.buffer) == whole(array.place.buffer):
        return in_memory(emit, lazy(emit, value))
    return value


def _full(emit: FunctionBuilder, array: Array, index: Value) -> list[Value]:
    """The indices, one for each axis and new axis; lists are arrays."""
    given: list[Value] = [index]
    if isinstance(index, tuple) and not isinstance(index, List):
        given = list(index)
    if any(isinstance(x, Known) and isinstance(x.value, bool) for x in given):
        raise Unsupported("a bool as an index")
    given = [FUNCTIONS[np.array](emit, x) if is_tuple(x) else x for x in given]
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
    """The mask that selects along the first axes; None where arrays of integers select, for which
    masks of one axis stand, too."""
    several = [i for i, each in enumerate(indices) if isinstance(each, (Array, Lazy))]
    found = indices[several[0]]
    if len(several) > 1 or not isinstance(found, (Array, Lazy)) or _dtype(found) != BOOL:
        return None
    before, rest = indices[: several[0]], indices[several[0] + 1 :]
    is_first = not any(map(_is_slice, before)) and all(each is WHOLE for each in rest)
    return found if is_first or len(found.shape) > 1 else None


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
    gathered = _Gathered(emit, array, indices)
    inner = lazy(emit, gathered.array)

    def element(at: Sequence[Value]) -> Value:
        return inner.element(gathered.at(emit, at))

    sources = ((array, False), *((x, False) for each in gathered.places for x, _ in each.sources))
    return Lazy(gathered.shape, array.place.dtype, element, sources, cheap=True)


class _Gathered:
    """The elements that arrays of integers select: `array` is the view of the other indices, and
    `places` are positions along its `axes`, in arrays that are broadcast."""

    def __init__(self, emit: FunctionBuilder, array: Array, indices: Sequence[Value]):
        numbers = [i for i, x in enumerate(indices) if not _is_slice(x)]
        arrays = [i for i in numbers if isinstance(indices[i], (Array, Lazy))]
        kept = [i for i, x in enumerate(indices) if _is_slice(x) or i in arrays]
        self.array = view(emit, array, [WHOLE if i in arrays else x for i, x in enumerate(indices)])
        self.axes = [kept.index(i) for i in arrays]
        lengths = [self.array.shape[axis] for axis in self.axes]
        given = [_positions(emit, indices[i], n) for i, n in zip(arrays, lengths, strict=True)]
        self.common, self.places = broadcast(emit, given)
        # The axes of the positions come first where a slice stands between two indices.
        is_joint = numbers[-1] - numbers[0] == len(numbers) - 1
        self._first = sum(_is_slice(x) for x in indices[: numbers[0]]) if is_joint else 0
        rest = [n for axis, n in enumerate(self.array.shape) if axis not in self.axes]
        self.shape = (*rest[: self._first], *self.common, *rest[self._first :])

    def at(self, emit: FunctionBuilder, at: Sequence[Value]) -> list[Value]:
        """The indices in `array` for indices in the result."""
        end = self._first + len(self.common)
        chosen = [places.element(at[self._first : end]) for places in self.places]
        rest = iter([*at[: self._first], *at[end:]])
        return [
            from_the_end(emit, chosen[self.axes.index(axis)], length)
            if axis in self.axes else next(rest)
            for axis, length in enumerate(self.array.shape)
        ]  # fmt: skip


def _is_slice(index: Value) -> bool:
    return isinstance(index, Slice) or (isinstance(index, Known) and index.value is None)


def _positions(emit: FunctionBuilder, index: Value, length: Number) -> Lazy:
    """The positions that an array of integers or bools stands for, along an axis of a length."""
    index = in_memory(emit, index)
    assert isinstance(index, Array)
    if index.place.dtype == BOOL and len(index.shape) == 1:
        require_same(emit, index.shape[0], length)
        return lazy(emit, _places(emit, lazy(emit, index)))
    if index.place.dtype.kind not in "iu":
        raise Unsupported(f"an array of {index.place.dtype} among several indices: use a loop")
    return lazy(emit, index)


def _mask(emit: FunctionBuilder, array: Array, mask: Value) -> tuple[Lazy, int]:
    """A mask in memory, and the number of axes that it stands for."""
    kept = in_memory(emit, mask)
    for x, y in zip(shape_of(kept), array.shape, strict=False):
        require_same(emit, x, y)
    return lazy(emit, kept), len(shape_of(kept))


def places_of(emit: FunctionBuilder, array: Value) -> Array:
    """The places where an array of one axis is not 0."""
    inner = lazy(emit, in_memory(emit, array))
    mask = replace(inner, dtype=BOOL, element=lambda at: emit.truth(inner.element(at)))
    return _places(emit, mask)


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
    count = _count(emit, mask)
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
    bits, rank = _mask(emit, array, mask)
    rest, strides = array.shape[rank:], row_strides(emit, array)
    given = lazy(emit, _apart(emit, value, array))
    by_rows = len(given.shape) > len(rest)
    _, (given,) = broadcast(emit, [given], (*given.shape[:1], *rest) if by_rows else rest)
    several = by_rows and not is_one(given.shape[0])
    if several:
        require(
            emit, emit.operation(operator.eq, _count(emit, bits), given.shape[0]),
            "as many rows of values as the mask has true elements are needed",
        )  # fmt: skip
    here = emit.accumulator(Known(0), INT)
    with nest(emit, bits.shape) as at:
        with emit.block() as then:
            row = emit.settled(here)
            with nest(emit, rest) as inner:
                where = [row if several else KNOWN_0, *inner] if by_rows else inner
                place = position_of(emit, strides, [*at, *inner])
                emit.store(array.place, place, given.element(where))
            emit.accumulate(here, emit.operation(operator.add, row, Known(1)))
        emit.branch(emit.truth(bits.element(at)), then, [])


def _count(emit: FunctionBuilder, mask: Lazy) -> Number:
    """The number of true elements."""
    total = emit.accumulator(KNOWN_0, INT)
    with nest(emit, mask.shape) as at:
        one = emit.cast(mask.element(at), INT)
        emit.accumulate(total, emit.operation(operator.add, total, one))
    return emit.typed(emit.settled(total))


def _set_by(
    function: Any, emit: FunctionBuilder, array: Value, indices: Value, value: Value
) -> Value:
    """`np.add.at(array, indices, value)` and its kin: each element once for each of its indices."""
    from .calls import call  # which calls functions of arrays

    index = _full(emit, array, indices) if isinstance(array, Array) else []
    if not isinstance(array, Array) or not any(isinstance(x, (Array, Lazy)) for x in index):
        raise Unsupported(f"np.{function.__name__}.at of such arguments")
    if not array.mutable or _mask_of(index) is not None:
        raise Unsupported(f"np.{function.__name__}.at of a read-only array, or by a mask")
    emit.writes.note(array.place.buffer)
    gathered = _Gathered(emit, array, index)
    given = lazy(emit, _apart(emit, value, array))
    _, (given,) = broadcast(emit, [given], gathered.shape)
    strides, place = row_strides(emit, gathered.array), gathered.array.place
    if not np.can_cast(given.dtype, place.dtype, "same_kind"):
        raise Unsupported(f"np.{function.__name__}.at of {given.dtype} into {place.dtype}")
    with nest(emit, gathered.shape) as at:
        where = position_of(emit, strides, gathered.at(emit, at))
        each = given.element(at)
        if function is np.add:
            emit.add_to(place, where, emit.cast(each, place.dtype))
        else:
            emit.store(place, where, call(emit, function, (emit.load(place, where), each)))
    return Known(None)


for _ufunc in (np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.power):
    FUNCTIONS[_ufunc.at] = partial(_set_by, _ufunc)
