"""The variables of a function while it is read."""

import contextlib
import operator
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...ir.scalar import NAMES, arg
from ...ir.statements import Assign, Literal, Load, Raise
from ...ir.statements import Variable as Declared
from . import dtypes
from .arrays import in_memory
from .complex_numbers import is_complex, parts_of
from .emit import FunctionBuilder
from .rebinding import ArraySlot, Copies
from .slots import (
    Conflict,
    PointerSlot,
    Slot,
    State,
    Unassigned,
    UnsureRead,
    Variable,
    array_of_slot,
    is_same,
    part_of_slot,
)
from .syntax import Unsupported
from .values import (
    BOOL,
    INT,
    Array,
    Complex,
    Known,
    Number,
    Place,
    Value,
    dtype_of,
    members,
    rebuilt,
)


class Variables:
    """Variables by name. As in Numba, each assignment may give a variable another type; where ways
    meet, its values are converted to a common type (`joins`). Those that are `steady` stand for
    their first values. For those that are `noted`, a flag tells whether they are assigned."""

    def __init__(self, emit: FunctionBuilder, steady: Container[str], noted: Iterable[str]):
        self._steady = steady
        self.fused: frozenset[str] = frozenset()  # see `fused.py`
        self.keeps_types = False  # whether the parts of a branch must give one type to a variable
        self._emit = emit
        self.copies = Copies(emit)  # of arrays, where ways meet
        self._known: dict[str, Variable] = {}
        self._depth = 0  # the number of loops and branches around the statement that is read
        self._unsure: frozenset[str] = frozenset()
        self._is_fresh = False  # whether nothing else refers to the value that is assigned
        self._flags = {name: self.declared(BOOL, f"{name}_set") for name in noted}
        self.noted = self._flags.keys()

    def __getitem__(self, name: str) -> Value:
        """Raises Unsupported if no assignment to the variable is on a way to here."""
        if name not in self._known:
            raise Unassigned(name)
        if name in self._unsure:
            self._check(name)
        variable = self._known[name]
        if isinstance(variable, Conflict) and name not in self._flags:
            raise UnsureRead(name)
        return self.read(variable)

    def _check(self, name: str) -> None:
        """Raise an error at run time if a variable has no value."""
        if name not in self._flags:
            raise UnsureRead(name)
        text = f"cannot access local variable '{name}' where it is not associated with a value"
        there = self._emit.typed(self.read(self._flags[name]))
        self._emit.branch(there, [], [Raise("UnboundLocalError", text)])
        self._unsure -= {name}

    def assign(self, name: str, value: Value) -> None:
        """Assign the value of an expression, which nothing else refers to."""
        if name in self._steady:
            value = self._named(self._emit.settled(value), name)
        self._is_fresh = True
        self[name] = value
        self._is_fresh = False

    def __setitem__(self, name: str, value: Value) -> None:
        if is_complex(value) and isinstance(value, Known):
            value = self._emit.cast(value, dtype_of(value.value))
        if name not in self.fused:
            value = in_memory(self._emit, value)  # what it is computed from may change
        self._unsure -= {name}
        if name in self._flags:
            self.write(self._flags[name], Known(True))
        if name in self._steady:
            value = self._emit.settled(value)
            self._bind(value)
            self._known[name] = value
            return
        self._bind(value if isinstance(value, Array) else ())
        variable = self._known.get(name)
        if variable is not None and self._fits(variable, value):
            self.write(variable, value)
        else:
            self._known[name] = self.new(value, name)

    def taken(self, name: str) -> Value:
        """The value of a variable, which is none from here on."""
        return self.read(self._known.pop(name))

    # -- states -----------------------------------------------------------------------------------

    def state(self) -> State:
        return State(dict(self._known), self._unsure)

    def restore(self, state: State) -> None:
        self._known, self._unsure = dict(state.known), state.unsure

    def fresh(self, variable: Variable) -> Variable:
        """A variable of the same type, which has no value yet."""
        match variable:
            case Slot(name, dtype):
                return self.declared(dtype, name)
            case PointerSlot(address, dtype):
                return PointerSlot(self.declared(address.dtype, address.name), dtype)
            case tuple():
                return rebuilt(variable, map(self.fresh, variable))
            case ArraySlot(name, _, dtype, lengths):
                return self._array_slot(name, dtype, len(lengths))
            case Array() | Place():
                return Conflict("an array")
        return variable

    def behind(self, variable: Variable, name: str) -> Variable:
        """A variable of a loop or a branch behind it, which some way does not assign. That of an
        array has a value there if it is noted, as it takes a copy of the array."""
        if isinstance(variable, tuple):
            return rebuilt(variable, [self.behind(each, name) for each in variable])
        if not isinstance(variable, Array):
            return variable
        return (
            self._array_slot(name, *array_of_slot(variable))
            if name in self._flags
            else Conflict(name)
        )

    def _array_slot(self, name: str, dtype: np.dtype, rank: int) -> ArraySlot:
        lengths = tuple(self.declared(INT, f"{name}_n{i}").name for i in range(rank))
        return ArraySlot(name, self._emit.name(name), dtype, lengths)

    def merged(self, name: str, x: Variable, y: Variable) -> Variable:
        """A variable that takes the values of two: one of them, if its type takes both."""
        if is_same(x, y):
            return x
        match x, y:
            case Slot(), Slot() if x.dtype == y.dtype or not self.keeps_types:
                dtype = dtypes.common(x.dtype, y.dtype)
                if dtype in (x.dtype, y.dtype):
                    return x if x.dtype == dtype else y
                return self.declared(dtype, x.name)
            case (Complex(), Slot()) | (Slot(), Complex()) if not self.keeps_types:
                each: tuple[Any, Any] = (x, y) if isinstance(x, Complex) else (y, x)
                pair, slot = each
                own = part_of_slot(pair)
                part = dtypes.operand_dtypes(operator.add, own, slot.dtype)[0]
                return pair if part == own else Complex(self.declared(part, name) for _ in pair)
            case PointerSlot(), PointerSlot() if x.dtype == y.dtype:
                return x
            case tuple(), tuple() if len(x) == len(y) and type(x) is type(y):
                return rebuilt(x, [self.merged(name, *each) for each in zip(x, y, strict=True)])
            case ((Array() | ArraySlot()), (Array() | ArraySlot())) if array_of_slot(
                x
            ) == array_of_slot(y):
                if isinstance(x, Array) and isinstance(y, Array):
                    return self._array_slot(name, *array_of_slot(x))
                return x if isinstance(x, ArraySlot) else y
        return Conflict(name)

    def convert(self, target: Variable, source: Variable) -> None:
        """Assign one variable to another, which takes its values."""
        if isinstance(target, tuple) and isinstance(source, tuple):
            values = [self._emit.settled(self.read(each)) for each in source]
            for to, start, value in zip(target, source, values, strict=True):
                if not is_same(to, start):
                    self.write(to, value)
        elif not isinstance(target, Conflict) and not is_same(target, source):
            self.write(target, self.read(source))

    def new(self, value: Value, name: str = "t") -> Variable:
        """A variable with a value."""
        if isinstance(value, tuple):
            return rebuilt(value, [self.new(part, name) for part in value])
        if isinstance(value, Place):
            address = self._new_slot(self._emit.address(value), name)
            return PointerSlot(address, value.dtype)
        if isinstance(value, Number) or (isinstance(value, Known) and value.is_number):
            return self._new_slot(self._emit.typed(value), name)
        return value

    def declared(self, dtype: np.dtype, name: str = "") -> Slot:
        """A variable for a number, which has none yet."""
        slot = Slot(self._emit.name(name), dtype)
        self.declare(slot)
        return slot

    def new_number(self, value: Number) -> Slot:
        slot = Slot(self._emit.name(), value.dtype)
        self._emit.add(Declared(slot.name, value.operand, dtype=slot.dtype))
        return slot

    @contextlib.contextmanager
    def inner(self) -> Iterator[None]:
        """The body of a loop or a branch: variables that it assigns first are declared outside."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def write_fitting(self, variable: Variable, value: Value) -> None:
        """Assign a variable. Raises Unsupported for a value of another type."""
        if not self._fits(variable, value):
            raise Unsupported("a variable of two types")
        self.write(variable, value)

    def _new_slot(self, value: Number, name: str) -> Slot:
        slot = Slot(self._emit.name(name), value.dtype)
        if self._depth:
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
                if self._emit.is_intermediate(last.target) and last.dtype == variable.dtype:
                    self._emit.body[-1] = replace(last, target=variable.name)
                    return
            self._emit.add(copy)
        elif isinstance(variable, PointerSlot):
            assert isinstance(value, Place)
            self.write(variable.address, self._emit.address(value))
        elif isinstance(variable, ArraySlot):
            assert isinstance(value, Array)
            self.copies.add(variable, value)
        elif isinstance(variable, Complex):
            parts: Any = self._emit.settled(parts_of(self._emit, value, part_of_slot(variable)))
            for each, part in zip(variable, parts, strict=True):
                self.write(each, part)
        elif isinstance(variable, tuple):
            for each, part in zip(variable, members(self._emit.settled(value)), strict=True):
                self.write(each, part)

    def _named(self, value: Value, name: str) -> Value:
        """An intermediate value under the name of the variable that it is assigned to."""
        body = self._emit.body
        if isinstance(value, Number) and body and isinstance(last := body[-1], (Assign, Load)):
            if last.target == value.operand and self._emit.is_intermediate(last.target):
                new = self._emit.name(name)
                body[-1] = replace(last, target=new)
                return replace(value, operand=new)
        return value

    def _bind(self, value: Value) -> None:
        parts = (*value.shape, *(value.strides or ())) if isinstance(value, Array) else value
        if isinstance(parts, tuple):
            for part in parts:
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
            if not isinstance(value, tuple) or type(value) is not type(variable):
                return False
            return len(value) == len(variable) and all(map(self._fits, variable, value))
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
            return self._emit.pointing(Number(variable.address.name, INT), variable.dtype)
        if isinstance(variable, ArraySlot):
            return variable.read(self._emit)
        if isinstance(variable, Conflict):
            raise Unsupported(f"{variable.name}, which has values of several types,")
        if isinstance(variable, tuple):
            return rebuilt(variable, map(self.read, variable))
        return variable
