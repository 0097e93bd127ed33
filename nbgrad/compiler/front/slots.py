"""Variables: numbers, pointers and arrays that several statements assign."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .rebinding import ArraySlot
from .syntax import Unsupported
from .values import Array, Complex, Known, Value, dtype_of

__all__ = [
    "Conflict", "PointerSlot", "Slot", "State", "Unassigned", "UnsureRead", "Variable",
    "array_of_slot", "is_same", "part_of_slot",
]  # fmt: skip


class Unassigned(Unsupported):
    """A variable that no statement before has assigned; in a loop a later one may."""

    def __init__(self, name: str):
        super().__init__(f"{name}, which may be read before it is assigned,")
        self.name = name


@dataclass(frozen=True)
class Slot:
    """A number that several statements assign."""

    name: str
    dtype: np.dtype


@dataclass(frozen=True)
class PointerSlot:
    """A pointer that several statements assign: its address."""

    address: Slot
    dtype: np.dtype


@dataclass(frozen=True)
class Conflict:
    """A variable that has, where ways meet, values of types without a common type."""

    name: str


Variable: TypeAlias = "Slot | PointerSlot | ArraySlot | Conflict | Value | tuple[Variable, ...]"


@dataclass(frozen=True, eq=False)
class State:
    """The variables at one point of a function; on some way to it, those of `unsure` are not
    assigned."""

    known: dict[str, Variable]
    unsure: frozenset[str] = frozenset()


class UnsureRead(Exception):
    """A read of a variable that may have no value, or of an array that a loop or a branch assigns
    first. The function is read again, notes at run time whether the variable has a value, and keeps
    the array behind the loop or the branch."""

    def __init__(self, name: str):
        super().__init__(name)
        self.name = name


def is_same(x: Variable, y: Variable) -> bool:
    """Whether two variables are one."""
    if isinstance(x, tuple) and isinstance(y, tuple):
        same = len(x) == len(y) and type(x) is type(y)
        return same and all(map(is_same, x, y))
    if isinstance(x, Known) and isinstance(y, Known):
        return x.value is y.value
    return x is y or (isinstance(x, (Slot, PointerSlot, ArraySlot, Conflict)) and x == y)


def part_of_slot(variable: Complex) -> np.dtype:
    """The dtype of the parts of a complex variable, each of which is a variable or a number."""
    part = variable[0]
    return dtype_of(part.value) if isinstance(part, Known) else part.dtype


def array_of_slot(variable: Array | ArraySlot) -> tuple[np.dtype, int]:
    """The dtype and the number of axes of an array."""
    if isinstance(variable, ArraySlot):
        return variable.dtype, len(variable.lengths)
    return variable.place.dtype, len(variable.shape)
