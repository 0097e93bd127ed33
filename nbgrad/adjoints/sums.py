"""Cotangents that are summed in a loop, as sums that LLVM may reassociate and so vectorise."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..ir.reductions import SUM
from ..ir.scalar import Apply
from ..ir.statements import Accumulate, Assign, For
from ..ir.walk import inner, walk
from .build import COPY

__all__ = ["with_sums"]


def with_sums(loop: For, is_cotangent: Callable[[str], bool]) -> For:
    """An innermost loop, with `t = v; s = t + x; v = s` as one statement for each cotangent v, also
    where several numbers are added."""
    if any(map(inner, loop.body)):
        return loop
    uses = Counter(x for each in walk(loop.body) for x in _read(each))
    defined: dict[Any, Assign] = {x.target: x for x in loop.body if isinstance(x, Assign)}
    changed: dict[int, list[Any]] = {}
    for each in loop.body:
        if not (isinstance(each, Assign) and each.body is COPY and is_cotangent(each.target)):
            continue
        if (chain := _chain(each, defined, uses)) is None:
            continue
        changed[id(chain[0])] = []
        value: Any = None
        before: Any = chain[0].target
        for one in chain[1:]:
            x, y = one.operands
            other = y if x == before else x
            # The first number is added to none.
            new = None if value is None else replace(one, operands=(value, other))
            changed[id(one)] = [] if new is None else [new]
            value, before = other if new is None else one.target, one.target
        changed[id(each)] = [Accumulate(each.target, SUM, value, each.dtype, loose=True)]
    kept = [one for each in loop.body for one in changed.get(id(each), [each])]
    return replace(loop, body=tuple(kept))


def _chain(each: Assign, defined: dict[Any, Assign], uses: Counter) -> list[Assign] | None:
    """The read of the variable that a statement assigns and the additions to it, in order; None if
    something else is done."""
    found: list[Assign] = []
    name: Any = each.operands[0]
    while True:
        one = defined.get(name)
        if one is None or uses[name] != 1:
            return None
        found.insert(0, one)
        if one.body is COPY:
            return found if one.operands == (each.target,) and len(found) > 1 else None
        if not isinstance(one.body, Apply) or one.body.function.name != "add":
            return None
        parts = [x for x in one.operands if _leads(x, each.target, defined, uses)]
        if len(parts) != 1:
            return None
        name = parts[0]


def _leads(x: Any, variable: str, defined: dict[Any, Assign], uses: Counter) -> bool:
    """Whether an operand is the value of a variable, or a sum that has it as a term."""
    while (one := defined.get(x)) is not None and one.body is not COPY:
        if uses[x] != 1 or not isinstance(one.body, Apply) or one.body.function.name != "add":
            return False
        left, right = one.operands
        if _leads(left, variable, defined, uses):
            return True
        x = right
    return one is not None and one.operands == (variable,)


def _read(each: Any) -> list[str]:
    """The names that a statement reads, each as often as it does."""
    operands = [*getattr(each, "operands", ()), getattr(each, "value", None)]
    at = getattr(each, "at", None)
    names = [name for name, _ in at.terms] if at is not None else []
    arguments = getattr(each, "arguments", ())
    return [x for x in (*operands, *names, *arguments) if isinstance(x, str)]
