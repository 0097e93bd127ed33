"""The generic walk over statements: what is inside of them, and rewriting it."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from .scalar import NAMES, near_arguments
from .statements import Assign, Chunks, For, If, Pieces, While

__all__ = ["inner", "is_ranged", "walk", "with_inner"]


def inner(statement: Any) -> tuple[tuple, ...]:
    """The statements inside of a statement: a tuple of them for each body that it has."""
    match statement:
        case For(body=body) | While(body=body):
            return (body,)
        case If(then=then, otherwise=otherwise):
            return then, otherwise
        case Chunks(loop=loop, before=before, after=after):
            return before, (loop,), after
        case Pieces(part=part):
            return (part.body,)
    return ()


def with_inner(statement: Any, change: Callable[[tuple], tuple]) -> Any:
    """The statement with `change(body)` in place of each body that it has; that of a loop in chunks
    remains one loop."""
    match statement:
        case For(body=body) | While(body=body):
            return replace(statement, body=change(body))
        case If(then=then, otherwise=otherwise):
            return replace(statement, then=change(then), otherwise=change(otherwise))
        case Chunks(loop=loop, before=before, after=after):
            (one,) = change((loop,))
            return replace(statement, before=change(before), loop=one, after=change(after))
        case Pieces(part=part):
            return replace(statement, part=replace(part, body=change(part.body)))
    return statement


def walk(body: Iterable[Any]) -> list[Any]:
    """All statements, each before those inside of it."""
    found = []
    for statement in body:
        found.append(statement)
        if isinstance(statement, _NESTED):
            for inside in inner(statement):
                found += walk(inside)
    return found


_NESTED = (For, While, If, Chunks, Pieces)


def is_ranged(statement: Any) -> bool:
    """Whether it calls a function that has another form for arguments near 0."""
    if not isinstance(statement, Assign):
        return False
    near = (NAMES.index(name) for name in near_arguments(statement.body))
    return any(isinstance(statement.operands[i], str) for i in near)
