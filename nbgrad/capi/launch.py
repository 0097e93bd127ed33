"""Launchers: C functions that call one kernel on short arrays.

Numba's dispatcher unboxes arguments of any type, and results are allocated in Python one by one:
together five times the work of a kernel over a hundred numbers. A launcher checks that its
arguments are contiguous arrays of given dtypes and shapes, allocates the results, runs the kernel
and returns them. For any other arguments, and if the kernel raises, it calls its definition. It
holds the GIL, so it is for short work.

Launchers of similar calls share their code. Each has a table with the address of its counter of
calls, the address of the kernel, the lengths of axes, and constants.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numba.core import types

from ..compiler.kernel import DISABLED, Kernel
from ..compiler.numba_api import numpy_support
from ..runtime.layout import IS_KNOWN
from . import emitter as native
from .builtin import builtin, compiled
from .emitter import DOUBLE, INT, SINGLE, WORD, Emitter, word

__all__ = [
    "Given",
    "Item",
    "Launch",
    "Literal",
    "New",
    "Number",
    "Returned",
    "is_short",
    "launcher",
]

# The most elements of an array for which the GIL may be held.
_SHORT = 4096


@dataclass(frozen=True)
class Given:
    """An array argument: argument (i,), or item j of the tuple that is argument i, (i, j). If
    `flat`, the kernel takes it as one axis."""

    place: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype
    flat: bool = True


@dataclass(frozen=True)
class Item:
    """An array argument of one element, which the kernel takes as a float."""

    place: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype


@dataclass(frozen=True)
class Number:
    """A float argument."""

    place: tuple[int, ...]


@dataclass(frozen=True)
class Literal:
    """A constant."""

    value: int | float


@dataclass(frozen=True)
class New:
    """An array that the kernel writes."""

    shape: tuple[int, ...]
    dtype: np.dtype
    flat: bool = True


@dataclass(frozen=True)
class Returned:
    """An array of one element: `factor` times the return value of the kernel, or the next item of
    it."""

    shape: tuple[int, ...]
    dtype: np.dtype
    factor: float = 1.0


Operand: TypeAlias = Given | Item | Number | Literal | New
Result: TypeAlias = Given | Returned | int | None


@dataclass(frozen=True)
class Launch:
    """One call of a kernel: its arguments in order, and one result or a tuple of results. An int is
    the position of a new array among the arguments."""

    kernel: Kernel
    operands: tuple[Operand, ...]
    results: Result | tuple[Result, ...]

    @property
    def returned(self) -> list[Returned]:
        """The results that are return values of the kernel."""
        results = self.results if type(self.results) is tuple else (self.results,)
        return [x for x in results if isinstance(x, Returned)]


def is_short(size: int) -> bool:
    """Whether work on `size` elements is short enough for a launcher."""
    return size <= _SHORT


def launcher(launch: Launch, count: int, general: Callable) -> Callable:
    """A function of `count` arguments that makes the call if they are as expected, and otherwise
    calls `general`; `general` itself if Numba is disabled or C functions are not available."""
    if DISABLED or not IS_KNOWN:
        return general
    numbers: list[int | float] = []
    for x in (*launch.operands, *launch.returned):
        numbers += [x.value] if isinstance(x, Literal) else []
        numbers += [x.factor] if isinstance(x, Returned) else []
        numbers += getattr(x, "shape", ())
    table = np.empty(2 + len(numbers), np.int64)
    found = _compiled(launch)
    table[0] = launch.kernel.launched.ctypes.data
    table[1] = found.library.get_pointer_to_function(found.fndesc.llvm_func_name)
    for i, number in enumerate(numbers, 2):
        table[i : i + 1].view(type(number))[0] = number
    code = _code(*_pattern(launch), count)
    return builtin("launcher", code, (general, table, found, launch))


def _compiled(launch: Launch) -> Any:
    """Numba's compile result for the kernel of a launch."""
    kinds: list[Any] = []
    for x in launch.operands:
        if isinstance(x, (Given, New)):
            axes = 1 if x.flat else len(x.shape)
            kinds.append(types.Array(numpy_support.from_dtype(x.dtype), axes, "C"))
        else:
            whole = isinstance(x, Literal) and type(x.value) is int
            kinds.append(types.int64 if whole else types.float64)
    dispatcher: Any = launch.kernel.dispatcher
    dispatcher.compile(tuple(kinds))
    return dispatcher.overloads[tuple(kinds)]


def _pattern(launch: Launch) -> tuple[tuple[Any, ...], Any]:
    """The operands and results of a launch without the contents of its table: numbers of axes in
    place of their lengths."""

    def bare(x: Any) -> Any:
        if isinstance(x, Literal):
            return Literal(type(x.value)())
        shape = getattr(x, "shape", None)
        return x if shape is None else replace(x, shape=(0,) * len(shape))

    results = launch.results
    given = tuple(map(bare, results)) if type(results) is tuple else bare(results)
    # A literal 0 equals 0.0.
    return tuple((type(getattr(x, "value", x)), bare(x)) for x in launch.operands), given


@cache
def _code(operands: tuple[tuple[type, Operand], ...], results: Any, count: int) -> int:
    """The address of the code for launchers of one pattern."""
    return compiled(_Writer([x for _, x in operands], results, count))


class _Writer(Emitter):
    """Writes the code for launchers of one pattern."""

    def __init__(self, operands: list[Operand], results: Any, count: int):
        super().__init__(count)
        self.table = self.data(self.item(self.own, 1))
        given = results if type(results) is tuple else (results,)
        numbers = [x for x in given if isinstance(x, Returned)]
        places = list(_places([*operands, *numbers]))
        passed, written, fresh = {}, {}, []
        for i, x in enumerate(operands):
            if not isinstance(x, New):
                passed[i] = self.passed(x, places[i])
        kept = {x: self.found(x.place) for x in given if isinstance(x, Given)}
        for i, x in enumerate(operands):
            if isinstance(x, New):
                written[i] = self.new(x, places[i])
                passed[i] = self.described(written[i], x, places[i])
        values = self.run([passed[i] for i in range(len(operands))], [x.dtype for x in numbers])
        for x, value, place in zip(numbers, values, places[len(operands) :], strict=True):
            fresh.append(self.new(x, place + 8))
            scaled = self.build.fmul(value, self.load(self.table, place, DOUBLE))
            single = x.dtype.itemsize == 4
            self.store(
                self.build.fptrunc(scaled, SINGLE) if single else scaled, self.data(fresh[-1])
            )
        items = []
        for x in given:
            if x is None or isinstance(x, Given):
                items.append(self.held(kept[x] if x else word(id(None))))
            else:
                items.append(fresh.pop(0) if isinstance(x, Returned) else written.pop(x))
        for scratch in written.values():
            self.let_go(scratch)
        self.build.ret(self.packed(items) if type(results) is tuple else items[0])

    def found(self, place: tuple[int, ...]) -> Any:
        """An argument, or an item of a tuple that is an argument."""
        x = self.argument(place[0])
        for i in place[1:]:
            self.demand(self.is_a(x, native.TUPLE))
            self.demand(self.build.icmp_signed(">", self.length(x), word(i)))
            x = self.item(x, i)
        return x

    def passed(self, x: Any, place: int) -> list[Any]:
        """The values that are passed to the kernel for an argument or a constant."""
        if isinstance(x, Literal):
            return [self.load(self.table, place, WORD if type(x.value) is int else DOUBLE)]
        given = self.found(x.place)
        if isinstance(x, Number):
            self.demand(self.is_a(given, native.FLOAT))
            return [self.number(given)]
        if isinstance(x, Given):
            self.demand_array(given, x.dtype, self.lengths(x, place))
            return self.described(given, x, place)
        element = SINGLE if x.dtype.itemsize == 4 else DOUBLE
        if x.shape or element is SINGLE:
            self.demand_array(given, x.dtype, self.lengths(x, place))
            value = self.load(self.data(given), 0, element)
            return [value if element is DOUBLE else self.build.fpext(value, DOUBLE)]
        # Sums of arrays without axes are NumPy's scalars.
        scalar = self.is_a(given, native.SCALAR), lambda: (self.number(given),)
        return self.chosen(scalar, (self.is_a(given, native.ARRAY), lambda: self.only(given)))

    def only(self, array: Any) -> tuple[Any]:
        """The element of a 0-d array of float64."""
        self.demand_array(array, np.dtype(np.float64), [])
        return (self.load(self.data(array), 0, DOUBLE),)

    def lengths(self, x: Any, place: int) -> list[Any]:
        """The lengths of the axes of an array, from the table."""
        return [self.load(self.table, place + 8 * i) for i in range(len(x.shape))]

    def described(self, array: Any, x: Given | New, place: int) -> list[Any]:
        """An array as arguments of Numba's code: owner, number of elements and their size, address,
        lengths and strides. Without an owner, references are not counted."""
        step, size, strides = word(x.dtype.itemsize), word(1), []
        lengths = self.lengths(x, place)
        for length in reversed(lengths):
            strides.insert(0, self.build.mul(step, size))
            size = self.build.mul(size, length)
        axes = [size, step] if x.flat else [*lengths, *strides]
        return [word(0), word(0), size, step, self.data(array), *axes]

    def new(self, x: New | Returned, place: int) -> Any:
        """A new array, whose shape is in the table."""
        return self.new_array(x.dtype, len(x.shape), self.build.add(self.table, word(place)))

    def run(self, operands: list[list[Any]], dtypes: list[np.dtype]) -> list[Any]:
        """Call the kernel, count the call, and return its return values."""
        element = SINGLE if dtypes and dtypes[0].itemsize == 4 else DOUBLE
        found = self.build.alloca(element, max(1, len(dtypes)))
        error = self.build.alloca(WORD)
        flat = [x for operand in operands for x in operand]
        status = self.call(self.load(self.table, 8), INT, found, error, *flat)
        self.demand(self.equal(status, INT(0)))
        counted = self.load(self.table)
        self.store(self.build.add(self.load(counted), word(1)), counted)
        values = [self.build.load(self.build.gep(found, [word(i)])) for i in range(len(dtypes))]
        return values if element is DOUBLE else [self.build.fpext(x, DOUBLE) for x in values]


def _places(parts: list[Any]) -> Iterator[int]:
    """The offset of each part in the table."""
    place = 16
    for x in parts:
        yield place
        place += 8 * (len(getattr(x, "shape", ())) + isinstance(x, (Literal, Returned)))
