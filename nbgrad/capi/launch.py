"""Launchers: from Python into the code of a kernel, for short arrays.

Numba's way in looks at arrays of any kind, and Python makes those for the results one by one: five
times the work of a kernel over a hundred numbers. A launcher is a C function for calls that come
again and again: it looks whether its arguments are the arrays that were foreseen, of their dtypes
and shapes and in C order; it makes the results, runs the kernel and gives them to Python. Whatever
else it is handed goes to the general function that it stands for, as does a kernel that raises:
both mean the same. It keeps Python's lock, so it is for short work.

Launchers of like calls share their code. Each has a table: where its calls are counted and where
the kernel is, lengths of axes, constants.
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

# Elements of an array that Python's lock may be kept for.
_SHORT = 4096


@dataclass(frozen=True)
class Given:
    """An array among the arguments: argument (i,), or item (i, j) of the tuple that one is. The
    kernel takes it along one axis where it is `flat`."""

    place: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype
    flat: bool = True


@dataclass(frozen=True)
class Item:
    """An array of one number among the arguments, which the kernel takes as a float."""

    place: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype


@dataclass(frozen=True)
class Number:
    """A float among the arguments."""

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
    """An array of one number: `factor` times what the kernel returns, or the next of those."""

    shape: tuple[int, ...]
    dtype: np.dtype
    factor: float = 1.0


Operand: TypeAlias = Given | Item | Number | Literal | New
Result: TypeAlias = Given | Returned | int | None


@dataclass(frozen=True)
class Launch:
    """One call of a kernel: its arguments in order, and what is given back: one result, or a tuple
    of them. An int stands for the new array that is the argument at this position."""

    kernel: Kernel
    operands: tuple[Operand, ...]
    results: Result | tuple[Result, ...]

    @property
    def returned(self) -> list[Returned]:
        """The results that the kernel returns."""
        results = self.results if type(self.results) is tuple else (self.results,)
        return [x for x in results if isinstance(x, Returned)]


def is_short(size: int) -> bool:
    """Whether work on so many elements is short."""
    return size <= _SHORT


def launcher(launch: Launch, count: int, general: Callable) -> Callable:
    """A function of `count` arguments that makes the call where all is as foreseen, and where not
    is `general`; that itself where Numba is disabled or the layout of objects is not known."""
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
    """Numba's result for the kernel of a launch."""
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
    """The operands and results of a launch without what its table has: number of axes in place of
    their lengths."""

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
    """The address of the code of launchers of one pattern."""
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
        """An argument, or an item of one."""
        x = self.argument(place[0])
        for i in place[1:]:
            self.demand(self.is_a(x, native.TUPLE))
            self.demand(self.build.icmp_signed(">", self.length(x), word(i)))
            x = self.item(x, i)
        return x

    def passed(self, x: Any, place: int) -> list[Any]:
        """What the kernel is passed for an operand that is given."""
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
        """What an array of float64 without axes holds."""
        self.demand_array(array, np.dtype(np.float64), [])
        return (self.load(self.data(array), 0, DOUBLE),)

    def lengths(self, x: Any, place: int) -> list[Any]:
        """The lengths of the axes of an array, which the table has."""
        return [self.load(self.table, place + 8 * i) for i in range(len(x.shape))]

    def described(self, array: Any, x: Given | New, place: int) -> list[Any]:
        """An array as Numba's code takes it: its owner, elements and their size, where they lie,
        lengths and strides. Nobody counts references to what has no owner."""
        step, size, strides = word(x.dtype.itemsize), word(1), []
        lengths = self.lengths(x, place)
        for length in reversed(lengths):
            strides.insert(0, self.build.mul(step, size))
            size = self.build.mul(size, length)
        axes = [size, step] if x.flat else [*lengths, *strides]
        return [word(0), word(0), size, step, self.data(array), *axes]

    def new(self, x: New | Returned, place: int) -> Any:
        """A new array, of the lengths that stand in the table."""
        return self.new_array(x.dtype, len(x.shape), self.build.add(self.table, word(place)))

    def run(self, operands: list[list[Any]], dtypes: list[np.dtype]) -> list[Any]:
        """Call the kernel, and count it: the numbers that it returns."""
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
    """Where in the table the words of each part begin."""
    place = 16
    for x in parts:
        yield place
        place += 8 * (len(getattr(x, "shape", ())) + isinstance(x, (Literal, Returned)))
