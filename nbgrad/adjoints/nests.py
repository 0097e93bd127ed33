"""Nests of loops of a backward sweep whose rounds may run in any order.

The rounds of such a nest depend on each other through sums only: elements and numbers that they add
to. An element that a round sets is read and set by no other round.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..ir.affine import Affine, variable
from ..ir.reductions import SUM
from ..ir.statements import Accumulate, Assign, Call, For, Load, Position, Store
from ..ir.walk import inner
from .build import COPY, INT, names_of
from .forms import Form
from .lengths import Shapes
from .partials import only_computes
from .positions import Access, Positions

__all__ = ["Free", "Level", "affine", "free", "levels_of", "names_defined"]


class Level(NamedTuple):
    """A loop of a nest. `own` is its variable, `axis` counts back; `integers` are the statements in
    front of the next loop, which compute integers."""

    axis: Any
    own: str
    low: Any
    high: Any
    integers: tuple[Any, ...]


@dataclass(eq=False)
class _Around:
    """A loop around statements."""

    statement: For


@dataclass(frozen=True)
class Free:
    """A nest: its levels, the statements of a round, those of them that add and those that set.
    `rest` are assignments of variables from round to round, which keep their order."""

    levels: tuple[Level, ...]
    body: tuple[Any, ...]
    sums: tuple[Any, ...]
    sets: tuple[Store, ...]
    rest: tuple[Assign, ...]
    loops: tuple[For, ...]
    _around: tuple[Any, ...]
    _positions: Positions

    @property
    def loop(self) -> For:
        """The nest as a statement, which runs backward."""
        whole = replace(self.loops[-1], body=(self.loops[-1].body[0], *self.body))
        for loop in reversed(self.loops[:-1]):
            whole = replace(loop, body=(*loop.body[:-1], whole))
        return whole

    def without(self, stores: Collection[Store]) -> "Free":
        """The nest without some of the stores that set elements."""
        gone = set(map(id, stores))
        body = tuple(x for x in self.body if id(x) not in gone)
        return replace(self, body=body, sets=tuple(x for x in self.sets if id(x) not in gone))

    def box(self, store: Store) -> list[tuple[int, int]] | None:
        """For each axis of its array the level whose variable is the subscript of a store, and what
        is added to it; None if they are others, or not all levels, each once."""
        found: list[tuple[int, int]] = []
        for form in self.subscripts(store):
            own = [i for i, x in enumerate(self.levels) if form and x.axis in form.terms]
            variable = self._positions.form(self.levels[own[0]].own) if len(own) == 1 else None
            if form is None or variable is None:
                return None
            by = form.plus(variable, -1)
            if by.terms:
                return None
            found.append((own[0], by.const))
        is_box = sorted(level for level, _ in found) == list(range(len(self.levels)))
        return found if is_box else None

    def subscripts(self, each: Load | Store) -> tuple[Form | None, ...]:
        """The subscripts of an access as linear forms; None for one that is not linear."""
        return self._positions.subscripts(self._access(each))

    def may_meet(self, load: Load, store: Store) -> bool:
        """Whether a load and a store of any two rounds may be at one element."""
        first, second = self._access(load), self._access(store)
        may_meet = self._positions.may_meet
        return (
            may_meet(first, second, False) or may_meet(first, second, True)
            or may_meet(second, first, True)
        )  # fmt: skip

    def _access(self, each: Load | Store) -> Access:
        return Access(each.buffer, each.at, self._around)


def levels_of(loop: Any) -> tuple[tuple[Level, ...], tuple[For, ...]] | None:
    """The levels of a perfect nest that runs backward, and their loops."""
    if not (isinstance(loop, For) and loop.body and isinstance(loop.body[0], Position)):
        return None
    own, rest = loop.body[0], loop.body[1:]
    ends = affine(loop.start).plus(affine(loop.stop))
    if own.at != ends.plus(Affine(-1, ((loop.axis, -1),))):
        return None
    inside = [each for each in rest if inner(each)]
    if not inside:
        return (Level(loop.axis, own.target, loop.start, loop.stop, ()),), (loop,)
    index = rest[:-1]
    found = levels_of(rest[-1]) if len(inside) == 1 else None
    if found is None or not all(map(_is_index, index)):
        return None
    return (
        (Level(loop.axis, own.target, loop.start, loop.stop, index), *found[0]),
        (loop, *found[1]),
    )


def affine(bound: Any) -> Affine:
    """The bound of a loop as a position."""
    return Affine(bound, ()) if isinstance(bound, int) else variable(bound)


def _is_index(each: Any) -> bool:
    return isinstance(each, Position) or (isinstance(each, Assign) and each.dtype == INT)


def free(
    levels: tuple[Level, ...], loops: tuple[For, ...], outside: Sequence[Any],
    shapes: Shapes, is_variable: Callable[[str], bool],
) -> Free | None:  # fmt: skip
    """The nest, if its rounds may run in any order. `outside` are statements that define numbers
    which no round changes."""
    body = tuple(_without_copies(loops[-1].body[1:], is_variable))
    if not all(map(_is_plain, body)):
        return None
    stores = [each for each in body if isinstance(each, Store)]
    totals = [each for each in body if isinstance(each, Accumulate)]
    rest = tuple(x for x in body if isinstance(x, Assign) and is_variable(x.target))
    if any(not x.loose or x.kind is not SUM for x in totals) or (rest and len(levels) > 1):
        return None
    if any({x.target for x in totals} & names_of(each) for each in body if each not in totals):
        return None
    every = [x for level in levels for x in level.integers] + list(body)
    defined = [name for each in every for name in names_defined(each)]
    if len(set(defined)) < len(defined):
        return None
    changing = {*defined, *(x.own for x in levels), *(x.axis for x in levels)}
    if any({x.low, x.high} & changing for x in levels):
        return None
    constants = {name for each in every for name in names_of(each)} - changing
    constants |= {x for level in levels for x in (level.low, level.high) if isinstance(x, str)}
    bare = [replace(loop, body=loop.body[:1]) for loop in loops]
    statements = [*outside, *bare, *(loop.body[0] for loop in loops), *every]
    changed = {x.target for x in statements if isinstance(x, Assign) and is_variable(x.target)}
    positions = Positions(statements, shapes, constants, changed)
    found = Free(
        levels, body, tuple(x for x in body if x in totals or getattr(x, "kind", None) is SUM),
        tuple(x for x in stores if x.kind is None), rest, loops,
        tuple(_Around(loop) for loop in bare), positions,
    )  # fmt: skip
    return found if _are_free(found, stores) else None


def names_defined(each: Any) -> Sequence[str]:
    """The names that a statement of a round gives a value of the round."""
    if isinstance(each, (Store, Accumulate)):
        return ()
    return each.results if isinstance(each, Call) else (each.target,)


def _is_plain(each: Any) -> bool:
    if isinstance(each, Call):
        return only_computes(each.function) and len(each.results) == 1
    return isinstance(each, (Assign, Load, Position, Store, Accumulate))


def _without_copies(body: Sequence[Any], is_variable: Callable[[str], bool]) -> list[Any]:
    """Without assignments of variables to themselves."""
    copied: dict[Any, Any] = {
        x.target: x.operands[0] for x in body if isinstance(x, Assign) and x.body is COPY
    }
    return [
        each for each in body
        if not (isinstance(each, Assign) and each.body is COPY and is_variable(each.target)
                and copied.get(each.operands[0]) == each.target)
    ]  # fmt: skip


def _are_free(nest: Free, stores: Sequence[Store]) -> bool:
    """Whether the order of the stores of rounds to different elements does not matter."""
    for store in stores:
        loads = [x for x in nest.body if isinstance(x, Load) and x.buffer == store.buffer]
        others = [x for x in stores if x.buffer == store.buffer and x is not store]
        if store.kind is None:
            # One element a round, which is another one in each round.
            place = next(i for i, each in enumerate(nest.body) if each is store)
            later = any(x is one for x in nest.body[place:] for one in loads)
            if others or later or any(x.at != store.at for x in loads):
                return False
            access = nest._access(store)
            if nest._positions.may_meet(access, access, later=True):
                return False
        elif store.kind is not SUM or any(x.kind is None for x in others):
            return False
        elif any(nest.may_meet(load, store) for load in loads):
            return False
    return True
