"""Statements whose value nothing reads."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..ir.spread import Spread
from ..ir.statements import Assign, Call, For, If, Load, New, Operand, Position, Statement, Store
from ..ir.walk import inner, walk, with_inner
from .build import buffers_of, names_of
from .library import call_without
from .partials import only_computes

__all__ = ["without_dead"]


def without_dead(body: Sequence[Statement], results: Sequence[Operand]) -> list[Statement]:
    """The statements without those whose value nothing reads, without buffers from which nothing is
    read, and without empty loops."""
    made = list(body)
    while True:
        unread = _unread(made)
        if unread:
            made = _without(made, unread)
        read = _read(made, results)
        made, has_less = _kept(made, read)
        if not has_less:
            return made


def _unread(body: Sequence[Any]) -> set[Any]:
    """The buffers that are made here, of which statements do nothing but set elements."""
    every = walk(body)
    found = {each.target for each in every if isinstance(each, New)}
    for each in every if found else ():
        if not isinstance(each, (New, Store)):
            found.difference_update(buffers_of(each))
    return found


def _without(body: Sequence[Any], buffers: set[Any]) -> list[Any]:
    """The statements without those that make these buffers or set their elements."""
    made = []
    for each in body:
        if isinstance(each, (New, Store)):
            if (each.target if isinstance(each, New) else each.buffer) in buffers:
                continue
        each = with_inner(each, lambda part: tuple(_without(part, buffers)))
        if isinstance(each, For) and each.call:
            each = replace(each, call=call_without(each.call, buffers))
        made.append(each)
    return made


def _read(body: Sequence[Any], results: Sequence[Operand]) -> set[str]:
    """The names that the results follow from, and those that other statements read."""
    reads: dict[str, set[str]] = {}
    stack = [x for x in results if isinstance(x, str)]
    for each in walk(body):
        if (targets := _values(each)) is None:
            stack += names_of(each)
        else:
            for target in targets:
                reads.setdefault(target, set()).update(names_of(each))
    found: set[str] = set()
    while stack:
        if (name := stack.pop()) not in found:
            found.add(name)
            stack += reads.get(name, ())
    return found


def _values(each: Any) -> Sequence[str] | None:
    """The names that a statement gives values, if it does no more."""
    if isinstance(each, (Assign, Load, Position)):
        return (each.target,)
    return each.results if isinstance(each, Call) and only_computes(each.function) else None


def _kept(body: Sequence[Any], read: set[str]) -> tuple[list[Any], bool]:
    """The statements that are kept, and whether a loop or a branch is not."""
    made, has_less = [], False
    for each in body:
        if inner(each):
            parts = [_kept(part, read) for part in inner(each)]
            has_less |= any(less for _, less in parts)
            if isinstance(each, Spread):
                is_empty = not parts[1][0]
            else:
                is_empty = isinstance(each, (For, If)) and not any(part for part, _ in parts)
            if is_empty:
                has_less = True
                continue
            rest = iter(parts)
            made.append(with_inner(each, lambda _, rest=rest: tuple(next(rest)[0])))
        elif (targets := _values(each)) is None or not read.isdisjoint(targets):
            made.append(each)
    return made, has_less
