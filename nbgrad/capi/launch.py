"""Launchers: calls of one kernel on short arrays, with new arrays for its results.

Results that are allocated in Python one by one take three times as long as a kernel over a hundred
numbers. A launcher is an entry that allocates them: it checks that its arguments are contiguous
arrays of given dtypes and shapes, runs the kernel and returns the results. For any other arguments,
and if the kernel raises, it calls its definition. It holds the GIL, so it is for short work.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from math import prod
from typing import Any, TypeAlias

import numpy as np

from ..compiler import entry as entries
from ..compiler.front import ArrayType
from ..compiler.front.syntax import Unsupported
from ..compiler.kernel import DISABLED, Kernel
from ..runtime.layout import IS_KNOWN

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
_DOUBLE, _INT = np.dtype(np.float64), np.dtype(np.int64)


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


def is_short(size: int) -> bool:
    """Whether work on `size` elements is short enough for a launcher."""
    return size <= _SHORT


def launcher(launch: Launch, arguments: int, general: Callable) -> Callable:
    """A function of so many arguments that makes the call if they are as expected, and otherwise
    calls `general`; `general` itself where there is no such code or no C function."""
    if DISABLED or not IS_KNOWN:
        return general
    try:
        code = launch.kernel.code(tuple(map(_kind, launch.operands)))
    except Unsupported:
        return general
    table = _Table(launch)
    return entries.entry(
        "launcher", code.run, table.parameters, table.slots + 1, code.dtypes, table.result,
        brief=0, count=arguments, may_overlap=True, whole_tuples=False,
        constants=table.constants,
        definition=general, defers_errors=True, counter=launch.kernel.launched.ctypes.data,
        kept=launch,
    )  # fmt: skip


def _kind(x: Operand) -> Any:
    """The type of an operand."""
    if isinstance(x, (Given, New)):
        return ArrayType(x.dtype, 1 if x.flat else len(x.shape))
    return _INT if isinstance(x, Literal) and type(x.value) is int else _DOUBLE


class _Table:
    """What an entry needs to know of a launch. Constants are the lengths of arrays, too: the kernel
    takes each of them as a word behind the address."""

    def __init__(self, launch: Launch):
        self.parameters: list[entries.Parameter] = []
        self.constants: dict[int, int] = {}
        self.slots = 0
        self._of_operand = list(map(self._add, launch.operands))
        self._numbers = count()
        results: Any = launch.results
        is_tuple = type(results) is tuple
        self.result = tuple(map(self._result, results)) if is_tuple else self._result(results)

    def _add(self, x: Operand) -> int:
        """Add an operand; the number of its parameter."""
        slot, lengths = self.slots, ()
        match x:
            case Literal(value):
                self.constants[slot] = int(np.array(value).view(np.int64))
            case Number(place):
                self.parameters.append(entries.Number(_DOUBLE, slot, place))
            case Item(place, shape, dtype):
                one = entries.Array(dtype, shape, slot, place=place, is_element=True)
                self.parameters.append(one)
            case Given(place, shape, dtype):
                self.parameters.append(entries.Array(dtype, shape, slot, place=place))
            case New(shape, dtype):
                self.parameters.append(entries.New(dtype, shape, slot))
        if isinstance(x, (Given, New)):
            lengths = (prod(x.shape),) if x.flat else x.shape
        self.constants |= dict(enumerate(lengths, slot + 1))
        self.slots += 1 + len(lengths)
        return len(self.parameters) - 1

    def _result(self, x: Result) -> entries.Result:
        if x is None:
            return None
        if isinstance(x, int):
            return ~self._of_operand[x]
        if isinstance(x, Given):
            places = [getattr(parameter, "place", None) for parameter in self.parameters]
            return ~places.index(x.place)
        number = next(self._numbers)
        self.parameters.append(entries.New(x.dtype, x.shape, self.slots, number, x.factor))
        return ~(len(self.parameters) - 1)
