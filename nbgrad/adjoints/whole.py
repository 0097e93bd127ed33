"""Loops in pieces as plain loops, of which reverse mode can be taken again."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..ir.affine import ZERO, Affine
from ..ir.spread import Spread
from ..ir.statements import Function, Variable
from ..ir.walk import walk, with_inner
from .build import Names, copy, defined_names, renamed
from .liveness import assigned

__all__ = ["without_pieces"]


def without_pieces(function: Function) -> Function:
    """The function with each loop in one piece."""
    if not any(isinstance(each, Spread) for each in walk(function.body)):
        return function
    parameters = [name for name, _ in function.parameters]
    names = Names([*parameters, *defined_names(function.body)])
    dtypes = {x.target: x.dtype for x in walk(function.body) if isinstance(x, Variable)}

    def change(body: Sequence[Any]) -> tuple:
        made: list[Any] = []
        for each in body:
            each = with_inner(each, change)
            made += _one_piece(each, names, dtypes) if isinstance(each, Spread) else [each]
        return tuple(made)

    return replace(function, body=change(function.body))


def _one_piece(spread: Spread, names: Names, dtypes: dict[str, Any]) -> list[Any]:
    body = (*spread.before, spread.loop, *spread.after)
    goals = {name: address for name, address, _ in spread.shared}
    own = assigned(body, dtypes) - set(spread.sums)
    kept = {name: names.new("before") for name in sorted(own)}

    def same(name: str) -> str:
        return name

    def place(buffer: Any) -> tuple[Any, Affine]:
        return (goals[buffer].buffer, goals[buffer].at) if buffer in goals else (buffer, ZERO)

    return [
        *(copy(before, name, dtypes[name]) for name, before in kept.items()),
        *(renamed(each, same, place, same) for each in body),
        *(copy(name, before, dtypes[name]) for name, before in kept.items()),
    ]
