"""Nests that gather: each round adds all terms of one element.

A term adds to elements that lie some rounds before or behind those of the first term, its shift. So
the elements to which all terms add have one nest, and those at the ends, to which only some add,
have rounds of their own, for each loop. Elements that are 0 before are set.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..ir.affine import ZERO, variable
from ..ir.reductions import SUM
from ..ir.statements import For, If, Position, Store
from .build import BOOL, INT, literal, names_of, operation, renamed
from .nests import Free, affine, names_defined

__all__ = ["Group", "Term", "covers", "emitted", "needed"]


class Term(NamedTuple):
    """Statements of a round that add to elements `shift` rounds away from those of the first term,
    for each level."""

    shift: tuple[int, ...]
    body: tuple[Any, ...]


@dataclass(frozen=True)
class Group:
    """The terms of one nest. `zeros` are bounds of the elements that are 0 before, relative to
    those of the rounds of the first term, for each level."""

    terms: tuple[Term, ...]
    zeros: tuple[tuple[int, int], ...] | None = None

    def cuts(self, terms: Sequence[Term], depth: int) -> tuple[list[int], list[int]]:
        """The distances from the bounds of a level at which other terms add to an element."""
        shifts = {term.shift[depth] for term in terms}
        low, high = self.zeros[depth] if self.zeros else (min(shifts), max(shifts))
        return sorted({*shifts, low}), sorted({*shifts, high})

    def width(self, depth: int) -> int:
        """The number of rounds of a level that the nests take, at least."""
        low, high = self.cuts(self.terms, depth)
        return low[-1] - high[0]


class _Piece(NamedTuple):
    """A range of elements of a level, from a bound and a distance to another, and its terms."""

    start: tuple[bool, int]  # whether it is the upper bound
    stop: tuple[bool, int]
    terms: tuple[Term, ...]
    is_zero: bool


def _pieces(group: Group, terms: Sequence[Term], depth: int, is_zero: bool) -> Iterator[_Piece]:
    lows, highs = group.cuts(terms, depth)
    low, high = group.zeros[depth] if group.zeros else (lows[-1], highs[0])
    for one, other in pairwise(lows):
        active = tuple(term for term in terms if term.shift[depth] <= one)
        yield _Piece((False, one), (False, other), active, is_zero and one >= low)
    yield _Piece((False, lows[-1]), (True, highs[0]), tuple(terms), is_zero)
    for one, other in pairwise(highs):
        active = tuple(term for term in terms if term.shift[depth] > one)
        yield _Piece((True, one), (True, other), active, is_zero and other <= high)


def covers(group: Group, terms: Sequence[Term], depth: int = 0) -> bool:
    """Whether the terms add to all elements that are 0 before."""
    assert group.zeros
    if depth == len(group.zeros):
        return True
    low, high = group.zeros[depth]
    shifts = [term.shift[depth] for term in terms]
    return min(shifts) <= low and max(shifts) >= high and all(
        covers(group, piece.terms, depth + 1)
        for piece in _pieces(group, terms, depth, True)
        if piece.is_zero
    )  # fmt: skip


def needed(body: Sequence[Any], effects: Sequence[Any]) -> tuple[Any, ...]:
    """The statements of a body that some of its effects need, and these."""
    names: set[str] = set()
    found: list[Any] = []
    for each in reversed(body):
        wanted = any(each is one for one in effects)
        if not wanted and not names.intersection(names_defined(each)):
            continue
        found.append(each)
        names |= names_of(each)
    return tuple(found[::-1])


def emitted(
    nest: Free, groups: Sequence[Group], plain: For, before: Sequence[Any],
    new: Callable[..., str], dtypes: Mapping[str, np.dtype],
) -> list[Any]:  # fmt: skip
    """The nests for groups, if all loops are long enough; else the statements `before`, and the
    plain nest."""
    return _Emitted(nest, new, dtypes).all(groups, plain, before)


class _Emitted:
    """Writes the nests of a nest."""

    def __init__(self, nest: Free, new: Callable[..., str], dtypes: Mapping[str, np.dtype]):
        self._nest, self._new, self._dtypes = nest, new, dtypes

    def all(self, groups: Sequence[Group], plain: For, before: Sequence[Any]) -> list[Any]:
        nest = self._nest
        made: list[Any] = []
        for group in groups:
            made += self._region(group, group.terms, 0, {(): {}}, group.zeros is not None)
        if nest.rest:
            names: dict[str, str] = {}
            own = [self._renamed(x, names) for x in (plain.body[0], *needed(nest.body, nest.rest))]
            made.append(replace(plain, body=tuple(own)))
        if nest.sets:  # last, as all others read the elements before
            group = Group((Term((0,) * len(nest.levels), needed(nest.body, nest.sets)),))
            made += self._region(group, group.terms, 0, {(): {}}, False)
        return self._guarded(groups, made, [*before, plain])

    def _guarded(self, groups: Sequence[Group], made: list[Any], plain: list[Any]) -> list[Any]:
        conditions: list[Any] = []
        long: Any = None
        for depth, level in enumerate(self._nest.levels):
            width = max([group.width(depth) for group in groups], default=0)
            if not width:
                continue
            if isinstance(level.low, int) and isinstance(level.high, int):
                if level.high - level.low < width:
                    return plain
                continue
            least, flag = self._new("least", INT), self._new("long", BOOL)
            high = literal(level.high, INT) if isinstance(level.high, int) else level.high
            conditions += [
                Position(least, affine(level.low).shifted(width)),
                operation(flag, "less_equal", (least, high), BOOL, INT),
            ]
            if long is not None:
                both = self._new("long", BOOL)
                conditions.append(operation(both, "and", (long, flag), BOOL))
                flag = both
            long = flag
        return made if long is None else [*conditions, If(long, tuple(made), tuple(plain))]

    def _region(
        self, group: Group, terms: Sequence[Term], depth: int, maps: dict[tuple, dict],
        is_zero: bool,
    ) -> list[Any]:  # fmt: skip
        """The nest from a level inwards; `maps` are the names of terms, by their shifts so far."""
        if depth == len(self._nest.levels):
            return self._round(terms, maps, is_zero)
        made: list[Any] = []
        for piece in _pieces(group, terms, depth, is_zero):
            made += self._rounds(group, piece, depth, maps)
        return made

    def _rounds(
        self, group: Group, piece: _Piece, depth: int, maps: dict[tuple, dict]
    ) -> list[Any]:
        """The rounds of a level for a range of elements."""
        level = self._nest.levels[depth]
        start, stop = ((level.high if is_upper else level.low, by) for is_upper, by in piece[:2])
        made: list[Any] = []
        is_one = piece.start[0] == piece.stop[0] and stop[1] == start[1] + 1
        at = self._new(level.own, INT)
        inside: dict[tuple, dict] = {}
        body: list[Any] = []
        for shift in dict.fromkeys(term.shift[: depth + 1] for term in piece.terms):
            names = inside[shift] = dict(maps[shift[:-1]])
            names[level.own] = own = self._new(level.own, INT)
            place = affine(start[0]).shifted(start[1]) if is_one else variable(at)
            body.append(Position(own, place.shifted(-shift[-1])))
            body += [self._renamed(each, names) for each in level.integers]
        body += self._region(group, piece.terms, depth + 1, inside, piece.is_zero)
        if is_one:
            return body
        low, high = self._bound(start, made), self._bound(stop, made)
        return [*made, For(at, low, high, tuple(body))]

    def _bound(self, bound: tuple[Any, int], made: list[Any]) -> Any:
        end, offset = bound
        if isinstance(end, int):
            return end + offset
        if not offset:
            return end
        name = self._new("bound", INT)
        made.append(Position(name, affine(end).shifted(offset)))
        return name

    def _round(self, terms: Sequence[Term], maps: dict[tuple, dict], is_zero: bool) -> list[Any]:
        """A round: the sum of what the terms add to one element."""
        made: list[Any] = []
        totals: dict[Any, Store] = {}
        for term in terms:
            names = dict(maps[term.shift])
            for each in term.body:
                each = self._renamed(each, names)
                if not (isinstance(each, Store) and each.kind is SUM):
                    made.append(each)
                elif (before := totals.get(each.buffer)) is None:
                    totals[each.buffer] = each
                else:
                    total = self._new("g", each.dtype)
                    made.append(operation(total, "add", (before.value, each.value), each.dtype))
                    totals[each.buffer] = replace(before, value=total)
        kind = None if is_zero else SUM
        return [*made, *(replace(each, kind=kind) for each in totals.values())]

    def _renamed(self, each: Any, names: dict[str, str]) -> Any:
        """The statement, and new names for what it defines."""
        kept = {x.target for x in self._nest.rest}
        for target in set(names_defined(each)) - kept:
            names[target] = self._new(target, self._dtypes.get(target, INT))

        def name(x: str) -> str:
            return names.get(x, x)

        return renamed(each, name, lambda buffer: (buffer, ZERO), name)
