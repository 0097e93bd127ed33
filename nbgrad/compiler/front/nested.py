"""Functions that are defined inside of a function: `def` and `lambda`.

Numba writes them into the place of their calls; they read the variables around them as they are at
the call.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from .syntax import Unsupported, definition_of
from .values import Known, Value

__all__ = ["Held", "Inner", "Instance", "holds_values"]


@dataclass(frozen=True, eq=False)
class Held:
    """The value of a variable that a function inside of another reads, in its closure."""

    value: Value


class Instance:
    """An object of a class, as a function reads it: its attributes may be `Held` values."""

    def __init__(self, kind: type, attributes: Mapping[str, Any]):
        self._kind, self._attributes = kind, attributes

    def __getattr__(self, name: str) -> Any:
        if name in self._attributes:
            return self._attributes[name]
        found = getattr(self._kind, name)
        return MethodType(found, self) if isinstance(found, FunctionType) else found


def holds_values(x: Any) -> bool:
    """Whether a function, an object or a dict may have values of the function that is read."""
    if isinstance(x, FunctionType):
        own = [*(x.__closure__ or ()), *(x.__defaults__ or ())]
        return any(isinstance(y, Held) or (isinstance(y, CellType) and _is_held(y)) for y in own)
    return isinstance(x, (Inner, Instance, dict))


def _is_held(cell: CellType) -> bool:
    try:
        inner = cell.cell_contents
    except ValueError:  # it is empty
        return False
    return isinstance(inner, Held) or (isinstance(inner, FunctionType) and holds_values(inner))


class Inner:
    """A function inside of another. `names` are the variables around it that it reads; `at(values)`
    is the function for values of these."""

    def __init__(
        self, outer: Callable, node: ast.FunctionDef | ast.Lambda,
        read: Callable[[str], Value], value: Callable[[ast.expr], Value],
    ):  # fmt: skip
        self._code, self._globals = _code_of(outer, node), outer.__globals__
        self.names, self.__name__ = self._code.co_freevars, self._code.co_name
        self._read = read
        options = node.args
        self._defaults = tuple(_constant(value(each)) for each in options.defaults)
        self._named = {
            each.arg: _constant(value(default))
            for each, default in zip(options.kwonlyargs, options.kw_defaults, strict=True)
            if default is not None
        }
        self._plain = None if self.names else self.at(())

    def captured(self) -> list[Value]:
        """The values of the variables around it."""
        return [self._read(name) for name in self.names]

    def at(self, values: Sequence[Value]) -> FunctionType:
        if not values and getattr(self, "_plain", None) is not None:
            return self._plain  # pyright: ignore
        cells = tuple(CellType(Held(x)) for x in values)
        made = FunctionType(self._code, self._globals, self.__name__, self._defaults, cells)
        made.__kwdefaults__ = self._named or None
        return made


def _constant(value: Value) -> Any:
    if isinstance(value, Known):
        return value.value
    raise Unsupported("a default value that is not a constant")


def _code_of(outer: Callable, node: ast.FunctionDef | ast.Lambda) -> CodeType:
    """The code of a function that is defined in a function."""
    tree = definition_of(outer).tree
    decorated = getattr(tree, "decorator_list", [])
    first = min(each.lineno for each in (tree, *decorated))
    line = outer.__code__.co_firstlineno + node.lineno - first
    name = getattr(node, "name", "<lambda>")
    if getattr(node, "decorator_list", []):
        raise Unsupported(f"a decorator of {name}, a function inside of a function")
    found = [
        x for x in outer.__code__.co_consts
        if isinstance(x, CodeType) and (x.co_name, x.co_firstlineno) == (name, line)
        and (isinstance(node, ast.FunctionDef) or _is_at(x, node))
    ]  # fmt: skip
    if not found:
        raise Unsupported(f"{name}, a function inside of a function, whose code is not found")
    return found[0]


def _is_at(code: CodeType, node: ast.Lambda) -> bool:
    """Whether a code is that of a lambda expression, by the columns of its first line."""
    columns = [
        (start, end) for line, _, start, end in code.co_positions()
        if line == code.co_firstlineno and end
    ]  # fmt: skip
    low, high = node.body.col_offset, node.body.end_col_offset or 0
    ends_here = node.body.end_lineno == node.lineno
    return all(low <= (a or 0) and (not ends_here or b <= high) for a, b in columns)
