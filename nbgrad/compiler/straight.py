"""Functions without branches, which are made of calls: as functions of the kernel IR, and in plain
Python."""

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .front.calls import call
from .front.elements import element, set_element
from .front.emit import FunctionBuilder
from .front.functions import Entry, written
from .front.syntax import Unsupported
from .front.values import Array, Known, Number, Place, Value

__all__ = ["Record", "Statements", "Straight"]


class Straight:
    """The function `name` of arguments `types`, around the core of a program.

    `write(do, *arguments)` gives its result. In it `do(function, *operands)` stands for each call,
    and `do.core(count, *operands)` for that of the core, which has so many results. Functions are
    instructions, functions of ours and those of the module `operator`. In plain Python the core is
    a function, else `Linked`.
    """

    def __init__(
        self, name: str, types: Sequence[str], write: Callable[..., Any], core: Any = None
    ):
        self.name, self.types = name, types
        self._write, self._core = write, core

    def __repr__(self) -> str:
        record = Record()
        result = self._write(record, *self.types)
        return f"{self._core}\n{self.types}\n{record}\n{result}"

    def entry(self, kinds: Sequence[Any]) -> Entry:
        """The function for types of its arguments."""
        try:
            return written(self.name, self.types, kinds, self._emitted)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise Unsupported(f"{type(error).__name__}: {error}") from error

    def _emitted(self, emit: FunctionBuilder, *arguments: Value) -> Value:
        result = self._write(Statements(emit, self._core), *arguments)
        return result if isinstance(result, (tuple, *_VALUES)) else Known(result)

    def plain(self) -> Callable:
        """The function in plain Python."""
        return partial(self._write, _Calls(self._core))


class Statements:
    """Writes calls as statements of the kernel IR."""

    def __init__(self, emit: FunctionBuilder, core: Any):
        self._emit, self._core = emit, core

    def __call__(self, function: Any, *operands: Any) -> Any:
        values = [x if isinstance(x, _VALUES) else Known(x) for x in operands]
        if function.__module__ == "_operator":
            if (of_element := _ELEMENTS.get(function)) is not None:
                return of_element(self._emit, *values)
            return self._emit.operation(function, *values)
        return call(self._emit, function, values)

    def core(self, count: int, *operands: Any) -> Any:
        return self(self._core, *operands)


_VALUES = (Number, Place, Array, Known)
_ELEMENTS: dict[Any, Callable[..., Any]] = {
    operator.getitem: element, operator.setitem: set_element,
}  # fmt: skip


class _Calls:
    """Calls functions."""

    def __init__(self, core: Callable):
        self._core = core

    def __call__(self, function: Any, *operands: Any) -> Any:
        return function(*operands)

    def core(self, count: int, *operands: Any) -> Sequence[Any]:
        return self._core(*operands) or ()


class Record:
    """Keeps calls, for comparisons."""

    def __init__(self):
        self._calls: list[tuple[Any, ...]] = []

    def __repr__(self) -> str:
        return "\n".join(f"{function.__name__}{operands}" for function, *operands in self._calls)

    def __call__(self, function: Any, *operands: Any) -> str:
        self._calls.append((function, *operands))
        return f"v{len(self._calls)}"

    def core(self, count: int, *operands: Any) -> Sequence[str]:
        found = self(Record.core, count, *operands)
        return [f"{found}.{i}" for i in range(count)]
