"""Parts of arrays: views, which share memory, and the copies of integer and boolean indexing."""

import operator
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .arrays import (
    assign,
    broadcast,
    count_of,
    fill,
    fresh,
    in_memory,
    lazy,
    nest,
    number,
    position_of,
    require,
    require_same,
    shape_of,
)
from .elements import from_the_end, moved, product, row_strides
from .emit import FunctionBuilder
from .syntax import Unsupported
from .values import BOOL, INT, KNOWN_0, KNOWN_1, Array, Known, Lazy, Number, Slice, Value

__all__ = ["flattened_array", "part", "reshaped", "set_part", "transposed"]


def part(emit: FunctionBuilder, array: Array | Lazy, index: Value) -> Value:
    """array[index]"""
    array = in_memory(emit, array)  # pyright: ignore
    assert isinstance(array, Array)
    indices = _full(array, index)
    if any(isinstance(each, (Array, Lazy)) for each in indices):
        return _selected(emit, array, indices)
    return _view(emit, array, indices)


def set_part(emit: FunctionBuilder, array: Array, index: Value, value: Value) -> None:
    """array[index] = value"""
    indices = _full(array, index)
    if not any(isinstance(each, (Array, Lazy)) for each in indices):
        assign(emit, _view(emit, array, indices), value)
    elif (mask := _mask_of(indices)) is not None:
        _set_masked(emit, _masked_part(emit, array, indices), mask, value)
    else:
        emit.writes.note(array.place.buffer)
        value = in_memory(emit, value)
        view, places, axis = _gathered(emit, array, indices)
        shape = (*view.shape[:axis], *places.shape, *view.shape[axis + 1 :])
        _, (value,) = broadcast(emit, [lazy(emit, value)], shape)
        strides = row_strides(emit, view)
        with nest(emit, shape) as at:
            here = _at(emit, at, places, axis, view.shape[axis])
            emit.store(view.place, position_of(emit, strides, here), value.element(at))


def _full(array: Array, index: Value) -> list[Value]:
    """The indices, one for each axis and new axis."""
    given = list(index) if isinstance(index, tuple) else [index]
    indices: list[Value] = []
    taken = sum(_axes(each) for each in given)
    if taken > len(array.shape):
        raise Unsupported("too many indices for an array")
    missing: list[Value] = [_ALL] * (len(array.shape) - taken)
    for each in given:
        if isinstance(each, Known) and each.value is Ellipsis:
            indices += missing
            missing = []
        else:
            indices.append(each)
    return [*indices, *missing]


_ALL = Slice(None, None, None)


def _axes(index: Value) -> int:
    """The number of axes that an index stands for."""
    if isinstance(index, Known) and (index.value is None or index.value is Ellipsis):
        return 0
    if isinstance(index, (Array, Lazy)) and _dtype(index) == BOOL:
        return len(index.shape)
    return 1


def _dtype(value: Array | Lazy) -> np.dtype:
    return value.dtype if isinstance(value, Lazy) else value.place.dtype


# -- views ----------------------------------------------------------------------------------------


def _view(emit: FunctionBuilder, array: Array, indices: Sequence[Value]) -> Array:
    """The view for integers, slices and new axes."""
    place, shape, strides = array.place, [], []
    own = iter(zip(array.shape, row_strides(emit, array), strict=True))
    is_contiguous, seen = array.strides is None, False
    for index in indices:
        if isinstance(index, Known) and index.value is None:
            shape.append(number(1))
            strides.append(number(1))
            is_contiguous = False
            continue
        length, stride = next(own)
        if isinstance(index, Slice):
            start, count, step = _bounds(emit, index, length)
            if not (isinstance(start, Known) and start.value == 0):
                place = moved(emit, place, product(emit, stride, start))
            shape.append(emit.typed(count))
            strides.append(emit.typed(product(emit, Known(step), stride)))
            is_whole = index.start is None and index.stop is None and step == 1
            if seen:
                is_contiguous &= is_whole
            is_contiguous &= step == 1
            seen = True
        else:
            is_contiguous &= not seen
            where = from_the_end(emit, emit.settled(index), length)
            place = moved(emit, place, product(emit, stride, where))
    kept = None if is_contiguous else tuple(strides)
    return Array(place, tuple(shape), kept, array.mutable)


def _bounds(emit: FunctionBuilder, index: Slice, length: Number) -> tuple[Value, Value, int]:
    """The first index, the number of elements and the step of a slice."""
    start, stop, step = index.start, index.stop, index.step
    if isinstance(step, Known) and step.value is None:
        step = None
    if step is not None and not (isinstance(step, Known) and isinstance(step.value, int)):
        raise Unsupported("a slice whose step is not a constant")
    by = 1 if step is None else step.value
    if by == 0:
        raise Unsupported("a slice of step 0")
    start, stop = (None if isinstance(x, Known) and x.value is None else x for x in (start, stop))
    if by == 1 and (width := _constant_width(emit, start, stop, length)):
        return start or KNOWN_0, width, by
    if by > 0:
        first = Known(0) if start is None else _clipped(emit, start, length)
        if start is None and stop is None:
            between: Value = length
        else:
            last = length if stop is None else _clipped(emit, stop, length)
            between = _not_below_0(emit, emit.operation(operator.sub, last, first))
    else:
        most = emit.operation(operator.sub, length, Known(1))
        first = most if start is None else _clipped_back(emit, start, length)
        last = Known(-1) if stop is None else _clipped_back(emit, stop, length)
        between = _not_below_0(emit, emit.operation(operator.sub, first, last))
    if abs(by) == 1:
        return first, between, by
    rounded = emit.operation(operator.add, between, Known(abs(by) - 1))
    rounded = _natural(emit, rounded)
    return first, _natural(emit, emit.operation(operator.floordiv, rounded, Known(abs(by)))), by


def _constant_width(
    emit: FunctionBuilder, start: "Value | None", stop: "Value | None", length: Number
) -> "Value | None":
    """The constant 1 for a slice such as x[2:3], of an axis that is broadcast; None for others."""
    low, high = (getattr(x, "value", x) for x in (start or KNOWN_0, stop))
    if not (type(low) is int and type(high) is int and low >= 0 and high == low + 1):
        return None
    enough = emit.operation(operator.ge, length, Known(high))
    require(emit, enough, f"the slice {low}:{high} of an axis that is shorter")
    return KNOWN_1


def _natural(emit: FunctionBuilder, value: Value) -> Value:
    here = emit.typed(value)
    return Number(here.operand, INT, True)


def _not_below_0(emit: FunctionBuilder, value: Value) -> Value:
    if isinstance(value, Known):
        return Known(max(value.value, 0))
    return _natural(emit, emit.extreme(max, [value, Known(0)]))


def _clipped(emit: FunctionBuilder, bound: Value, length: Number) -> Value:
    """A bound of a slice of positive step, between 0 and the length."""
    bound = emit.settled(bound)
    if isinstance(bound, Known) and bound.value == 0:
        return bound
    if isinstance(bound, Known) and bound.value < 0:
        return _not_below_0(emit, emit.operation(operator.add, length, bound))
    if not emit.typed(bound).natural:
        bound = emit.cast(from_the_end(emit, bound, length), INT)
        bound = _not_below_0(emit, bound)
    return _natural(emit, emit.extreme(min, [length, bound]))


def _clipped_back(emit: FunctionBuilder, bound: Value, length: Number) -> Value:
    """A bound of a slice of negative step, between -1 and the length less 1."""
    bound = emit.cast(from_the_end(emit, emit.settled(bound), length), INT)
    most = emit.operation(operator.sub, length, Known(1))
    return emit.extreme(max, [emit.extreme(min, [bound, most]), Known(-1)])


def transposed(emit: FunctionBuilder, array: Value, axes: Sequence[int] | None = None) -> Value:
    """The array with its axes in another order, without a copy."""
    order = list(range(len(shape_of(array))))[::-1] if axes is None else list(axes)
    if isinstance(array, Lazy):
        inverse = [order.index(i) for i in range(len(order))]
        inner = array.element
        return Lazy(
            tuple(array.shape[i] for i in order), array.dtype,
            lambda at: inner([at[i] for i in inverse]),
            tuple((x, False) for x, _ in array.sources), array.cheap,
        )  # fmt: skip
    assert isinstance(array, Array)
    if len(order) < 2:
        return array
    strides = [emit.typed(x) for x in row_strides(emit, array)]
    return Array(
        array.place, tuple(array.shape[i] for i in order), tuple(strides[i] for i in order),
        array.mutable,
    )  # fmt: skip


def reshaped(emit: FunctionBuilder, array: Value, shape: Sequence[Value]) -> Array:
    """A contiguous array in another shape, without a copy."""
    array = in_memory(emit, array)
    assert isinstance(array, Array)
    if array.strides is not None:
        raise Unsupported("reshape of an array that is not contiguous: copy it first")
    size = count_of(emit, array.shape)
    free = [i for i, x in enumerate(shape) if isinstance(x, Known) and x.value == -1]
    known = [emit.typed(emit.settled(x)) for i, x in enumerate(shape) if i not in free]
    count = count_of(emit, known)
    lengths = [emit.typed(emit.settled(x)) for x in shape]
    message = "reshape to another number of elements"
    if free:
        whole = emit.operation(operator.floordiv, size, count)
        lengths[free[0]] = Number(emit.typed(whole).operand, INT, True)
        count = emit.operation(operator.mul, whole, count)
    one, other = emit.typed(size), emit.typed(count)
    if one.operand != other.operand:
        require(emit, emit.operation(operator.eq, one, other), message)
    lengths = [Number(x.operand, INT, True) for x in lengths]
    place = array.place if len(array.shape) < 2 else replace(array.place, flat=True)
    return Array(place, tuple(lengths), None, array.mutable)


def flattened_array(emit: FunctionBuilder, array: Value) -> Array:
    """The elements row by row; a view where the array is contiguous."""
    if isinstance(array, Array) and array.strides is not None:
        copy = fresh(emit, array.shape, array.place.dtype)
        fill(emit, copy, lazy(emit, array))
        array = copy
    array = in_memory(emit, array)
    assert isinstance(array, Array)
    size = emit.typed(count_of(emit, array.shape))
    place = array.place if len(array.shape) < 2 else replace(array.place, flat=True)
    return Array(place, (Number(size.operand, INT, True),), None, array.mutable)


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
    if any(isinstance(each, Slice) for each in before) or any(each is not _ALL for each in rest):
        raise Unsupported("a mask with slices or behind them: use a loop")
    missing = [_ALL] * (len(array.shape) - len(before))
    return _view(emit, array, [*before, *missing]) if before else array


def _selected(emit: FunctionBuilder, array: Array, indices: Sequence[Value]) -> Value:
    if (mask := _mask_of(indices)) is not None:
        return _masked(emit, _masked_part(emit, array, indices), mask)
    view, places, axis = _gathered(emit, array, indices)
    inner = lazy(emit, view)
    shape = (*view.shape[:axis], *places.shape, *view.shape[axis + 1 :])

    def element(at: Sequence[Value]) -> Value:
        return inner.element(_at(emit, at, places, axis, view.shape[axis]))

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
    others = [_ALL if isinstance(each, (Array, Lazy)) else each for each in indices]
    before = others[: next(i for i, x in enumerate(indices) if isinstance(x, (Array, Lazy)))]
    axis = sum(isinstance(x, Slice) or (isinstance(x, Known) and x.value is None) for x in before)
    places = lazy(
        emit, several[0] if isinstance(several[0], Array) else in_memory(emit, several[0])
    )
    return _view(emit, array, others), places, axis


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


def _masked(emit: FunctionBuilder, array: Array, given: Value) -> Array:
    """array[mask]: the elements where a mask is true."""
    mask, rank = _mask(emit, array, given)
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
