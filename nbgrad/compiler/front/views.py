"""Views of arrays, which share their memory."""

import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from .arrays import (
    count_of,
    fill,
    fresh,
    in_memory,
    lazy,
    number,
    require,
    shape_of,
)
from .elements import from_the_end, moved, product, row_strides
from .emit import FunctionBuilder
from .iteration import rounds
from .syntax import Unsupported
from .values import BOOL, INT, KNOWN_0, KNOWN_1, Array, Known, Lazy, Number, Slice, Value

__all__ = ["WHOLE", "flattened_array", "reshaped", "transposed", "view"]

WHOLE = Slice(None, None, None)
"""The slice of a whole axis."""


def view(emit: FunctionBuilder, array: Array, indices: Sequence[Value]) -> Array:
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
            strides.append(emit.typed(product(emit, step, stride)))
            by_one = isinstance(step, Known) and step.value == 1
            is_whole = index.start is None and index.stop is None and by_one
            if seen:
                is_contiguous &= is_whole
            is_contiguous &= by_one
            seen = True
        else:
            is_contiguous &= not seen
            where = from_the_end(emit, emit.settled(index), length)
            place = moved(emit, place, product(emit, stride, where))
    kept = None if is_contiguous else tuple(strides)
    return Array(place, tuple(shape), kept, array.mutable)


def _bounds(emit: FunctionBuilder, index: Slice, length: Number) -> tuple[Value, Value, Value]:
    """The first index, the number of elements and the step of a slice."""
    start, stop, step = index.start, index.stop, index.step
    if isinstance(step, Known) and step.value is None:
        step = None
    if isinstance(step, Number):
        if step.dtype.kind not in "iu":
            raise Unsupported(f"a slice whose step is {step.dtype}")
        return _stepped(emit, start, stop, step, length)
    if step is not None and not (isinstance(step, Known) and isinstance(step.value, int)):
        raise Unsupported("a slice whose step is no integer")
    by = 1 if step is None else step.value
    if by == 0:
        raise Unsupported("a slice of step 0")
    start, stop = (None if isinstance(x, Known) and x.value is None else x for x in (start, stop))
    if by == 1 and (width := _constant_width(emit, start, stop, length)):
        return start or KNOWN_0, width, Known(by)
    if by > 0:
        # A start beyond the end is kept, as the slice is empty: so slices with constant bounds
        # begin at constants, and their subscripts can be compared.
        first = KNOWN_0 if start is None else _counted(emit, start, length)
        between = length if start is stop is None else _between(emit, first, stop, length)
    else:
        most = emit.operation(operator.sub, length, Known(1))
        first = most if start is None else _clipped_back(emit, start, length)
        last = Known(-1) if stop is None else _clipped_back(emit, stop, length)
        between = _not_below_0(emit, emit.operation(operator.sub, first, last))
    if abs(by) == 1:
        return first, between, Known(by)
    rounded = emit.operation(operator.add, between, Known(abs(by) - 1))
    rounded = _natural(emit, rounded)
    count = _natural(emit, emit.operation(operator.floordiv, rounded, Known(abs(by))))
    return first, count, Known(by)


def _stepped(
    emit: FunctionBuilder, start: "Value | None", stop: "Value | None", step: Number, length: Number
) -> tuple[Value, Value, Value]:
    """The same for a step that is known at run time."""
    by = emit.cast(emit.settled(step), INT)
    require(emit, emit.operation(operator.ne, by, Known(0)), "slice step cannot be zero")
    start, stop = (None if isinstance(x, Known) and x.value is None else x for x in (start, stop))
    most = emit.operation(operator.sub, length, Known(1))
    up = emit.truth(emit.operation(operator.gt, by, Known(0)))
    ends = (
        Known(0) if start is None else _counted(emit, start, length),
        most if start is None else _clipped_back(emit, start, length),
        length if stop is None else _clipped(emit, stop, length),
        Known(-1) if stop is None else _clipped_back(emit, stop, length),
    )
    low, high, to, back = (emit.cast(x, INT) for x in ends)
    first = emit.applied("select", [up, low, high], INT)
    last = emit.applied("select", [up, to, back], INT)
    count = emit.extreme(max, [rounds(emit, first, last, by), Known(0)])
    return _natural(emit, first), _natural(emit, count), by


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


def _counted(emit: FunctionBuilder, bound: Value, length: Number) -> Value:
    """A bound of a slice, counted from the end where it is below 0."""
    bound = emit.settled(bound)
    if isinstance(bound, Known):
        if bound.value >= 0:
            return bound
        return _not_below_0(emit, emit.operation(operator.add, length, bound))
    if emit.typed(bound).natural:
        return _natural(emit, emit.cast(bound, INT))
    return _not_below_0(emit, emit.cast(from_the_end(emit, bound, length), INT))


def _between(emit: FunctionBuilder, start: Value, stop: "Value | None", length: Number) -> Value:
    """The number of elements of a slice of step 1, from a start that is not below 0."""
    stop = None if stop is None else emit.settled(stop)
    last: Value = length
    if stop is None or (isinstance(stop, Known) and stop.value < 0):
        less = 0 if stop is None else stop.value
        if isinstance(start, Known):  # equal for all slices with so many elements less
            less, start = less - start.value, KNOWN_0
        last = emit.operation(operator.add, length, Known(less)) if less else length
    else:
        last = _clipped(emit, stop, length)
    if start is not KNOWN_0:
        last = emit.operation(operator.sub, last, start)
    return length if last is length else _not_below_0(emit, last)


def _clipped(emit: FunctionBuilder, bound: Value, length: Number) -> Value:
    """A bound of a slice, between 0 and the length."""
    return emit.extreme(min, [length, _counted(emit, bound, length)])


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
    """An array in another shape: a view, or, of several axes that are not contiguous, a copy in one
    axis, where it is one in NumPy."""
    array = in_memory(emit, array)
    assert isinstance(array, Array)
    if array.strides is not None and len(array.shape) > 1:
        if len(shape) != 1:
            raise Unsupported("reshape of an array that is not contiguous: copy it first")
        array = _copied(emit, array)
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
    found = Array(place, tuple(lengths), None, array.mutable)
    if array.strides is None:
        return found
    strides = [product(emit, x, array.strides[0]) for x in row_strides(emit, found)]
    return replace(found, strides=tuple(map(emit.typed, strides)))


def _copied(emit: FunctionBuilder, array: Array) -> Array:
    """A copy for a reshape to one axis, which is a view where the elements are at equal distances:
    such an array is refused when the function runs."""
    strides = row_strides(emit, array)
    gaps: list[Number] = []
    for i in range(len(strides) - 1):
        length = array.shape[i + 1]
        least = emit.extreme(min, [array.shape[i], length])
        near = product(emit, strides[i + 1], length)
        apart = emit.truth(emit.operation(operator.ne, strides[i], near))
        several = emit.truth(emit.operation(operator.gt, least, KNOWN_1))
        gaps.append(emit.applied("and", [apart, several], BOOL))
    any_gap = reduce(lambda x, y: emit.applied("or", [x, y], BOOL), gaps)
    require(
        emit,
        any_gap,
        "reshape of an array that is not contiguous, and may be a view: copy it first",
    )
    copy = fresh(emit, array.shape, array.place.dtype)
    fill(emit, copy, lazy(emit, array))
    return copy


def flattened_array(emit: FunctionBuilder, array: Value) -> Array:
    """The elements row by row; a view where the array is contiguous."""
    if isinstance(array, Array) and array.strides is not None:
        copy = fresh(emit, array.shape, array.place.dtype)
        fill(emit, copy, lazy(emit, array))
        array = copy
    array = in_memory(emit, array)
    if not isinstance(array, Array):
        raise Unsupported("the elements of a number")
    size = emit.typed(count_of(emit, array.shape))
    place = array.place if len(array.shape) < 2 else replace(array.place, flat=True)
    return Array(place, (Number(size.operand, INT, True),), None, array.mutable)
