"""The variables of a function while it is compiled."""

from collections.abc import Container
from typing import TypeAlias

from .emit import Emitter, Slot
from .syntax import Unsupported
from .values import Known, Typed, Value

Variable: TypeAlias = "Slot | Typed | Known | tuple[Variable, ...]"


class Variables:
    """Variables by name. One has one type in a loop or a branch and in what surrounds it; in
    straight code a new assignment may give it another. `place` is the loops and branches around
    the statement that is compiled. Those that are `steady` stand for their first values; those that
    are `given` have a value on each way to the statement."""

    def __init__(self, emit: Emitter, steady: Container[str]):
        self._steady = steady
        self.place: tuple[int, ...] = ()
        self._emit = emit
        self.given: frozenset[str] = frozenset()
        self._known: dict[str, tuple[tuple[int, ...], Variable]] = {}

    def __getitem__(self, name: str) -> Value:
        """Raises Unsupported where some way to here gives the variable no value."""
        if name not in self.given:
            raise Unsupported(f"{name}, which may be read before it is assigned,")
        return self.read(self._known[name][1])

    def __setitem__(self, name: str, value: Value) -> None:
        self.given |= {name}
        if name in self._steady:
            self._known[name] = self.place, value
            return
        place, variable = self._known.get(name, ((), None))
        if variable is not None:
            try:
                self.write(variable, value)
                return
            except Unsupported:
                if place != self.place:
                    raise
        variable = self.new(value)
        self.write(variable, value)
        self._known[name] = self.place, variable

    def new(self, value: Value) -> Variable:
        """A variable for a value."""
        if isinstance(value, tuple):
            return tuple(map(self.new, value))
        if isinstance(value, Known) and not value.is_number:
            return value
        return self._emit.variable(self._emit.typed(value).kind)

    def write(self, variable: Variable, value: Value) -> None:
        """Set a variable. Raises Unsupported, and writes nothing, where its type is another."""
        if not self._fits(variable, value):
            raise Unsupported("a variable of two types")
        if isinstance(variable, Slot):
            self._emit.store(value, variable)
        elif isinstance(variable, tuple):
            assert isinstance(value, tuple)
            for each, part in zip(variable, value, strict=True):
                self.write(each, part)

    def _fits(self, variable: Variable, value: Value) -> bool:
        if isinstance(variable, Slot):
            return not isinstance(value, tuple) and self._emit.typed(value).kind == variable.kind
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
            return self._emit.load(variable)
        return tuple(map(self.read, variable)) if isinstance(variable, tuple) else variable
