"""Innermost loops of a reverse pass whose rounds may run in any order, as loops that count up.

LLVM would reverse each vector that a loop that counts down loads and stores.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..ir.reductions import SUM
from ..ir.statements import Accumulate, Assign, Call, For, Load, Position, Store
from .build import names_of
from .fission import moving
from .partials import only_computes

__all__ = ["ascending"]


def ascending(loop: For, start: Any, stop: Any, is_variable: Callable[[str], bool]) -> For:
    """The loop over `range(start, stop)`, where its first statement computes the index of a round
    from the variable of the loop, and the order does not matter; else the loop itself."""
    first, *rest = loop.body
    if not isinstance(first, Position) or (loop.axis, -1) not in first.at.terms:
        return loop
    if any(loop.axis in names_of(each) for each in rest):
        return loop
    if not _commute(rest, first.target, is_variable):
        return loop
    return replace(loop, axis=first.target, start=start, stop=stop, body=tuple(rest))


def _commute(body: Sequence[Any], axis: str, is_variable: Callable[[str], bool]) -> bool:
    """Whether rounds add to elements and sums, and set elements of their own, and do no more."""
    read = {name for each in body for name in names_of(each)}
    accesses: dict[Any, list[Any]] = defaultdict(list)
    for each in body:
        match each:
            case Store(buffer=buffer) | Load(buffer=buffer):
                accesses[buffer].append(each)
            case Accumulate(target=target):
                if not each.loose or target in read:
                    return False
            case Assign(target=target):
                if is_variable(target):
                    return False
            case Call(function=function):
                if not only_computes(function):
                    return False
            case Position():
                pass
            case _:
                return False
    own = moving(body, axis)
    for each in accesses.values():
        if all(isinstance(x, Load) for x in each):
            continue
        if all(isinstance(x, Store) and x.kind is SUM for x in each):
            continue
        (at, *others) = {x.at for x in each}
        if others or len(own.intersection(name for name, _ in at.terms)) != 1:
            return False
    return True
