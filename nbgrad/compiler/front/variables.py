"""The variables of a function while it is read."""

import contextlib
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ...ir.scalar import NAMES, arg
from ...ir.statements import Assign, Literal, Load
from ...ir.statements import Variable as Declared
from .emit import FunctionBuilder
from .syntax import Unsupported
from .values import INT, Known, Number, Place, Value, members


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


Variable: TypeAlias = "Slot | PointerSlot | Value | tuple[Variable, ...]"


class Variables:
    """Variables by name. One has one type in a loop or a branch and in what surrounds it; in
    straight code a new assignment may give it another. `place` is the loops and branches around
    the statement that is read. Those that are `steady` stand for their first values; those that
    are `given` have a value on each way to the statement."""

    def __init__(self, emit: FunctionBuilder, steady: Container[str]):
        self._steady = steady
        self.place: tuple[int, ...] = ()
        self._emit = emit
        self.given: frozenset[str] = frozenset()
        self._known: dict[str, tuple[tuple[int, ...], Variable]] = {}
        self._bodies = 0
        self._is_fresh = False  # whether nothing else refers to the value that is assigned

    def __getitem__(self, name: str) -> Value:
        """Raises Unsupported where some way to here gives the variable no value."""
        if name not in self.given:
            raise Unsupported(f"{name}, which may be read before it is assigned,")
        return self.read(self._known[name][1])

    def assign(self, name: str, value: Value) -> None:
        """Assign the value of an expression, which nothing else refers to."""
        if name in self._steady:
            value = self._named(self._emit.settled(value), name)
        self._is_fresh = True
        self[name] = value
        self._is_fresh = False

    def __setitem__(self, name: str, value: Value) -> None:
        self.given |= {name}
        if name in self._steady:
            value = self._emit.settled(value)
            self._bind(value)
            self._known[name] = self.place, value
            return
        place, variable = self._known.get(name, ((), None))
        if variable is not None:
            if self._fits(variable, value):
                self.write(variable, value)
                return
            if place != self.place:
                raise Unsupported("a variable of two types")
        variable = self.new(value, name)
        self._known[name] = self.place, variable

    def new(self, value: Value, name: str = "t") -> Variable:
        """A variable with a value."""
        if isinstance(value, tuple):
            return tuple(self.new(part, name) for part in value)
        if isinstance(value, Place):
            address = self._new_slot(self._emit.address(value), name)
            return PointerSlot(address, value.dtype)
        if isinstance(value, Number) or (isinstance(value, Known) and value.is_number):
            return self._new_slot(self._emit.typed(value), name)
        return value

    def declared(self, dtype: np.dtype) -> Slot:
        """A variable for a number, which has none yet."""
        slot = Slot(self._emit.name(), dtype)
        self.declare(slot)
        return slot

    def new_number(self, value: Number) -> Slot:
        slot = Slot(self._emit.name(), value.dtype)
        self._emit.add(Declared(slot.name, value.operand, dtype=slot.dtype))
        return slot

    @contextlib.contextmanager
    def inner(self) -> Iterator[None]:
        """The body of a loop or a branch: variables that it assigns first are declared outside."""
        outside = self.place
        self._bodies += 1
        self.place = (*outside, self._bodies)
        try:
            yield
        finally:
            self.place = outside

    def write_fitting(self, variable: Variable, value: Value) -> None:
        """Assign a variable. Raises Unsupported for a value of another type."""
        if not self._fits(variable, value):
            raise Unsupported("a variable of two types")
        self.write(variable, value)

    def _new_slot(self, value: Number, name: str) -> Slot:
        slot = Slot(self._emit.name(name), value.dtype)
        if self.place:
            self.declare(slot)
            self.write(slot, value)
        else:
            self._emit.add(Declared(slot.name, value.operand, dtype=slot.dtype))
        return slot

    def declare(self, slot: Slot) -> None:
        """Declare a variable at the top of the function: an inner body assigns it first."""
        zero = Literal(slot.dtype.type(0).item(), slot.dtype)
        self._emit.top.append(Declared(slot.name, zero, dtype=slot.dtype))

    def write(self, variable: Variable, value: Value) -> None:
        """Assign a variable."""
        if isinstance(variable, Slot):
            number = self._emit.cast(value, variable.dtype)
            copy = Assign(
                variable.name, arg(NAMES[0]), (number.operand,), variable.dtype, variable.dtype
            )
            last = self._emit.body[-1] if self._emit.body and self._is_fresh else None
            if isinstance(last, Assign) and last.target == number.operand:
                if self._is_intermediate(last.target) and last.dtype == variable.dtype:
                    self._emit.body[-1] = replace(last, target=variable.name)
                    return
            self._emit.add(copy)
        elif isinstance(variable, PointerSlot):
            assert isinstance(value, Place)
            self.write(variable.address, self._emit.address(value))
        elif isinstance(variable, tuple):
            for each, part in zip(variable, members(self._emit.settled(value)), strict=True):
                self.write(each, part)

    def _named(self, value: Value, name: str) -> Value:
        """An intermediate value under the name of the variable that it is assigned to."""
        body = self._emit.body
        if isinstance(value, Number) and body and isinstance(last := body[-1], (Assign, Load)):
            if last.target == value.operand and self._is_intermediate(last.target):
                new = self._emit.name(name)
                body[-1] = replace(last, target=new)
                return replace(value, operand=new)
        return value

    def _is_intermediate(self, name: str) -> bool:
        """Whether a value has no name yet and no variable stands for it."""
        return name.startswith(".") and name not in self._emit.bound

    def _bind(self, value: Value) -> None:
        if isinstance(value, tuple):
            for part in value:
                self._bind(part)
        elif isinstance(value, Number):
            self._emit.bound.add(value.operand)

    def _fits(self, variable: Variable, value: Value) -> bool:
        if isinstance(variable, Slot):
            is_number = isinstance(value, Number) or (isinstance(value, Known) and value.is_number)
            return is_number and self._emit.dtype(value) == variable.dtype
        if isinstance(variable, PointerSlot):
            return isinstance(value, Place) and value.dtype == variable.dtype
        if isinstance(variable, tuple):
            return (
                isinstance(value, tuple)
                and len(value) == len(variable)
                and all(map(self._fits, variable, value))
            )
        return (
            isinstance(value, Known)
            and isinstance(variable, Known)
            and value.value is variable.value
        )

    def read(self, variable: Variable) -> Value:
        """The value of a variable."""
        if isinstance(variable, Slot):
            return Number(variable.name, variable.dtype, lasting=False)
        if isinstance(variable, PointerSlot):
            address = Number(variable.address.name, INT)
            return self._emit.pointing(address, variable.dtype)
        return tuple(map(self.read, variable)) if isinstance(variable, tuple) else variable
