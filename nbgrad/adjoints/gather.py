"""Nests that add to several elements of one shadow, as nests that gather.

The adjoint of a stencil adds to neighbours: `x[i - 1] += f(i); x[i + 1] += g(i)`. LLVM does not
vectorise such a loop, as its rounds depend on each other. One whose rounds add to one element,
`x[i] += f(i + 1) + g(i - 1)`, has no such dependence. Terms whose elements do not lie apart by
constants have a nest each. The arithmetic that terms share is repeated, so it has to be cheap.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..ir.spread import Spread
from ..ir.statements import Accumulate, Assign, Call, For, Position, Store
from ..ir.walk import inner, with_inner
from .build import names_of
from .forms import Form
from .interchange import interchanged, nested
from .lengths import Shapes
from .nests import Free, free, levels_of
from .regions import Group, Term, emitted, needed
from .sums import with_sums
from .zeros import Zeros

__all__ = ["Gather"]

_MOST = 12  # operations that a term may repeat
_CALL = 100  # those that a call of a function takes


class Gather:
    """Rewrites the nests of a backward sweep. `outside` are statements that define numbers which do
    not change, `shapes` those of arrays and shadows; `private` are shadows that are 0 before
    the sweep and that nothing reads after it. `new(hint, dtype)` gives new names."""

    def __init__(
        self, outside: Sequence[Any], shapes: Shapes, private: Collection[Any],
        new: Callable[..., str], dtypes: Mapping[str, np.dtype], numbers: Collection[str],
        is_variable: Callable[[str], bool], is_cotangent: Callable[[str], bool],
    ):  # fmt: skip
        self._outside, self._shapes, self._private = outside, shapes, private
        self._new, self._dtypes, self._numbers = new, dtypes, numbers
        self._is_variable, self._is_cotangent = is_variable, is_cotangent
        self._around: list[Any] = []
        self.axes: set[Any] = set()  # of the loops that run backward

    def of(self, statements: Sequence[Any]) -> list[Any]:
        """The statements of a sweep with other nests."""
        self._zeros = Zeros(statements, self._outside, self._numbers, self._private)
        return self._body(statements, False)

    def inside(self, statements: Sequence[Any]) -> list[Any]:
        """The same for a part of a sweep: shadows may hold anything before it."""
        self._zeros = Zeros(statements, self._outside, self._numbers, ())
        return self._body(statements, False)

    def _body(self, statements: Sequence[Any], is_loop: bool) -> list[Any]:
        items = [self._parsed(each) if isinstance(each, For) else None for each in statements]
        groups = {i: self._groups(nest) for i, nest in enumerate(items) if nest is not None}
        cheap = {i: found for i, found in groups.items() if _is_cheap(items[i], found)}
        found = self._zeros.of(statements, items, cheap, is_loop)
        made: list[Any] = []
        around = self._around
        self._around = [*around, *filter(self._is_constant, statements)]
        for i, (each, nest) in enumerate(zip(statements, items, strict=True)):
            if nest is not None:
                nest = nest.without(found.dropped.get(i, ()))
                each = nest.loop
                if i in found.groups:
                    before = [x for zero in found.before[i] for x in self._set(*zero)]
                    made += emitted(nest, found.groups[i], each, before, self._new, self._dtypes)
                    continue
                if (own := self._gathered(nest, groups[i], i in cheap)) is not None:
                    made += own
                    continue
            elif isinstance(each, For) and (own := self._interchanged(each)) is not None:
                made += own
                continue
            if isinstance(each, Spread):
                body = tuple(self._body(each.loop.body, False))
                loop = with_sums(replace(each.loop, body=body), self._is_cotangent)
                each = replace(each, loop=loop)
            elif inner(each):
                is_for = isinstance(each, For)
                each = with_inner(each, lambda body, is_for=is_for: tuple(self._body(body, is_for)))
                if is_for:
                    each = with_sums(each, self._is_cotangent)
            made.append(each)
        self._around = around
        return made

    def _parsed(self, loop: For, around: Sequence[Any] = ()) -> Free | None:
        """The nest of a loop, if its rounds may run in any order; `around` are statements of the
        loops around it."""
        parsed = levels_of(loop) if loop.axis in self.axes else None
        if parsed is None:
            return None
        levels, loops = parsed
        loops = (*loops[:-1], with_sums(loops[-1], self._is_cotangent))
        outside = [*self._outside, *around]
        return free(levels, loops, outside, self._shapes, self._is_variable)

    def _is_constant(self, each: Any) -> bool:
        """Whether a statement defines a number that does not change in a loop behind it."""
        return isinstance(each, (Assign, Position)) and not self._is_variable(each.target)

    def _interchanged(self, loop: For) -> list[Any] | None:
        """A nest of two loops with the other one inside, if that is faster."""
        whole = nested(loop, lambda x: with_sums(x, self._is_cotangent))
        if whole is None or (nest := self._parsed(whole.loop, self._around)) is None:
            return None
        return interchanged(nest, whole, self._new, self._dtypes)

    def _set(self, nest: Free, store: Store) -> list[Any]:
        """The nest that sets the elements of a store alone."""
        group = Group((Term((0,) * len(nest.levels), needed(nest.body, [store])),))
        return emitted(nest.without(nest.sets), [group], nest.loop, (), self._new, self._dtypes)

    def _gathered(self, nest: Free, groups: list[Group], is_cheap: bool) -> list[Any] | None:
        """The nests for one; None where the loops inside are to be tried."""
        counts = Counter(each.buffer for each in nest.sums if isinstance(each, Store))
        is_single = len(nest.levels) == 1
        if is_cheap and max(counts.values(), default=0) > 1:
            if is_single or any(term.shift[0] for group in groups for term in group.terms):
                return emitted(nest, groups, nest.loop, (), self._new, self._dtypes)
        if not is_single or nest.rest:
            return None
        level = nest.levels[0]  # by rising variable
        return [For(level.own, level.low, level.high, nest.body)]

    # -- terms ------------------------------------------------------------------------------------

    def _groups(self, nest: Free) -> list[Group]:
        """The terms of each nest to be made."""
        found: list[tuple[Store, dict[tuple[int, ...], list[Any]]]] = []
        start = (0,) * len(nest.levels)
        for store in nest.sums:
            if not isinstance(store, Store):
                continue
            for first, terms in found:
                if (shift := _shift(nest, first, store)) is not None:
                    terms.setdefault(shift, []).append(store)
                    break
            else:
                found.append((store, {start: [store]}))
        totals = [each for each in nest.sums if isinstance(each, Accumulate)]
        groups = [terms for _, terms in found]
        if totals:
            groups = groups or [{}]
            shifts = sorted(groups[0]) or [start]
            groups[0].setdefault(shifts[len(shifts) // 2], []).extend(totals)
        return [
            Group(tuple(Term(shift, needed(nest.body, sums)) for shift, sums in terms.items()))
            for terms in groups
        ]


def _is_cheap(nest: Free | None, groups: Sequence[Group]) -> bool:
    assert nest is not None
    bodies = [term.body for group in groups for term in group.terms]
    bodies += [needed(nest.body, part) for part in (nest.sets, nest.rest) if part]
    for each in nest.rest:  # a variable that changes is read where it is assigned only
        readers = [part for part in bodies if any(each.target in names_of(x) for x in part)]
        if any(part is not bodies[-1] for part in readers):
            return False
    cost = sum(_price(each) for part in bodies for each in part)
    return cost - sum(map(_price, nest.body)) <= _MOST * len(bodies)


def _price(each: Any) -> int:
    if isinstance(each, Call):
        return _CALL
    return each.body.price if isinstance(each, Assign) else 0


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
            shift[level] = -distance.const * mine.terms[axes[level]]
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
