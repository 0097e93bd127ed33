"""Nests of a backward sweep with interchanged loops, so that the inner one runs along rows.

The adjoint of a loop that runs down columns runs down columns, too: `for k: for i: x.bar[i, k] +=
...`. If the iterations may run in any order, the loop over k becomes the inner one, and LLVM
vectorises it. Values that the outer loop loads before the inner one, and sums of the inner one that
are added to an element after it, move into the inner loop.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..ir.affine import ZERO
from ..ir.reductions import SUM
from ..ir.statements import Accumulate, Assign, For, If, Literal, Load, Position, Store
from ..ir.walk import inner
from .build import BOOL, COPY, INT, literal, names_of, operation, renamed
from .nests import Free, Level, names_defined
from .regions import needed

__all__ = ["Nested", "interchanged", "nested"]


@dataclass(frozen=True)
class Nested:
    """A loop around another one, interchanged to a perfect nest; `guards` are the statements and
    the branches around the inner loop, which no round of the outer one changes."""

    loop: For
    conditions: tuple[Any, ...]
    before: tuple[Any, ...]


def nested(outer: For, with_sums: Callable[[For], For]) -> Nested | None:
    """A nest of two loops that run backward, interchanged; None for another loop, and where it may
    differ from it in more than the order of rounds."""
    own: Any = outer.body[0] if outer.body else None
    rest: list[Any] = list(outer.body[1:])
    conditions: list[Any] = []
    before: list[Any] = []
    while rest and isinstance(rest[-1], If) and not rest[-1].otherwise:
        *first, branch = rest
        if any(map(inner, first)) or not _only_computes(first):
            return None
        before += first
        conditions.append(branch.condition)
        rest = list(branch.then)
    changing = {outer.axis, getattr(own, "target", None)}
    if any(names_of(x) & changing or isinstance(x, Load) for x in before):
        return None
    loops = [x for x in rest if isinstance(x, For)]
    if not isinstance(own, Position) or len(loops) != 1:
        return None
    place = next(i for i, x in enumerate(rest) if x is loops[0])
    first, behind = rest[:place], rest[place + 1 :]
    loop = with_sums(loops[0])
    if not _only_computes(first) or not loop.body or any(map(inner, (*loop.body, *behind))):
        return None
    changing |= {name for x in first for name in names_defined(x)}
    if changing & {loop.start, loop.stop, *conditions}:
        return None
    sums = _added(behind)
    if sums is None:
        return None
    index, *body = loop.body
    made: list[Any] = []
    for each in body:
        if isinstance(each, Accumulate):
            store = sums.pop(each.target, None)
            if store is None or each.kind is not SUM or not each.loose:
                return None
            each = replace(store, value=each.value)
        made.append(each)
    if sums:
        return None
    whole = replace(outer, body=(own, *first, *made))
    return Nested(replace(loop, body=(index, whole)), tuple(conditions), tuple(before))


def _only_computes(statements: Sequence[Any]) -> bool:
    return all(isinstance(x, (Assign, Position, Load)) for x in statements)


def _added(behind: Sequence[Any]) -> dict[str, Store] | None:
    """The stores that add a variable to an element before it is set to 0, by the variable; None
    for other statements."""
    found: dict[str, Store] = {}
    read: dict[Any, Any] = {}
    ended: set[str] = set()
    for each in behind:
        match each:
            case Assign(operands=(Literal(number=0),)) if each.body is COPY:
                ended.add(each.target)
            case Assign(operands=(x,)) if each.body is COPY:
                read[each.target] = x
            case Store(kind=kind, value=value) if kind is SUM and value in read:
                if names_of(each) & ended or read[value] in found:
                    return None
                found[read[value]] = each
            case _:
                return None
    return found if ended == set(found) == set(read.values()) and len(read) == len(found) else None


def interchanged(
    nest: Free, whole: Nested, new: Callable[..., str], dtypes: Mapping[str, np.dtype]
) -> list[Any] | None:
    """The statements for an interchanged nest whose rounds may run in any order; None where they
    would not be faster."""
    if (
        len(nest.levels) != 2
        or nest.sets
        or nest.rest
        or not _strided(nest, 0)
        or _strided(nest, 1)
    ):
        return None
    outer, level = nest.levels
    changing: set[Any] = {level.own, level.axis}
    first, body = [], []
    for each in nest.body:
        if isinstance(each, Store) or names_of(each) & changing:
            changing |= set(names_defined(each))
            body.append(each)
        else:
            first.append(each)
    # LLVM does not know that two rows are apart, so each has a loop.
    rows = [
        _row(level, needed(body, [x]), new, dtypes) for x in body if isinstance(x, Store)
    ]  # fmt: skip
    runs = new("runs", BOOL)
    bounds = [literal(x, INT) if isinstance(x, int) else x for x in (level.low, level.high)]
    found: Any = For(outer.own, outer.low, outer.high, (*outer.integers, *first, *rows))
    for condition in (*reversed(whole.conditions), runs):
        found = If(condition, (found,))
    return [*whole.before, operation(runs, "less", bounds, BOOL, INT), found]


def _row(
    level: Level, body: Sequence[Any], new: Callable[..., str], dtypes: Mapping[str, np.dtype]
) -> For:
    """A loop over a row, with names of its own."""
    names = {x: new(x, dtypes.get(x, INT)) for each in body for x in names_defined(each)}
    names[level.own] = new(level.own)

    def own(name: str) -> str:
        return names.get(name, name)

    made = [renamed(x, own, lambda buffer: (buffer, ZERO), own) for x in body]
    return For(names[level.own], level.low, level.high, tuple(made))


def _strided(nest: Free, level: int) -> int:
    """The number of accesses that are not at one element, or at neighbours, in two rounds of a
    level."""
    axis, count = nest.levels[level].axis, 0
    for each in nest.body:
        if isinstance(each, (Load, Store)):
            *others, last = nest.subscripts(each)
            factors = [None if form is None else form.terms.get(axis, 0) for form in others]
            step = None if last is None else abs(last.terms.get(axis, 0))
            count += any(factor != 0 for factor in factors) or step not in (0, 1)
    return count
