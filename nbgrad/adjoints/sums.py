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
    """An innermost loop, with `t = v; s = t + x; v = s` as one statement for each cotangent v."""
    if any(map(inner, loop.body)):
        return loop
    uses = Counter(x for each in walk(loop.body) for x in _read(each))
    defined: dict[Any, Assign] = {x.target: x for x in loop.body if isinstance(x, Assign)}
    dropped: list[Any] = []
    sums: dict[int, Accumulate] = {}
    for each in loop.body:
        if not (isinstance(each, Assign) and each.body is COPY and is_cotangent(each.target)):
            continue
        total = defined.get(each.operands[0])
        if total is None or uses[total.target] != 1 or not isinstance(total.body, Apply):
            continue
        if total.body.function.name != "add":
            continue
        for i in (0, 1):
            first, value = defined.get(total.operands[i]), total.operands[1 - i]
            if first is not None and first.body is COPY and uses[first.target] == 1:
                if first.operands == (each.target,) and value != first.target:
                    dropped += [first, total]
                    sums[id(each)] = Accumulate(each.target, SUM, value, each.dtype, loose=True)
                    break
    gone = set(map(id, dropped))
    kept = [sums.get(id(x), x) for x in loop.body if id(x) not in gone]
    return replace(loop, body=tuple(kept))


def _read(each: Any) -> list[str]:
    """The names that a statement reads, each as often as it does."""
    operands = [*getattr(each, "operands", ()), getattr(each, "value", None)]
    at = getattr(each, "at", None)
    names = [name for name, _ in at.terms] if at is not None else []
    arguments = getattr(each, "arguments", ())
    return [x for x in (*operands, *names, *arguments) if isinstance(x, str)]
