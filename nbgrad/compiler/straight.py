"""Functions without branches, which are made of calls: as functions of the kernel IR for compiled
code, and as Python text for people."""

import operator
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from ..ir.formulas import RELATIONS
from .forks import with_open_properties
from .front.calls import call
from .front.elements import element, set_element
from .front.emit import FunctionBuilder
from .front.functions import Entry, written
from .front.syntax import Unsupported
from .front.values import Array, Known, Number, Place, Value
from .linked import Linked

__all__ = ["Straight"]


@with_open_properties
class Straight:
    """The function `name` of arguments `types`, around the core of a program.

    `write(do, *arguments)` gives its result. In it `do(function, *operands)` stands for each call,
    and `do.core(count, *operands)` for that of the core, which has so many results. Functions are
    instructions, functions of ours and those of the module `operator`. The text calls the core by
    its name; other uses need the core itself.
    """

    def __init__(
        self, name: str, types: Sequence[str], write: Callable[..., Any], core: str,
        linked: Linked | None = None,
    ):  # fmt: skip
        self.name, self.types = name, types
        self._write, self._core, self._linked = write, core, linked

    def __repr__(self) -> str:
        return f"{self._linked}\n{self.source}"

    @cached_property
    def source(self) -> str:
        """The function in Python."""
        lines = _Lines(self._core)
        result = _text(self._write(lines, *map(_Text, self.types)))
        body = [*lines.written, f"return {result}"]
        head = f"def {self.name}({', '.join(self.types)}):"
        return "\n    ".join([head, *body]) + "\n"

    def entry(self, kinds: Sequence[Any]) -> Entry:
        """The function for types of its arguments."""
        try:
            return written(self.name, self.types, kinds, self._emitted)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise Unsupported(f"{type(error).__name__}: {error}") from error

    def _emitted(self, emit: FunctionBuilder, *arguments: Value) -> Value:
        result = self._write(_Statements(emit, self._linked), *arguments)
        return result if isinstance(result, (tuple, *_VALUES)) else Known(result)


class _Statements:
    """Writes calls as statements of the kernel IR."""

    def __init__(self, emit: FunctionBuilder, core: Linked | None):
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


class _Text(str):
    """An expression."""

    __slots__ = ()


class _Lines:
    """Writes calls as lines of Python: expressions stand where they are used."""

    def __init__(self, core: str):
        self.written: list[str] = []
        self._core = core

    def __call__(self, function: Any, *operands: Any) -> _Text:
        given = map(_text, operands)
        if (form := _FORMS.get(function)) is not None:
            text = form.format(*given)
        else:
            text = f"{function.__name__}({', '.join(given)})"
        if function is operator.setitem or function.__name__ in _ACTIONS:
            self.written.append(text)
        return _Text(text)

    def core(self, count: int, *operands: Any) -> Sequence[_Text]:
        names = [_Text(f"v{i}") for i in range(count)]
        text = f"{self._core}({', '.join(map(_text, operands))})"
        self.written.append(f"{', '.join(names)}, = {text}" if names else text)
        return names


_ACTIONS = {"move", "require", "spoil", "writable"}
_FORMS: dict[Any, str] = {
    **{function: f"({{}} {sign} {{}})" for sign, function in RELATIONS.items()},
    operator.add: "({} + {})", operator.mul: "{} * {}", operator.floordiv: "({} // {})",
    operator.and_: "({} & {})", operator.not_: "(not {})", operator.getitem: "{}[{}]",
    operator.setitem: "{}[{}] = {}",
}  # fmt: skip


def _text(operand: Any) -> str:
    if isinstance(operand, _Text):
        return operand
    if isinstance(operand, (tuple, list)) and any(isinstance(x, _Text) for x in operand):
        return ", ".join(operand)
    if isinstance(operand, type):
        home = operand.__module__.replace("numpy", "np")
        return f"{home}.{operand.__name__}" if home[:2] == "np" else operand.__name__
    return repr(operand)
