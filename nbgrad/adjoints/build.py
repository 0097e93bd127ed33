"""Names and small statements for the passes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np

from ..ir.affine import Affine, affine_of
from ..ir.functions import FUNCTIONS
from ..ir.scalar import NAMES, Apply, Arg, Expr, Number, apply, arg
from ..ir.spread import Spread
from ..ir.statements import (
    Address,
    Assign,
    Call,
    For,
    Function,
    Literal,
    Load,
    Operand,
    PointTo,
    Store,
)
from ..ir.walk import inner, walk, with_inner

__all__ = [
    "BOOL", "COPY", "DOUBLE", "INT", "Names", "buffers_of", "copy", "defined_names", "expanded",
    "in_order", "literal", "names_of", "operation", "renamed", "unused",
]  # fmt: skip

DOUBLE, INT, BOOL = np.dtype(np.float64), np.dtype(np.int64), np.dtype(bool)
COPY = arg(NAMES[0])


class Names:
    """New names, none of which is taken."""

    def __init__(self, taken: Iterable[str] = ()):
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def take(self, names: Iterable[str]) -> None:
        """Let no new name be one of these."""
        self._taken.update(names)

    def new(self, hint: str) -> str:
        """A name that begins with `hint`."""
        hint = hint.partition("#")[0]
        name = hint
        while name in self._taken:
            self._next[hint] = self._next.get(hint, 0) + 1
            name = f"{hint}#{self._next[hint]}"
        self._taken.add(name)
        return name


def literal(number: float | bool, dtype: np.dtype) -> Literal:
    """A constant of a dtype."""
    return Literal(dtype.type(number).item(), dtype)


def copy(target: str, value: Operand, dtype: np.dtype) -> Assign:
    """`target` is the value, converted to the dtype."""
    return Assign(target, COPY, (value,), dtype, dtype)


@cache
def _body(name: str, arity: int) -> Expr:
    return apply(FUNCTIONS[name], [arg(each) for each in NAMES[:arity]])


def operation(
    target: str, name: str, operands: Sequence[Operand], dtype: np.dtype,
    inner: np.dtype | None = None,
) -> Assign:  # fmt: skip
    """`target` is a function of scalar code of operands."""
    return Assign(target, _body(name, len(operands)), tuple(operands), dtype, inner or dtype)


def expanded(
    statement: Assign, new: Callable[[], str], dtype_of: Callable[[Operand], np.dtype],
    values: dict[str, Operand] | None = None,
) -> list[Assign]:  # fmt: skip
    """The statement as statements of one function each; `values` are those of its arguments."""
    made: list[Assign] = []
    kinds: dict[str, np.dtype] = {}
    if values is None:
        values = dict(zip(NAMES, statement.operands, strict=False))
    memo: dict[Expr, Operand] = {}

    def kind_of(x: Operand) -> np.dtype:
        return kinds[x] if x in kinds else dtype_of(x)  # pyright: ignore

    def value(node: Expr, target: str | None = None) -> Operand:
        if isinstance(node, Arg):
            return values[node.name]
        if isinstance(node, Number):
            is_bool = isinstance(node.value, bool)
            dtype = BOOL if is_bool else statement.inner
            return Literal(node.value if is_bool else dtype.type(node.value).item(), dtype)
        assert isinstance(node, Apply)
        if node in memo:
            return memo[node]
        operands = [value(each) for each in node.args]
        result = statement.dtype if target else _result(node, operands, kind_of, statement.inner)
        memo[node] = target = target or new()
        kinds[target] = result
        kind = kind_of(operands[-1]) if node.function.name in _COMPARED else statement.inner
        made.append(operation(target, node.function.name, operands, result, kind))
        return target

    if isinstance(statement.body, Apply):
        value(statement.body, statement.target)
        return made
    return [replace(statement, body=COPY, operands=(value(statement.body),))]


_COMPARED = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
_BITS = {"and", "or", "xor", "invert"}


def _result(node: Apply, operands: list, dtype_of: Callable, inner: np.dtype) -> np.dtype:
    if node.function.name in _COMPARED or node.function.name in ("np.isfinite", "np.signbit"):
        return BOOL
    if node.function.name in _BITS:
        return dtype_of(operands[0])
    if node.function.name == "select":
        return dtype_of(operands[1])
    return inner


# -- names in statements --------------------------------------------------------------------------

_DEFINING = ("target", "axis", "results")
_SKIPPED = ("buffer", "body", "then", "otherwise", "function", "checkpoint")


def defined_names(body: Iterable[Any]) -> list[str]:
    """The names that statements, and those inside of them, define."""
    found: list[str] = []
    for each in walk(body):
        for field in ("target", "axis"):
            if isinstance(name := getattr(each, field, None), str):
                found.append(name)
        found += getattr(each, "results", ())
    return list(dict.fromkeys(found))


def in_order(statements: Sequence[Any]) -> list[Any]:
    """The statements, each behind those that define what it reads: one that is loaded again may
    read names that were defined behind it."""
    homes = {name: x for x in statements for name in defined_names([x])}
    made: list[Any] = []
    seen: set[int] = set()

    def visit(each: Any) -> None:
        if id(each) not in seen:
            seen.add(id(each))
            for name in sorted(names_of(each) & set(homes)):
                visit(homes[name])
            made.append(each)

    for each in statements:
        visit(each)
    return made


def unused(suffix: str, function: Function) -> str:
    """The suffix, with the first number from 2 on that makes it one that no name of the function
    has."""
    names = [name for name, _ in function.parameters] + defined_names(function.body)
    found, order = suffix, 1
    while any(found in name for name in names):
        order += 1
        found = f"{suffix}{order}"
    return found


def names_of(statement: Any) -> set[str]:
    """The names that a statement itself reads: operands, names in positions, bounds of loops."""
    found: set[str] = set()
    for name in _reading(type(statement)):
        _collect(getattr(statement, name), found)
    return found


@cache
def _reading(kind: type) -> tuple[str, ...]:
    """The fields of a class of statements with what they read."""
    return tuple(x.name for x in fields(kind) if x.name not in (*_DEFINING, *_SKIPPED))


def _collect(part: Any, found: set[str]) -> None:
    if isinstance(part, str):
        found.add(part)
    elif isinstance(part, Affine):
        found.update(name for name, _ in part.terms if isinstance(name, str))
        found.update(factor for _, factor in part.terms if isinstance(factor, str))
    elif isinstance(part, tuple):
        for each in part:
            _collect(each, found)
    elif isinstance(part, Call):
        _collect(part.arguments, found)
    elif hasattr(part, "at"):
        _collect(part.at, found)


_TEXTS = {"error", "message", "kind", "function", "checkpoint"}


def renamed(
    statement: Any, value: Callable[[str], Operand], place: Callable[[str], tuple[str, Affine]],
    defined: Callable[[str], str],
) -> Any:  # fmt: skip
    """The statement with other operands for names, with other buffers and positions in them for
    buffers, and with other names for those that it defines."""

    def changed(name: str, part: Any) -> Any:
        if name in _TEXTS or (name in ("body", "inner") and isinstance(statement, Assign)):
            return part
        if name in _DEFINING:
            return tuple(map(defined, part)) if isinstance(part, tuple) else defined(part)
        return operand(part)

    def operand(part: Any) -> Any:
        if isinstance(part, str):
            return value(part)
        if isinstance(part, Affine):
            return affine(part)
        if isinstance(part, tuple):
            return tuple(map(operand, part))
        if isinstance(part, Call):
            return replace(part, arguments=operand(part.arguments))
        if hasattr(part, "buffer"):
            buffer, offset = place(part.buffer)
            return replace(part, buffer=buffer, at=affine(part.at).plus(offset))
        return part

    def affine(at: Affine) -> Affine:
        const, terms = at.const, {}
        for name, factor in at.terms:
            new = value(name) if isinstance(name, str) else name
            if isinstance(new, Literal):
                const += int(new.number) * factor
            else:
                terms[new] = terms.get(new, 0) + factor
        return affine_of(const, terms)

    bodies = inner(statement)
    if bodies:
        statement = with_inner(
            statement, lambda body: tuple(renamed(each, value, place, defined) for each in body)
        )
    skip = ("body", "then", "otherwise") if bodies else ()
    changes = {
        f.name: changed(f.name, getattr(statement, f.name))
        for f in fields(statement)
        if f.init and f.name not in (*skip, "buffer", "at")
    }
    given: Any = statement
    if isinstance(statement, For):
        changes |= {name: _bound(changes[name]) for name in ("start", "stop")}
    if hasattr(given, "buffer"):
        buffer, offset = place(given.buffer)
        changes |= {"buffer": buffer, "at": affine(given.at).plus(offset)}
    elif hasattr(given, "at"):
        changes["at"] = affine(given.at)
    return replace(statement, **changes)


def _bound(value: Any) -> Any:
    return value.number if isinstance(value, Literal) else value


def buffers_of(each: Any) -> Iterator[Any]:
    """The buffers that a statement itself reads, writes or points to."""
    if isinstance(each, (Load, Store)):
        yield each.buffer
    elif isinstance(each, Call):
        yield from (x.buffer for x in each.arguments if isinstance(x, Address))
    elif isinstance(each, PointTo) and isinstance(each.address, Address):
        yield each.address.buffer
    elif isinstance(each, Spread):
        yield from (address.buffer for _, address, _ in each.shared)
