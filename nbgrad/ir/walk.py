"""Generic functions on statements: the bodies inside of them, the names that they read and define,
and rewriting."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from .affine import Affine
from .core import Core, CoreStep, Repeat
from .scalar import NAMES, near_arguments
from .spread import Spread
from .statements import (
    Accumulate,
    Assign,
    Call,
    Chunks,
    For,
    If,
    Load,
    New,
    Operand,
    Pieces,
    Position,
    Store,
    Variable,
    While,
)

__all__ = [
    "all_steps", "callee", "defined", "in_loops", "inner", "is_ranged", "operands", "rewritten",
    "walk", "with_inner", "with_position",
]  # fmt: skip


# -- what is inside -------------------------------------------------------------------------------


def inner(statement: Any) -> tuple[tuple, ...]:
    """The statements inside of a statement: a tuple of them for each body that it has."""
    match statement:
        case For(body=body) | While(body=body) | Repeat(body=body):
            return (body,)
        case If(then=then, otherwise=otherwise):
            return then, otherwise
        case Chunks(loop=loop, before=before, after=after):
            return before, (loop,), after
        case Spread(loop=loop, before=before, after=after, at_error=at_error):
            return before, (loop,), after, at_error
        case Pieces(part=part):
            return (part.body,)
        case CoreStep(statement=one):
            return ((one,),)
    return ()


def with_inner(statement: Any, change: Callable[[tuple], tuple]) -> Any:
    """The statement with `change(body)` in place of each body that it has; that of a loop in chunks
    or pieces remains one loop, with what is put in front of it."""
    match statement:
        case For(body=body) | While(body=body) | Repeat(body=body):
            return replace(statement, body=change(body))
        case If(then=then, otherwise=otherwise):
            return replace(statement, then=change(then), otherwise=change(otherwise))
        case Chunks(loop=loop, before=before, after=after):
            before, (one,), after = change(before), change((loop,)), change(after)
            return replace(statement, before=before, loop=one, after=after)
        case Spread(loop=loop, before=before, after=after, at_error=at_error):
            before, (*own, one), after = change(before), change((loop,)), change(after)
            before, at_error = (*before, *own), change(at_error)
            return replace(statement, before=before, loop=one, after=after, at_error=at_error)
        case Pieces(part=part):
            return replace(statement, part=replace(part, body=change(part.body)))
        case CoreStep(statement=one):
            (one,) = change((one,))
            return replace(statement, statement=one)
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


_NESTED = (For, While, If, Chunks, Pieces, Spread, Repeat, CoreStep)


def in_loops(
    body: Iterable[Any], around: Mapping[Any, tuple[Any, Any]] = MappingProxyType({})
) -> Iterator[tuple[Any, Mapping[Any, tuple[Any, Any]]]]:
    """All statements that have none inside, with the bounds of the loops around, by axis."""
    for statement in body:
        bodies, bounds = inner(statement), around
        if not bodies:
            yield statement, around
        if isinstance(statement, For):
            bounds = {**around, statement.axis: (statement.start, statement.stop)}
        for inside in bodies:
            yield from in_loops(inside, bounds)


def rewritten(body: Iterable[Any], change: Callable[[Any], Any]) -> tuple:
    """The statements with `change(statement)` in place of each that has none inside."""
    return tuple(
        with_inner(each, lambda body: rewritten(body, change)) if inner(each) else change(each)
        for each in body
    )


def all_steps(core: Core) -> Iterator[CoreStep]:
    """All steps of a core, those of cores that it calls too."""
    for each in walk(core.steps):
        if isinstance(each, CoreStep):
            yield each
        elif isinstance(callee(each), Core):
            yield from all_steps(each.function)


# -- what a statement reads and defines -----------------------------------------------------------


def operands(statement: Any) -> tuple[Operand, ...]:
    """The numbers that a statement itself reads, besides the names in its position."""
    match statement:
        case Assign(operands=several):
            return several
        case Accumulate(value=one) | Store(value=one) | Variable(start=one) | If(condition=one):
            return (one,)
        case New(count=one):
            return (one,)
        case Call():
            return statement.numbers
    return ()


def defined(statement: Any) -> str | None:
    """The name that a statement defines; an `Accumulate` changes one that there is."""
    match statement:
        case (
            Assign(target=name) | Load(target=name) | Position(target=name) | Variable(target=name)
        ):
            return name
    return None


def with_position(statement: Any, change: Callable[[Affine], Affine]) -> Any:
    """The statement with another position, where it has one."""
    at = getattr(statement, "at", None)
    return statement if at is None else replace(statement, at=change(at))


def callee(statement: Any) -> Any:
    """The function that a statement calls; None for one that is no call."""
    return statement.function if isinstance(statement, Call) else None


def is_ranged(statement: Any) -> bool:
    """Whether it calls a function that has another form for arguments near 0."""
    if not isinstance(statement, Assign):
        return False
    near = (NAMES.index(name) for name, _ in near_arguments(statement.body))
    return any(isinstance(statement.operands[i], str) for i in near)
