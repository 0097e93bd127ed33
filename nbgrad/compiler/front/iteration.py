"""The iterables of `for` loops: a number of items, and the item of a round."""

import builtins
import operator
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np

from ...ir.statements import Literal, Raise
from .array_table import shape_from
from .arrays import in_memory, shape_of
from .elements import element, moved
from .emit import FunctionBuilder
from .functions import type_of
from .syntax import Unsupported
from .tuples import is_tuple
from .values import INT, UINT, Array, Known, Number, Value, members

__all__ = [
    "Chosen", "Enumerated", "Indices", "Items", "ParallelRange", "Range", "arrays_of", "bound",
    "chosen", "items_of", "made_by", "one_type", "rounds", "takes",
]  # fmt: skip

_INT32 = np.dtype(np.int32)


class Range:
    """`range(start, stop, step)`"""

    def __init__(self, emit: FunctionBuilder, *bounds: Value):
        if not 1 <= len(bounds) <= 3:
            raise Unsupported(f"a range of {len(bounds)} arguments")
        self.dtype = _range_dtype([emit.dtype(bound) for bound in bounds])
        wide = [emit.settled(_wide(emit, bound)) for bound in bounds]
        self.start = wide[0] if len(wide) > 1 else Known(0)
        self.stop = wide[0] if len(wide) == 1 else wide[1]
        self.step = wide[2] if len(wide) == 3 else Known(1)
        self.is_by_one = isinstance(self.step, Known) and self.step.value == 1
        self.natural = _is_natural(self.start, self.stop, self.step)
        self._emit = emit
        self._count: Value | None = None

    @property
    def count(self) -> Value:
        if self._count is None:
            self._count = self._emit.settled(rounds(self._emit, self.start, self.stop, self.step))
        return self._count

    def at(self, k: Value) -> Value:
        """The item at a position."""
        distance = self._emit.operation(operator.mul, k, self.step)
        here = self._emit.typed(self._emit.operation(operator.add, self.start, distance))
        return self.as_item(Number(here.operand, INT, self.natural, here.lasting))

    def as_item(self, number: Number) -> Number:
        return self._emit.cast(number, self.dtype)


class ParallelRange(Range):
    """`prange(start, stop, step)`"""


class Elements:
    """The elements of an array, or its rows."""

    def __init__(self, emit: FunctionBuilder, array: Array):
        self._emit, self.array = emit, array
        if not array.shape:
            raise Unsupported("a loop over an array without an axis")
        self.count: Value = array.shape[0]

    def at(self, k: Value) -> Value:
        return element(self._emit, self.array, k)


def arrays_of(items: Any) -> tuple[Array, ...]:
    """The arrays whose elements are items."""
    match items:
        case Elements():
            return (items.array,)
        case Enumerated() | Reversed():
            return arrays_of(items.items)
        case Zipped():
            return tuple(array for each in items.items for array in arrays_of(each))
    return ()


class Scattered:
    """`np.nditer(array)`: the elements, as arrays without axes."""

    def __init__(self, emit: FunctionBuilder, array: Value):
        from .views import flattened_array  # which has bounds of loops

        self._emit, self._flat = emit, flattened_array(emit, array)
        self.count: Value = self._flat.shape[0]

    def at(self, k: Value) -> Value:
        place = moved(self._emit, self._flat.place, k)
        return Array(place, (), None, self._flat.mutable)


class Indices:
    """`np.ndindex(shape)`: the indices of all elements of an array."""

    def __init__(self, emit: FunctionBuilder, *shape: Value):
        self._emit = emit
        self._shape = shape_from(emit, shape[0] if len(shape) == 1 else shape)
        whole = reduce(partial(emit.operation, operator.mul), self._shape, Known(1))
        self.count: Value = emit.settled(whole)

    def at(self, k: Value) -> Value:
        found: list[Value] = []
        for length in self._shape[:0:-1]:
            found.append(self._part(operator.mod, k, length))
            k = self._part(operator.floordiv, k, length)
        return (k, *found[::-1]) if self._shape else ()

    def _part(self, function: Any, k: Value, length: Value) -> Value:
        parts = (self._emit.cast(x, UINT) for x in (k, length))  # neither is below 0
        number = self._emit.cast(self._emit.operation(function, *parts), INT)
        return Number(number.operand, INT, True, number.lasting)


class Numbered(Indices):
    """`np.ndenumerate(array)`: the indices, and the elements."""

    def __init__(self, emit: FunctionBuilder, array: Value):
        self._array = in_memory(emit, array)
        super().__init__(emit, tuple(shape_of(array)))

    def at(self, k: Value) -> Value:
        index = super().at(k)
        return index, element(self._emit, self._array, index)  # pyright: ignore


class Chosen:
    """The members of a tuple, of one type."""

    def __init__(self, emit: FunctionBuilder, values: Sequence[Value]):
        one_type(emit, values)
        self._emit = emit
        self._values = [emit.typed(emit.settled(emit.typed(value))) for value in values]
        self.count: Value = Known(len(values))

    def at(self, k: Value) -> Value:
        return _selected(self._emit, self._values, k)


class Enumerated:
    """`enumerate(items, start)`"""

    def __init__(self, emit: FunctionBuilder, items: "Items", start: Value = Known(0)):  # noqa: B008
        self._emit, self.items, self._start = emit, items, emit.settled(start)
        self.count = items.count

    def at(self, k: Value) -> Value:
        is_zero = isinstance(self._start, Known) and self._start.value == 0
        number = k if is_zero else self._emit.operation(operator.add, self._start, k)
        return number, self.items.at(k)


class Zipped:
    """`zip(items, ...)`"""

    def __init__(self, emit: FunctionBuilder, *items: "Items"):
        if not items:
            raise Unsupported("zip of nothing")
        self.items = items
        counts = [each.count for each in items]
        self.count: Value = counts[0]
        if len(counts) > 1:
            self.count = reduce(lambda x, y: emit.extreme(min, [x, y]), counts)

    def at(self, k: Value) -> Value:
        return tuple(each.at(k) for each in self.items)


class Reversed:
    """`reversed(items)`"""

    def __init__(self, emit: FunctionBuilder, items: "Items"):
        self._emit, self.items, self.count = emit, items, items.count
        self._last = emit.settled(emit.operation(operator.sub, self.count, Known(1)))

    def at(self, k: Value) -> Value:
        here = self._emit.typed(self._emit.operation(operator.sub, self._last, k))
        return self.items.at(Number(here.operand, INT, True, here.lasting))


Items: TypeAlias = Range | Elements | Scattered | Indices | Chosen | Enumerated | Zipped | Reversed
_MAKERS: dict[Any, Any] = {
    builtins.range: Range, builtins.enumerate: Enumerated,
    builtins.zip: Zipped, builtins.reversed: Reversed, np.nditer: Scattered,
    np.ndindex: Indices, np.ndenumerate: Numbered,
}  # fmt: skip


def takes(function: Any, make: type) -> None:
    """Have calls of a function give iterables of a class."""
    _MAKERS[function] = make


def made_by(function: Any) -> Any:
    """The class of the iterables that a function makes; None for any other function."""
    if getattr(function, "__name__", "") == "prange":  # Numba's
        return ParallelRange
    try:
        return _MAKERS.get(function)
    except TypeError:  # not hashable
        return None


def items_of(emit: FunctionBuilder, value: Value) -> Items | tuple[Value, ...]:
    """The items of a value; a tuple as it is."""
    value = in_memory(emit, value)
    if isinstance(value, Array):
        return Elements(emit, value)
    if is_tuple(value):
        return members(value)
    raise Unsupported("a loop over something other than a range, an array or a tuple")


def one_type(emit: FunctionBuilder, values: Sequence[Value]) -> None:
    """Raises Unsupported for members of a tuple of several types, over which Numba has no loop."""
    kinds = {type_of(x) if not isinstance(x, Known) or x.is_number else None for x in values}
    if len(kinds) > 1:
        raise Unsupported("a loop over a tuple of several types: convert its members to one type")


def chosen(emit: FunctionBuilder, values: Sequence[Value], index: Value) -> Value:
    """The member of a tuple of numbers of one type, at a position that is known at run time."""
    one_type(emit, values)
    number, length = emit.typed(index), Known(len(values))
    if number.dtype.kind not in "iu" or not values:
        raise Unsupported(f"{number.dtype} as an index")
    number = emit.cast(number, INT)
    counted = emit.cast(emit.operation(operator.add, number, length), INT)
    below = emit.typed(emit.operation(operator.lt, number, Known(0)))
    here = emit.applied("select", [below, counted, number], INT)
    outside = emit.operation(operator.ge, emit.cast(here, UINT), Known(np.uint64(len(values))))
    emit.branch(emit.typed(outside), [Raise("IndexError", "tuple index out of range")], [])
    return _selected(emit, [emit.typed(value) for value in values], here)


def _selected(emit: FunctionBuilder, values: Sequence[Number], index: Value) -> Value:
    *rest, found = values
    for i, value in reversed(list(enumerate(rest))):
        here = emit.typed(emit.operation(operator.eq, index, Known(i)))
        found = emit.applied("select", [here, value, found], value.dtype)
    return found


def _range_dtype(kinds: Sequence[np.dtype]) -> np.dtype:
    """The dtype of the numbers of a range."""
    if any(kind.kind not in "iub" for kind in kinds):
        raise Unsupported("a range of floats")
    if all(kind.kind == "u" for kind in kinds):
        return UINT
    if all(kind.kind != "u" and kind.itemsize <= 4 for kind in kinds):
        return _INT32
    if UINT in kinds and INT not in kinds:
        raise Unsupported("a range of signed and unsigned integers")
    return INT


def _wide(emit: FunctionBuilder, bound: Value) -> Value:
    if isinstance(bound, Known):
        return Known(int(bound.value))
    return emit.cast(bound, INT)


def rounds(emit: FunctionBuilder, start: Value, stop: Value, step: Value) -> Value:
    """How many numbers a range has; below 0 if none and the step is 1 or -1."""
    if isinstance(step, Known) and step.value != 0:
        low, high = (start, stop) if step.value > 0 else (stop, start)
        size: Value = Known(abs(step.value))
        less = emit.operation(operator.lt, low, high)
    else:
        _raise_if(emit, emit.operation(operator.eq, step, Known(0)))
        up = emit.truth(emit.operation(operator.gt, step, Known(0)))
        begin, end, width = (emit.cast(x, INT) for x in (start, stop, step))
        low = emit.applied("select", [up, begin, end], INT)
        high = emit.applied("select", [up, end, begin], INT)
        size = emit.applied("abs", [width], INT)
        less = emit.operation(operator.lt, low, high)
    between = emit.operation(operator.sub, high, low)
    if isinstance(size, Known) and size.value == 1:
        return between
    # As unsigned numbers: the last number plus the step may have more than 64 bits.
    more = emit.operation(operator.sub, between, Known(1))
    whole = emit.operation(operator.floordiv, emit.cast(more, UINT), emit.cast(size, UINT))
    count = emit.operation(operator.add, emit.cast(whole, INT), Known(1))
    if isinstance(less, Known):
        return count if less.value else Known(0)
    none = emit.cast(Known(0), INT)
    return emit.applied("select", [emit.typed(less), emit.cast(count, INT), none], INT)


def _raise_if(emit: FunctionBuilder, condition: Value) -> None:
    stop = Raise("ValueError", "range() arg 3 must not be zero")
    if isinstance(condition, Known):
        if condition.value:
            emit.add(stop)
        return
    emit.branch(emit.truth(condition), [stop], [])


def _is_natural(start: Value, stop: Value, step: Value) -> bool:
    """Whether no number of a range is below 0."""
    if not isinstance(step, Known):
        return False
    bound = start if step.value > 0 else stop
    if isinstance(bound, Known):
        return bound.value >= (0 if step.value > 0 else -1)
    return isinstance(bound, Number) and bound.natural


def bound(emit: FunctionBuilder, value: Value) -> int | str:
    """A bound of a loop."""
    operand = emit.cast(value, INT).operand
    return operand.number if isinstance(operand, Literal) else operand  # pyright: ignore
