"""Statements whose values nothing reads."""

from collections.abc import Sequence
from typing import Any

from ..ir.spread import Spread
from ..ir.statements import Assign, Call, For, If, Load, Operand, Position, Statement
from ..ir.walk import inner, walk, with_inner
from .build import names_of
from .partials import only_computes

__all__ = ["without_dead"]


def without_dead(body: Sequence[Statement], results: Sequence[Operand]) -> list[Statement]:
    """Without statements whose value nothing reads."""
    made = list(body)
    while True:
        read = {x for x in results if isinstance(x, str)}
        for each in walk(made):
            read |= names_of(each)
        kept, dropped = _kept(made, read)
        if not dropped:
            return kept
        made = kept


def _kept(body: Sequence[Any], read: set[str]) -> tuple[list[Any], bool]:
    made, dropped = [], False
    for each in body:
        if inner(each):
            changed = []
            for part in inner(each):
                part, lost = _kept(part, read)
                changed.append(part)
                dropped |= lost
            if isinstance(each, Spread) and not changed[1]:
                dropped = True
                continue
            parts = iter(changed)
            each = with_inner(each, lambda _, parts=parts: tuple(next(parts)))
            if isinstance(each, (For, If)) and not any(inner(each)):
                dropped = True
                continue
            made.append(each)
        elif isinstance(each, (Assign, Load, Position)) and each.target not in read:
            dropped = True
        elif (
            isinstance(each, Call)
            and only_computes(each.function)
            and not (read & set(each.results))
        ):
            dropped = True
        else:
            made.append(each)
    return made, dropped
