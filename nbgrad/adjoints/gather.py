"""Nests that add to several elements of one shadow, as nests that gather.

The adjoint of a stencil adds to neighbours: `x[i - 1] += f(i); x[i + 1] += g(i)`. LLVM does not
vectorise such a loop, as its rounds depend on each other. One whose rounds add to one element,
`x[i] += f(i + 1) + g(i - 1)`, has no such dependence. It covers the elements to which all terms
add; the others, at both ends, have statements of their own. Terms whose elements do not lie apart
by constants have a nest each. The arithmetic that terms share is repeated, so it has to be cheap.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..ir.affine import ZERO, Affine, variable
from ..ir.reductions import SUM
from ..ir.statements import Accumulate, Assign, For, If, Position, Store
from ..ir.walk import inner, with_inner
from .build import BOOL, INT, literal, names_of, operation, renamed
from .forms import Form
from .nests import Free, Level, free, levels_of
from .sums import with_sums

__all__ = ["Gather"]

_MOST = 12  # operations that a term may repeat


@dataclass(frozen=True)
class _Term:
    """Statements of a round that add to elements `shift` rounds away from those of the first term,
    for each level."""

    shift: tuple[int, ...]
    body: tuple[Any, ...]


class Gather:
    """Rewrites the nests of a backward sweep. `outside` are statements that define numbers which do
    not change, `shapes` the names of the lengths of arrays; `new(hint, dtype)` gives new names."""

    def __init__(
        self, outside: Sequence[Any], shapes: dict[Any, Sequence[str]], new: Callable[..., str],
        dtypes: Mapping[str, np.dtype], is_variable: Callable[[str], bool],
        is_cotangent: Callable[[str], bool],
    ):  # fmt: skip
        self._outside, self._shapes, self._new, self._dtypes = outside, shapes, new, dtypes
        self._is_variable, self._is_cotangent = is_variable, is_cotangent

    def of(self, statements: Sequence[Any]) -> list[Any]:
        """The statements with other nests."""
        made: list[Any] = []
        for each in statements:
            if isinstance(each, For) and (found := self._nest(each)) is not None:
                made += found
            elif inner(each):
                made.append(with_inner(each, lambda body: tuple(self.of(body))))
            else:
                made.append(each)
        return made

    def _nest(self, loop: For) -> list[Any] | None:
        """The nests for one; None where those inside are to be tried."""
        if (parsed := levels_of(loop)) is None:
            return None
        levels, loops = parsed
        last = with_sums(loops[-1], self._is_cotangent)
        is_single = len(loops) == 1
        loops = (*loops[:-1], last)
        nest = free(levels, loops, self._outside, self._shapes, self._is_variable)
        if nest is None:
            return [last] if is_single else None
        groups = self._groups(nest)
        counts = Counter(each.buffer for each in nest.sums if isinstance(each, Store))
        if max(counts.values(), default=0) < 2:
            return [_upward(levels[0], nest, last)] if is_single else None
        if not is_single and not any(term.shift[0] for group in groups for term in group):
            return None
        if not self._is_cheap(nest, groups):
            return [_upward(levels[0], nest, last)] if is_single else None
        return _Emitted(nest, self._new, self._dtypes).all(groups, last if is_single else loop)

    # -- terms ------------------------------------------------------------------------------------

    def _groups(self, nest: Free) -> list[list[_Term]]:
        """The terms of each nest to be made."""
        found: list[tuple[Store, dict[tuple[int, ...], list[Any]]]] = []
        for store in nest.sums:
            if not isinstance(store, Store):
                continue
            for first, terms in found:
                if (shift := _shift(nest, first, store)) is not None:
                    terms.setdefault(shift, []).append(store)
                    break
            else:
                found.append((store, {(0,) * len(nest.levels): [store]}))
        totals = [each for each in nest.sums if isinstance(each, Accumulate)]
        groups = [terms for _, terms in found] or [{}]
        if totals:
            shifts = sorted(groups[0]) or [(0,) * len(nest.levels)]
            groups[0].setdefault(shifts[len(shifts) // 2], []).extend(totals)
        return [
            [_Term(shift, _needed(nest.body, sums)) for shift, sums in terms.items()]
            for terms in groups
        ]

    @staticmethod
    def _is_cheap(nest: Free, groups: Sequence[Sequence[_Term]]) -> bool:
        bodies = [term.body for group in groups for term in group]
        bodies += [_needed(nest.body, part) for part in (nest.sets, nest.rest) if part]
        for each in nest.rest:  # a variable that changes is read where it is assigned only
            readers = [part for part in bodies if any(each.target in names_of(x) for x in part)]
            if any(part is not bodies[-1] for part in readers):
                return False
        cost = sum(each.body.price for part in bodies for each in part if isinstance(each, Assign))
        once = sum(each.body.price for each in nest.body if isinstance(each, Assign))
        return cost - once <= _MOST * len(bodies)


def _shift(nest: Free, first: Store, other: Store) -> tuple[int, ...] | None:
    """By how many rounds of each level the element of a store comes later than that of another."""
    if first.buffer != other.buffer:
        return None
    shift = [0] * len(nest.levels)
    ours, theirs = nest.subscripts(first), nest.subscripts(other)
    axes = [level.axis for level in nest.levels]
    for place, (mine, its) in enumerate(zip(ours, theirs, strict=True)):
        if mine is None or its is None:
            return None
        distance = its.plus(mine, -1)
        if distance.terms:
            return None
        if distance.const:
            level = _level_of(place, ours, axes)
            if level is None:
                return None
            # The variable of the loop falls as `axis` rises.
            shift[level] = -distance.const * mine.terms[axes[level]]  # pyright: ignore
    return tuple(shift)


def _level_of(place: int, forms: Sequence[Form | None], axes: Sequence[Any]) -> int | None:
    """The level whose variable alone is in the subscript at a place, and in no other one."""
    own = forms[place]
    assert own is not None
    inside = [axis for axis in axes if axis in own.terms]
    if len(inside) != 1 or abs(own.terms[inside[0]]) != 1:
        return None
    others = [form for i, form in enumerate(forms) if i != place]
    if any(form is None or inside[0] in form.terms for form in others):
        return None
    return axes.index(inside[0])


def _needed(body: Sequence[Any], effects: Sequence[Any]) -> tuple[Any, ...]:
    """The statements of a body that some of its effects need, and these."""
    names: set[str] = set()
    found: list[Any] = []
    for each in reversed(body):
        wanted = any(each is one for one in effects)
        if not wanted and (isinstance(each, (Store, Accumulate)) or each.target not in names):
            continue
        found.append(each)
        names |= names_of(each)
    return tuple(found[::-1])


def _upward(level: Level, nest: Free, last: For) -> For:
    """An innermost loop whose rounds may run in any order, by rising variable."""
    return last if nest.rest else For(level.own, level.low, level.high, nest.body)


class _Emitted:
    """Writes the nests of a nest."""

    def __init__(self, nest: Free, new: Callable[..., str], dtypes: Mapping[str, np.dtype]):
        self._nest, self._new, self._dtypes = nest, new, dtypes

    def all(self, groups: Sequence[list[_Term]], plain: For) -> list[Any]:
        """The nests, if all loops are long enough; else the plain one."""
        nest = self._nest
        made: list[Any] = []
        for terms in groups:
            made += self._region(terms, 0, {(): {}})
        start = (0,) * len(nest.levels)
        if nest.sets:
            made += self._region([_Term(start, _needed(nest.body, nest.sets))], 0, {(): {}})
        if nest.rest:
            names, body = {}, _needed(nest.body, nest.rest)
            own = [self._renamed(x, names) for x in (plain.body[0], *body)]
            made.append(replace(plain, body=tuple(own)))
        return self._guarded(groups, made, plain)

    def _guarded(self, groups: Sequence[list[_Term]], made: list[Any], plain: For) -> list[Any]:
        conditions: list[Any] = []
        long: Any = None
        for i, level in enumerate(self._nest.levels):
            widths = [_width([term.shift[i] for term in terms]) for terms in groups]
            if not max(widths):
                continue
            if isinstance(level.low, int) and isinstance(level.high, int):
                if level.high - level.low < max(widths):
                    return [plain]
                continue
            least, flag = self._new("least", INT), self._new("long", BOOL)
            high = literal(level.high, INT) if isinstance(level.high, int) else level.high
            conditions += [
                Position(least, _affine(level.low).shifted(max(widths))),
                operation(flag, "less_equal", (least, high), BOOL, INT),
            ]
            if long is not None:
                both = self._new("long", BOOL)
                conditions.append(operation(both, "and", (long, flag), BOOL))
                flag = both
            long = flag
        return made if long is None else [*conditions, If(long, tuple(made), (plain,))]

    def _region(self, terms: list[_Term], depth: int, maps: dict[tuple, dict]) -> list[Any]:
        """The nest from a level inwards; `maps` are the names of terms, by their shifts so far."""
        if depth == len(self._nest.levels):
            return self._round(terms, maps)
        level = self._nest.levels[depth]
        shifts = sorted({term.shift[depth] for term in terms})
        made: list[Any] = []
        for one, next_one in zip(shifts, shifts[1:], strict=False):
            active = [term for term in terms if term.shift[depth] <= one]
            made += self._rounds(level, active, depth, maps, (level.low, one),
                                 (level.low, next_one))  # fmt: skip
        made += self._rounds(level, terms, depth, maps, (level.low, shifts[-1]),
                             (level.high, shifts[0]))  # fmt: skip
        for one, next_one in zip(shifts, shifts[1:], strict=False):
            active = [term for term in terms if term.shift[depth] > one]
            made += self._rounds(level, active, depth, maps, (level.high, one),
                                 (level.high, next_one))  # fmt: skip
        return made

    def _rounds(
        self, level: Level, terms: list[_Term], depth: int, maps: dict[tuple, dict],
        start: tuple[Any, int], stop: tuple[Any, int],
    ) -> list[Any]:  # fmt: skip
        """The rounds of a level from a bound to another."""
        made: list[Any] = []
        is_one = start[0] == stop[0] and stop[1] == start[1] + 1
        at = self._new(level.own, INT)
        inside: dict[tuple, dict] = {}
        body: list[Any] = []
        for shift in dict.fromkeys(term.shift[: depth + 1] for term in terms):
            names = inside[shift] = dict(maps[shift[:-1]])
            names[level.own] = own = self._new(level.own, INT)
            place = _affine(start[0]).shifted(start[1]) if is_one else variable(at)
            body.append(Position(own, place.shifted(-shift[-1])))
            body += [self._renamed(each, names) for each in level.index]
        body += self._region(terms, depth + 1, inside)
        if is_one:
            return body
        bounds = [self._bound(bound, made) for bound in (start, stop)]
        return [*made, For(at, *bounds, tuple(body))]

    def _bound(self, bound: tuple[Any, int], made: list[Any]) -> Any:
        end, offset = bound
        if isinstance(end, int):
            return end + offset
        if not offset:
            return end
        name = self._new("bound", INT)
        made.append(Position(name, _affine(end).shifted(offset)))
        return name

    def _round(self, terms: list[_Term], maps: dict[tuple, dict]) -> list[Any]:
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
        return [*made, *totals.values()]

    def _renamed(self, each: Any, names: dict[str, str]) -> Any:
        """The statement, and new names for what it defines."""
        target = getattr(each, "target", None)
        if isinstance(each, (Store, Accumulate)) or target in {x.target for x in self._nest.rest}:
            target = None
        if target is not None:
            names[target] = self._new(target, self._dtypes.get(target, INT))

        def name(x: str) -> str:
            return names.get(x, x)

        return renamed(each, name, lambda buffer: (buffer, ZERO), name)


def _width(shifts: Sequence[int]) -> int:
    return max(shifts) - min(shifts)


def _affine(x: Any) -> Affine:
    return Affine(x, ()) if isinstance(x, int) else variable(x)
