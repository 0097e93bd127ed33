"""Loops with the same bounds as one loop, where the second one reads an array that the first made.

The front end writes a nest of loops for each expression of whole arrays. In one nest, an element is
read where it was computed: if nothing else reads the array, neither it nor its shadow is made. A
loop that stores nothing, such as that of a sum, joins one that stores to any array.

Two loops may be one if no round of the second meets an element of a later round of the first one,
unless both read it. The order of the operations on each element and variable stays the same, so all
values keep their bits.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..ir.affine import ZERO
from ..ir.statements import Assign, Call, For, If, Load, New, Position, Raise, Store
from ..ir.walk import inner, walk, with_inner
from .build import names_of, renamed
from .lengths import Shapes
from .partials import only_computes
from .positions import Access, Positions

__all__ = ["Around", "accesses", "fused", "inside"]

_MOST = 400  # pairs of accesses that are compared
_LONG = 1000  # statements of a loop that takes no other one


def fused(
    body: Sequence[Any], shapes: Shapes, constants: Collection[str], variables: Collection[str]
) -> list[Any]:
    """The statements with loops that became one."""
    return _Fuse(body, shapes, constants, variables).body(body, ())


@dataclass(eq=False)
class Around:
    """A loop around statements."""

    statement: Any


@dataclass
class _Effects:
    """The reads and writes of a statement and of those inside it. If it `is_opaque`, it may have
    others. Accesses hold the loops around them, up to that statement."""

    reads: set[Any] = field(default_factory=set)
    writes: set[Any] = field(default_factory=set)
    loads: set[Any] = field(default_factory=set)
    stores: set[Any] = field(default_factory=set)
    makes: set[Any] = field(default_factory=set)
    may_raise: bool = False
    is_opaque: bool = False
    accesses: dict[Any, list[tuple[bool, Access]]] = field(default_factory=dict)
    count: int = 0

    def add(self, each: Any) -> None:
        self.count += 1
        self.reads |= names_of(each)
        self.writes.update(_targets(each))
        match each:
            case Load(buffer=buffer):
                self.loads.add(buffer)
            case Store(buffer=buffer):
                self.stores.add(buffer)
            case New(target=buffer):
                self.makes.add(buffer)
            case Raise():
                self.may_raise = True
            case Assign() | Position() | For() | If():
                self.is_opaque |= bool(getattr(each, "checkpoint", ""))
            case Call(function=function) if only_computes(function):
                pass
            case _:
                self.is_opaque = True

    def with_round_of(self, other: "_Effects") -> "_Effects":
        """Those of a loop that runs a round of another one, too, in each round."""
        accesses = {
            buffer: [*self.accesses.get(buffer, ()), *other.accesses.get(buffer, ())]
            for buffer in self.accesses | other.accesses
        }
        return _Effects(
            self.reads | other.reads, self.writes | other.writes, self.loads | other.loads,
            self.stores | other.stores, self.makes | other.makes,
            self.may_raise or other.may_raise, self.is_opaque or other.is_opaque, accesses,
            self.count + other.count - 1,
        )  # fmt: skip

    def is_free_of(self, other: "_Effects") -> bool:
        """Whether the order of two statements does not matter."""
        if self.is_opaque or other.is_opaque or (self.may_raise and other.may_raise):
            return False
        return all(
            x.writes.isdisjoint(y.reads | y.writes)
            and (x.stores | x.makes).isdisjoint(y.loads | y.stores | y.makes)
            for x, y in ((self, other), (other, self))
        )


class _Fuse:
    def __init__(
        self, body: Sequence[Any], shapes: Shapes, constants: Collection[str],
        variables: Collection[str],
    ):  # fmt: skip
        every = walk(body)
        self._variables = frozenset(variables)
        self._positions = Positions(every, shapes, constants, self._variables)
        self._made = {each.target for each in every if isinstance(each, New)}
        self._effects: dict[int, tuple[Any, _Effects]] = {}

    def body(self, statements: Sequence[Any], around: tuple[Around, ...]) -> list[Any]:
        made: list[Any] = []
        for each in statements:
            if not (isinstance(each, For) and self._joined(made, each, around)):
                made.append(each)
        return [self._inside(each, around) for each in made]

    def _inside(self, each: Any, around: tuple[Around, ...]) -> Any:
        here = (*around, Around(each)) if hasattr(each, "body") and inner(each) else around
        return with_inner(each, lambda body: tuple(self.body(body, here)))

    def _joined(self, made: list[Any], loop: For, around: tuple[Around, ...]) -> bool:
        """Put a loop into one of the statements before it, if there is one."""
        effects = self._of(loop)
        wanted = effects.loads & self._made if effects.stores else effects.loads
        if not wanted or effects.is_opaque:
            return False
        for place in reversed(range(len(made))):
            other = made[place]
            if not isinstance(other, For) or wanted.isdisjoint(self._of(other).stores):
                continue
            if _header(other) != _header(loop) or other.call or loop.call:
                return False
            between = self._ordered(other, made[place + 1 :], loop)
            whole = self._one(other, loop, around) if between is not None else None
            if between is None or whole is None:
                return False
            made[place:] = [*between[0], whole, *between[1]]
            return True
        return False

    def _of(self, statement: Any) -> _Effects:
        if id(statement) not in self._effects:
            found = _Effects()
            for each in walk([statement]):
                found.add(each)
            for is_load, access in accesses(inner(statement), ()):
                found.accesses.setdefault(access.buffer, []).append((is_load, access))
            self._effects[id(statement)] = statement, found
        return self._effects[id(statement)][1]

    def _ordered(
        self, first: For, between: Sequence[Any], second: For
    ) -> tuple[list[Any], list[Any]] | None:
        """The statements between two loops that come before both, and those that come behind."""
        before: list[Any] = []
        behind: list[Any] = []
        for each in reversed(between):
            own = self._of(each)
            if all(own.is_free_of(self._of(x)) for x in (second, *before)):
                behind.insert(0, each)
            elif own.is_free_of(self._of(first)):
                before.insert(0, each)
            else:
                return None
        return before, behind

    def _one(self, first: For, second: For, around: tuple[Around, ...]) -> For | None:
        """The loop that runs a round of both in each round."""
        ours, theirs = self._of(first), self._of(second)
        if ours.count > _LONG:
            return None
        if ours.is_opaque or theirs.is_opaque or (ours.may_raise and theirs.may_raise):
            return None
        if any(
            x.writes & (y.reads | y.writes) & self._variables
            or x.makes & (y.loads | y.stores | y.makes)
            for x, y in ((ours, theirs), (theirs, ours))
        ):
            return None
        names = {second.axis: first.axis}
        other = tuple(
            renamed(x, lambda n: names.get(n, n), lambda n: (n, ZERO), lambda n: n)
            for x in second.body
        )
        theirs = self._of(replace(first, body=other))
        whole = replace(first, body=(*first.body, *other))
        here = (*around, Around(whole))
        pairs = [
            (inside(x, here), inside(y, here))
            for buffer in ours.stores & (theirs.loads | theirs.stores) | theirs.stores & ours.loads
            for is_load, x in ours.accesses[buffer]
            for is_other_load, y in theirs.accesses[buffer]
            if not (is_load and is_other_load)
        ]
        if len(pairs) > _MOST:
            return None
        self._positions.change(walk(other))
        if any(self._positions.may_meet(y, x, later=True, depth=len(around)) for x, y in pairs):
            self._positions.change(walk(second.body))
            return None
        self._effects[id(whole)] = whole, ours.with_round_of(theirs)
        return whole


def _targets(each: Any) -> Iterator[str]:
    """The names to which a statement itself gives values."""
    for name in (getattr(each, "target", None), getattr(each, "axis", None)):
        if isinstance(name, str):
            yield name
    yield from getattr(each, "results", ())


def _header(loop: For) -> For:
    return replace(loop, axis="", body=())


def accesses(
    parts: Iterable[Sequence[Any]], around: tuple[Around, ...]
) -> Iterator[tuple[bool, Access]]:
    """The loads and stores, and whether each is a load."""
    for each in itertools.chain.from_iterable(parts):
        if isinstance(each, (Load, Store)):
            yield isinstance(each, Load), Access(each.buffer, each.at, around)  # pyright: ignore
        here = (*around, Around(each)) if isinstance(each, For) else around
        yield from accesses(inner(each), here)


def inside(access: Access, loops: tuple[Around, ...]) -> Access:
    """An access with further loops around it."""
    return access._replace(loops=(*loops, *access.loops))  # pyright: ignore
