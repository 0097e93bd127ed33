"""Values of lowered programs as values of the front end: elements that are computed where they are
read, and arrays in memory.

So a function that has a static form is a nest of loops, or calls, in a function with loops, for
lengths that are known at run time.
"""

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..compiler.forks import with_open_properties
from ..compiler.front.array_calls import array_call
from ..compiler.front.arrays import assign, fresh, in_memory, lazy, nest, number, position_of
from ..compiler.front.calls import call, called
from ..compiler.front.elements import moved, row_strides
from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.functions import entry_of, type_of
from ..compiler.front.syntax import Unsupported
from ..compiler.front.transforms import add_planes
from ..compiler.front.values import INT, Array, Known, Lazy, Number, Place
from ..compiler.front.values import Value as Written
from ..compiler.front.views import flattened_array, reshaped
from ..ir.affine import Axis
from ..ir.formulas import value_of
from ..ir.sizes import is_dynamic
from ..ir.statements import Assign
from ..kernels.fourier_plans import planned_later
from ..static.lower.buffered import DeviceCall, Matmul, Reduce, Scatter
from ..static.lower.values import (
    Concat,
    Extent,
    Full,
    Inset,
    Iota,
    Map,
    Pad,
    Reshape,
    Take,
    Value,
    View,
    topological,
)
from .library import CONSTANTS, add_constant, constant_array
from .row_rules import RowRule, link_row

__all__ = ["Writer"]


@with_open_properties
class Writer:
    """Writes the values that `outputs` need. `given` are the inputs, `sizes` the named sizes."""

    def __init__(
        self, emit: FunctionBuilder, given: Mapping[Value, Written], sizes: Mapping[str, Number],
        outputs: Sequence[Value],
    ):  # fmt: skip
        self._emit, self._sizes = emit, sizes
        self._known: dict[Value, Any] = dict(given)
        self._readers = Counter(arg for each in topological(outputs) for arg in each.args)

    def value(self, value: Value) -> Any:
        """The array of a value."""
        for each in topological([value]):
            if each not in self._known:
                self._known[each] = self._written(each)
        return self._known[value]

    def _written(self, value: Value) -> Any:
        write: Callable | None = self._writers.get(type(value))
        if write is None:
            raise Unsupported(f"a {type(value).__name__.lower()} inside of a call: write a loop")
        found = write(value)
        if isinstance(found, Lazy) and not found.cheap:
            if not value.shape:
                constant = found.element(())
                return Lazy((), value.dtype, lambda _: constant, cheap=True)
            if self._readers[value] > 1:
                return in_memory(self._emit, found)
        return found

    @cached_property
    def _writers(self) -> dict[type, Callable[[Any], Any]]:
        return {
            Full: self._full, Extent: self._extent, Iota: self._iota, Map: self._map,
            View: self._view, Reshape: self._reshape, Pad: self._pad, Inset: self._inset,
            Concat: self._concat, Take: self._take, Scatter: self._scatter, Reduce: self._reduce,
            Matmul: self._matmul, DeviceCall: self._call,
        }  # fmt: skip

    def give(self, value: Value, array: np.ndarray) -> None:
        """Have a value be an array of constants."""
        self._known[value] = constant_array(self._emit, array)

    # -- sizes ------------------------------------------------------------------------------------

    def size(self, n: int) -> Written:
        """A size as a number."""
        return value_of(n, self._sizes, self.operation) if is_dynamic(n) else Known(int(n))

    def operation(self, function: Callable, *operands: Any) -> Written:
        return self._emit.operation(
            function, *(Known(x) if type(x) is int else x for x in operands)
        )

    def shape(self, shape: Sequence[int]) -> tuple[Number, ...]:
        """The lengths of an array."""
        return tuple(
            Number(self._emit.cast(self.size(n), INT).operand, INT, True)
            if is_dynamic(n) else number(int(n))
            for n in shape
        )  # fmt: skip

    # -- elements ---------------------------------------------------------------------------------

    def _lazy(self, value: Value) -> Lazy:
        return lazy(self._emit, self._known[value])

    def _full(self, value: Full) -> Lazy:
        constant = self._emit.cast(Known(value.number), value.dtype)
        return Lazy(self.shape(value.shape), value.dtype, lambda _: constant, cheap=True)

    def _extent(self, value: Extent) -> Lazy:
        constant = self._emit.cast(self.size(value.number), value.dtype)
        return Lazy((), value.dtype, lambda _: constant, cheap=True)

    def _iota(self, value: Iota) -> Lazy:
        shape = self.shape(value.shape)
        return Lazy(shape, value.dtype, lambda at: at[value.axis], cheap=True)

    def _map(self, value: Map) -> Lazy:
        emit = self._emit
        inner = next((a.dtype for a in value.args if a.dtype.kind == "f"), value.dtype)
        args = [(x, self._at_hand(x, x.shape != value.shape)) for x in value.args]
        count = len(value.shape)

        def element(at: Sequence[Written]) -> Number:
            operands = []
            for x, found in args:
                own = at[count - len(x.shape) :]
                own = [Known(0) if n == 1 else i for n, i in zip(x.shape, own, strict=True)]
                operands.append(emit.cast(found.element(own), x.dtype).operand)
            name = emit.name()
            emit.add(Assign(name, value.body, tuple(operands), value.dtype, inner))
            return Number(name, value.dtype)

        sources = tuple(
            (array, aligned and x.shape == value.shape)
            for x, found in args for array, aligned in found.sources
        )  # fmt: skip
        return Lazy(self.shape(value.shape), value.dtype, element, sources)

    def _at_hand(self, value: Value, is_repeated: bool) -> Lazy:
        """The elements of a value; from memory where each is read several times."""
        found = self._lazy(value)
        if is_repeated and not found.cheap:
            found = lazy(self._emit, in_memory(self._emit, found))
        return found

    def _index(self, axes: Sequence[Axis]) -> Callable[[Sequence[Written]], list[Written]]:
        """The index in the source of a view for the one in the result."""
        parts = [(axis.out, self.size(axis.start), self.size(axis.step)) for axis in axes]

        def index(at: Sequence[Written]) -> list[Written]:
            return [
                start if out is None else self._line(start, step, at[out])
                for out, start, step in parts
            ]

        return index

    def _line(self, start: Written, step: Written, i: Written) -> Written:
        """start + step * i"""
        emit = self._emit
        if not (isinstance(step, Known) and step.value == 1):
            i = emit.operation(operator.mul, step, i)
        if isinstance(start, Known) and start.value == 0:
            return i
        return emit.operation(operator.add, start, i)

    def _view(self, value: View) -> Array | Lazy:
        shape, seen = self.shape(value.shape), {axis.out for axis in value.axes}
        is_repeated = any(i not in seen and n != 1 for i, n in enumerate(value.shape))
        source = self._known[value.source]
        if isinstance(source, Array) and not is_repeated:
            return self._part(source, value.source.shape, value, shape)
        inner, index = self._at_hand(value.source, is_repeated), self._index(value.axes)
        sources = tuple((array, False) for array, _ in inner.sources)
        return Lazy(
            shape, value.dtype, lambda at: inner.element(index(at)), sources, inner.cheap
        )  # fmt: skip

    def _part(
        self, source: Array, whole: Sequence[int], value: View, shape: tuple[Number, ...]
    ) -> Array:
        """A view of an array of a shape, in its memory."""
        emit, place, steps = self._emit, source.place, {}
        for axis, stride in zip(value.axes, row_strides(emit, source), strict=True):
            start = self.size(axis.start)
            if not (isinstance(start, Known) and start.value == 0):
                place = moved(emit, place, emit.operation(operator.mul, start, stride))
            if axis.out is not None:
                step = emit.operation(operator.mul, self.size(axis.step), stride)
                other = steps.get(axis.out)
                steps[axis.out] = (
                    step if other is None else emit.operation(operator.add, other, step)
                )
        by_rows = [axis._replace(start=0) for axis in value.axes[:1]] + list(value.axes[1:])
        has_rows = value.shape[1:] == tuple(whole[1:]) and len(shape) == len(whole) > 0
        if has_rows and source.strides is None and by_rows == [
            Axis(i, 0, 1) for i in range(len(shape))
        ]:  # fmt: skip
            return Array(place, shape, None, source.mutable)
        strides = tuple(emit.typed(steps.get(i, Known(1))) for i in range(len(shape)))
        return Array(place, shape, strides if shape else None, source.mutable)

    def _take(self, value: Take) -> Lazy:
        source = self._at_hand(value.source, True)
        index = self._places(value)
        sources = [(array, False) for array, _ in source.sources]
        return Lazy(
            self.shape(value.shape), value.dtype, lambda at: source.element(index(at)),
            tuple(sources), cheap=True,
        )  # fmt: skip

    def _places(self, value: Take | Scatter) -> Callable[[Sequence[Written]], list[Written]]:
        """The index in the array that is indexed for the one in the elements."""
        arrays = [lazy(self._emit, in_memory(self._emit, self._known[x])) for x in value.positions]
        axes = [axis for axis in value.axes if not isinstance(axis, int)]
        rest, first, last = self._index(axes), value.place, value.place + value.joint

        def index(at: Sequence[Written]) -> list[Written]:
            others = iter(rest(at))
            return [
                arrays[axis].element(at[first:last]) if isinstance(axis, int) else next(others)
                for axis in value.axes
            ]

        return index

    # -- arrays in memory ------------------------------------------------------------------------

    def _new(self, value: Value) -> Array:
        return fresh(self._emit, self.shape(value.shape), value.dtype)

    def _block(self, array: Array, whole: Value, starts: Sequence[int], block: Value) -> None:
        """Set a block of the array of a value."""
        emit = self._emit
        at = [Axis(i, start, 1) for i, start in enumerate(starts)]
        part = View(block.shape, block.dtype, (block,), "", tuple(at))
        shape = self.shape(block.shape)
        assign(emit, self._part(array, whole.shape, part, shape), self._lazy(block))

    def _pad(self, value: Pad) -> Array:
        array = self._new(value)
        assign(self._emit, array, Known(0))
        self._block(array, value, value.starts, value.block)
        return array

    def _inset(self, value: Inset) -> Array:
        array = self._new(value)
        assign(self._emit, array, self._lazy(value.args[0]))
        self._block(array, value, value.starts, value.block)
        return array

    def _concat(self, value: Concat) -> Array:
        array, start = self._new(value), 0
        for block in value.args:
            starts = [start if i == value.axis else 0 for i in range(len(value.shape))]
            self._block(array, value, starts, block)
            start += block.shape[value.axis]
        return array

    def _reshape(self, value: Reshape) -> Array:
        emit, source = self._emit, in_memory(self._emit, self._known[value.source])
        assert isinstance(source, Array)
        if source.strides is not None:
            source = flattened_array(emit, source)
        return reshaped(emit, source, self.shape(value.shape))

    def _scatter(self, value: Scatter) -> Array:
        emit, array = self._emit, self._new(value)
        below = Known(0) if value.below is None else self._lazy(value.below)
        assign(emit, array, below)
        index, block = self._places(value), self._lazy(value.block)
        strides = row_strides(emit, array)
        with nest(emit, block.shape) as at:
            here: Written = block.element(at)
            place = position_of(emit, strides, index(at))
            if value.adds:
                here = emit.operation(operator.add, emit.load(array.place, place), here)
            emit.store(array.place, place, here)
        return array

    def _reduce(self, value: Reduce) -> Array | Lazy:
        emit, found = self._emit, self._lazy(value.source)
        for axis in reversed(value.axes):
            at = Known(axis if len(found.shape) > 1 else None)
            found = self._array(getattr(np, value.kind.name), [found], {"axis": at})
        if isinstance(found, Number):
            constant = emit.cast(found, value.dtype)
            return Lazy((), value.dtype, lambda _: constant, cheap=True)
        return found  # pyright: ignore

    def _matmul(self, value: Matmul) -> Any:
        return self._array(np.matmul, [self._known[x] for x in value.args], {})

    def _array(self, function: Any, operands: list[Any], named: dict[str, Any]) -> Any:
        """A call of a function that the front end has."""
        return array_call(self._emit, function, operands, named)

    def _call(self, value: DeviceCall) -> Array:
        if isinstance(value.function, RowRule):
            out, x = ((self._known[each], self.shape(each.shape)) for each in value.args)
            return link_row(self._emit, value.function, out, x)
        result = self._new(value)
        sizes = [self.size(n) for n in value.sizes]
        if value.function in CONSTANTS:
            source = flattened_array(self._emit, self._known[value.args[0]])
            add_constant(self._emit, value.function, result, source, sizes)
            return result
        places = [self._place(x) for x in value.args]
        if value.function is planned_later:
            add_planes(self._emit, result.place, places, sizes)
            return result
        if not hasattr(value.function, "maker"):
            call(self._emit, value.function, [*places, result.place, *sizes])
            return result
        numbers = [self._emit.cast(n, INT) for n in sizes]  # the derivative of another function
        operands = [*places, result.place, *numbers]
        entry = entry_of(value.function, tuple(map(type_of, operands)))
        called(self._emit, entry, operands)
        return result

    def _place(self, value: Value) -> Place:
        """A pointer to the elements, row by row."""
        return flattened_array(self._emit, self._known[value]).place
