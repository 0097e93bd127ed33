"""Elements of shadows that are set to 0 and next added to: they are set to what is added.

A round of a time loop that writes an array from another one sets, backward, the cotangents of what
it has written to 0, and the next nest adds to them. A shadow that each round of a loop leaves at 0,
and adds to first in the next round, need not be 0 in between.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..ir.statements import Call, Literal, PointTo, Store
from ..ir.walk import walk
from .build import buffers_of
from .forms import Form
from .lengths import Shapes
from .nests import Free
from .positions import Positions
from .regions import Group, covers

__all__ = ["Found", "Zeros"]


@dataclass
class Found:
    """Changes of the nests of a body, by their places: stores of 0 that are dropped, the groups of
    those that set elements, and the stores of 0 that must stand before these if they add instead.
    """

    dropped: dict[int, list[Store]] = field(default_factory=dict)
    groups: dict[int, list[Group]] = field(default_factory=dict)
    before: dict[int, list[tuple[Free, Store]]] = field(default_factory=dict)


class Zeros:
    """Finds elements that are 0 before a nest adds to them. `outside` define numbers that do not
    change, as those of `numbers`; `private` are shadows that are 0 before the statements, and of no
    use after them."""

    def __init__(
        self, statements: Sequence[Any], outside: Sequence[Any], numbers: Collection[str],
        private: Collection[Any],
    ):  # fmt: skip
        self._positions = Positions(outside, Shapes({}, ()), numbers, ())
        self._uses = _uses(statements)
        pointed = {
            x for each in walk(statements) if isinstance(each, (PointTo, Call))
            for x in (*buffers_of(each), getattr(each, "target", None))
        }  # fmt: skip
        self._private = set(private) - pointed

    def of(
        self, statements: Sequence[Any], nests: Sequence[Free | None],
        groups: Mapping[int, list[Group]], is_loop: bool,
    ) -> Found:  # fmt: skip
        """The changes of a body, of a loop or not; `groups` are those of nests that may be split
        into terms."""
        found = Found()
        touching: dict[Any, list[int]] = {}  # the places of statements that touch a buffer
        for i, (each, nest) in enumerate(zip(statements, nests, strict=True)):
            inside = [x for x in walk([each]) if nest or not _is_cleared(x)]
            for buffer in dict.fromkeys(x for one in inside for x in buffers_of(one)):
                touching.setdefault(buffer, []).append(i)
        uses = _uses(statements) if is_loop else Counter()
        for i, nest in enumerate(nests):
            for store in nest.sets if nest is not None else ():
                if getattr(store.value, "number", None) != 0:
                    continue
                places = touching[store.buffer]
                following = places[bisect_right(places, i) :]
                if is_loop and store.buffer in self._private:
                    if uses[store.buffer] == self._uses[store.buffer]:
                        following += places
                place = next(iter(following), None)
                if place is None or place == i or place not in groups:
                    continue
                assert nest is not None
                self._change(found, i, place, nest, nests[place], store,
                             found.groups.get(place, groups[place]))  # fmt: skip
        return found

    def _change(
        self, found: Found, i: int, place: int, nest: Free, other: Free | None, store: Store,
        groups: list[Group],
    ) -> None:  # fmt: skip
        assert other is not None
        stores = [x for x in other.body if store.buffer in buffers_of(x)]
        own = [g for g in groups if any(x is stores[0] for t in g.terms for x in t.body)]
        if len(own) != 1 or not all(
            isinstance(x, Store) and x.kind is not None
            and any(x is one for term in own[0].terms for one in term.body) for x in stores
        ):  # fmt: skip
            return
        first = own[0].terms[0]
        target = next(x for x in first.body if any(x is one for one in stores))
        zeros = self._bounds(nest, store, other, target)
        if zeros is None:
            return
        group = replace(own[0], zeros=zeros)
        if covers(group, group.terms):
            found.groups[place] = [group if g is own[0] else g for g in groups]
            found.before.setdefault(place, []).append((nest, store))
            found.dropped.setdefault(i, []).append(store)

    def _bounds(
        self, nest: Free, store: Store, other: Free, target: Store
    ) -> tuple[tuple[int, int], ...] | None:
        """The bounds of elements that a store sets to 0, relative to those to which another adds,
        for each level of the nest of the latter."""
        ours, theirs = nest.box(store), other.box(target)
        if ours is None or theirs is None or len(ours) != len(theirs):
            return None
        found: dict[int, tuple[int, int]] = {}
        for (level, by), (its, its_by) in zip(ours, theirs, strict=True):
            mine, its_level = nest.levels[level], other.levels[its]
            ends = [self._distance(mine.low, its_level.low),
                    self._distance(mine.high, its_level.high)]  # fmt: skip
            if ends[0] is None or ends[1] is None:
                return None
            found[its] = ends[0] + by - its_by, ends[1] + by - its_by
        return tuple(found[i] for i in range(len(other.levels)))

    def _distance(self, x: Any, y: Any) -> int | None:
        """The difference of two bounds, if it is known and does not change."""
        forms = [self._positions.form(each) for each in (x, y)]
        if forms[0] is None or forms[1] is None:
            return None
        distance: Form = forms[0].plus(forms[1], -1)
        return None if distance.terms else distance.const


def _uses(statements: Iterable[Any]) -> Counter[Any]:
    """How often the statements use each buffer, but to set elements to 0."""
    return Counter(
        x for each in walk(statements) if not _is_cleared(each) for x in buffers_of(each)
    )


def _is_cleared(each: Any) -> bool:
    """Whether a statement sets an element to 0."""
    is_set = isinstance(each, Store) and each.kind is None
    return is_set and isinstance(each.value, Literal) and each.value.number == 0
