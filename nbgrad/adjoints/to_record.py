"""The needs of the reverse pass: values of the forward pass that it computes again, values that are
recorded, and overwritten values that are restored.

The reverse pass of a body begins in the state in which the forward pass left it, and restores, from
segment to segment, the elements that were overwritten and are needed. A value of a segment that the
adjoint of the same segment needs is computed again from the elements before it. One that other
items of the body need is computed at the start of the reverse pass of the body, if nothing that it
reads was overwritten until the end of the body; else it is recorded, and so are the value of a
variable that is assigned later and the result of a library function. A value of these, a quotient
or a root that was stored, and not overwritten since, is loaded again.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..ir.statements import Assign, Call, For, If, Load, Position, Store
from ..ir.walk import inner, walk
from .build import defined_names, names_of
from .partials import is_dear, only_computes
from .positions import Access, Positions, around
from .states import State
from .tree import (
    Body,
    Branch,
    Loop,
    Segment,
    between,
    bodies,
    is_read,
    parts,
    statements_of,
)
from .unread import unread_stores

__all__ = ["Plan"]

_DEAR = 4  # operations that a value is worth, at least, to be loaded again


class Plan:
    """The plan for a tree, where the buffers `shown` are results. `written` are statements whose
    overwritten value is recorded, `unread` stores that the forward sweep leaves out."""

    def __init__(
        self, top: Body, variables: Collection[str], inside: Collection[Any], positions: Positions,
        states: Mapping[Loop, State], shown: Collection[Any] = (),
    ):  # fmt: skip
        self._positions, self._states = positions, states
        self.top, self._variables, self._inside = top, frozenset(variables), inside
        self.written: set[int] = set()  # stores, by identity
        self.places: dict[int, list[Any] | None] = {}  # statements that give their positions again
        self.again: dict[str, Load] = {}  # values that are loaded from where they were stored
        self._home: dict[str, Body] = {}
        self._reads: list[tuple[Any, Segment, Body]] = []
        self._seen: set[int] = set()
        self._segments: list[tuple[Segment, Body]] = []
        self._local: dict[str, Segment] = {}
        for body in bodies(top):
            for name in body.defined:
                if name not in self._variables:
                    self._home[name] = body
            for item in body.items:
                if isinstance(item, Segment):
                    self._segments.append((item, body))
        self._assigned: dict[str, list[tuple[Segment, Body]]] = {}
        for segment, body in self._segments:
            for name in _targets(segment.statements):
                self._assigned.setdefault(name, []).append((segment, body))
        self._kept: dict[tuple[Segment, Any], list[Store]] = {}  # stores of a value, by segment
        for segment, _ in self._segments:
            for each in segment.statements:
                if isinstance(each, Store) and each.kind is None:
                    self._kept.setdefault((segment, each.value), []).append(each)
        self._stored = {
            each.buffer
            for segment, _ in self._segments
            for each in walk(segment.statements)
            if isinstance(each, Store)
        }
        self._passed: set[Any] = set()
        for segment, body in self._segments:
            if segment.adjoint:
                self._pass(body)
        for loop, state in states.items():
            self._pass(loop.body)
            self._needs_of_replay(loop, state)
        while self._overwrites():
            pass
        self.unread: set[int] = set()
        if not states:
            read = {*shown, *(load.buffer for load in self.again.values())}
            self.unread = unread_stores(top, positions, read)
            self.written -= self.unread

    # -- values -----------------------------------------------------------------------------------

    def is_passed(self, item: Loop | Branch) -> bool:
        """Whether the reverse pass has anything to do in a loop or a branch."""
        return any(part in self._passed for part in parts(item))

    def _pass(self, body: Body) -> None:
        """Let the reverse pass run through a body."""
        if body in self._passed:
            return
        self._passed.add(body)
        for item in body.items:
            if isinstance(item, Segment):
                for name in _free(item.adjoint):
                    self.need(name, body, item)
        if body.parent is None:
            return
        self._pass(body.parent)
        item = body.item
        if isinstance(item, Branch):
            self.need(item.condition, body.parent)
        elif item is not None and isinstance(item.statement, For):
            for bound in (item.statement.start, item.statement.stop):
                self.need(bound, body.parent)
            for name in _free(item.adjoint):
                self.need(name, body.parent)

    def _needs_of_replay(self, loop: Loop, state: State) -> None:
        """The reverse pass runs the rounds of a loop again, from snapshots of its state."""
        outside = loop.body.parent
        assert outside is not None
        for name in _free([loop.statement]):
            self.need(name, outside)
        for sizes in state.buffers.values():
            for size in sizes:
                self.need(size, outside)
        for body in bodies(loop.body):
            for item in body.items:
                for each in walk(getattr(item, "statements", ())):
                    if isinstance(each, Load) and each.buffer not in state.buffers:
                        self._read(each, item, body)

    def need(self, name: Any, body: Body, segment: Segment | None = None) -> None:
        """The reverse pass of a body, or of a segment in it, needs a value."""
        stack: list[tuple[Any, Body, Segment | None]] = [(name, body, segment)]
        while stack:
            stack += reversed(self._following(*stack.pop()))

    def _following(
        self, name: Any, body: Body, segment: Segment | None
    ) -> list[tuple[Any, Body, Segment | None]]:
        """Note that a value is needed; the values that it follows from, which are needed then."""
        home = self._home.get(name) if isinstance(name, str) else None
        if home is None or home is self.top or name in home.crossing:
            return []
        own, statement = home.defined[name]
        is_local = home is body and own is segment and not is_read(statement, self._variables)
        if (load := self._reload(name, own, statement, home)) is not None:
            home.crossing.add(name)
            self.again[name] = load
            return [(each, home, None) for each in sorted(names_of(load))]
        dear = is_dear(statement) or name in own.kept
        if is_local and not dear:
            if name in own.local:
                return []
            own.local.add(name)
            self._read(statement, own, home)
            return [(each, body, segment) for each in sorted(names_of(statement))]
        home.crossing.add(name)
        own.local.discard(name)
        if dear or not self._is_stable(statement, own, home):
            home.recorded.append(name)
            return []
        self._read(statement, own, home)
        return [(each, home, None) for each in sorted(names_of(statement))]

    def _reload(self, name: str, own: Segment, statement: Any, home: Body) -> Load | None:
        """The load from where its segment stores it, if nothing overwrites it, of a value that is
        dear or would be recorded."""
        cheap = isinstance(statement, Assign) and statement.body.price < _DEAR
        if is_read(statement, self._variables):
            cheap = self._is_stable(statement, own, home)
        if not isinstance(statement, (Assign, Call)) or cheap:
            return None
        dtype = statement.dtype if isinstance(statement, Assign) else statement.dtypes[0]
        for store in self._kept.get((own, name), ()):
            if store.dtype == dtype:
                load = Load(name, store.buffer, store.at, store.dtype)
                later = own.statements[_index(own.statements, store) + 1 :]
                if not any(
                    self._destroys(load, own, home, each, segment, body, later)
                    for segment, body in self._segments
                    for each in walk(segment.statements)
                    if isinstance(each, Store) and each.buffer == load.buffer
                ):
                    return load
        return None

    def _is_stable(self, statement: Any, segment: Segment, body: Body) -> bool:
        """Whether a statement has the same value at the end of its body."""
        if isinstance(statement, Load):
            return body.is_in_call() or not any(  # which writes to nothing that it reads
                isinstance(each, Store) and self._meet(statement, body, each, body, False)
                for each in _later(statement, segment, body)
            )
        if is_read(statement, self._variables):
            return not any(
                at.order >= segment.order or _common(body, home)
                for at, home in self._assigned.get(statement.operands[0], ())
            )
        return isinstance(statement, (Assign, Position)) or (
            isinstance(statement, Call) and only_computes(statement.function)
        )

    # -- overwritten values -----------------------------------------------------------------------

    def _read(self, statement: Any, segment: Segment, body: Body) -> None:
        """The reverse pass reads an element or a variable."""
        if id(statement) in self._seen:
            return
        self._seen.add(id(statement))
        if isinstance(statement, Load):
            self._reads.append((statement, segment, body))

    def _overwrites(self) -> bool:
        """Find the writes that have to be undone; whether there are new ones."""
        count = len(self.written)
        # Branches bring their reads with them: what is read in them is read where they stand.
        # Those of one position in one body are compared with a store together.
        every: dict[Any, dict[tuple[Any, Body], tuple[Load, dict[Segment, None]]]] = {}
        for read, at, home in (*self._reads, *self._in_branches()):
            together = every.setdefault(read.buffer, {}).setdefault((read.at, home), (read, {}))
            together[1][at] = None
        for segment, body in self._segments:
            if body.is_in_call():
                continue  # the statement before it sets the elements to 0, and is undone
            for each in walk(segment.statements):
                if isinstance(each, Store) and id(each) not in self.written:
                    destroyed = (
                        at
                        for (_, home), (read, ats) in every.get(each.buffer, {}).items()
                        for at in self._destroyed(read, ats, home, each, segment, body)
                    )
                    first = next(destroyed, None)
                    places = between(each, segment, body) if first else set()
                    if places is None or any(at in places for at in (first, *destroyed)):
                        self.written.add(id(each))
                        self._pass(body)
                        self.places[id(each)] = self._place(each, segment, body)
        return len(self.written) > count

    def _place(self, store: Store, segment: Segment, body: Body) -> list[Any] | None:
        """The statements of branches that compute the position of a store; None where that is to be
        recorded, as it depends on elements that may be overwritten."""
        inside = {
            name: x
            for each in segment.statements
            for x in walk([part for parts in inner(each) for part in parts])
            for name in defined_names([x])
            if not inner(x)
        }
        again: dict[int, Any] = {}
        names: list[Any] = [name for name, _ in store.at.terms]
        while names:
            name = names.pop()
            statement = inside.get(name)
            if statement is None:
                self.need(name, body)
            elif isinstance(statement, Load) and statement.buffer in self._stored:
                return None
            else:
                again[id(statement)] = statement
                names += names_of(statement)
        return [each for each in walk(segment.statements) if id(each) in again]

    def _in_branches(self) -> Iterator[tuple[Any, Segment, Body]]:
        """The loads inside of branches of segments whose adjoint computes them again."""
        for segment, body in self._segments:
            for each in walk(segment.adjoint):
                if isinstance(each, Load) and each.target in self._inside:
                    yield each, segment, body

    def _destroyed(
        self, read: Load, places: Iterable[Segment], home: Body, write: Store, segment: Segment,
        body: Body,
    ) -> Iterable[Segment]:  # fmt: skip
        """The segments, of those where an element is read, behind which a store may overwrite it. A
        loop with checkpoints restores all that its rounds write, backward and at its end; one that
        may keep its record does not restore the buffers that it makes."""
        loops, depth = around(home), 0
        for i, loop in enumerate(around(body)):
            if loop in self._states:
                if loop not in loops:
                    return ()
                depth = i + 1 if self._states[loop].restores(read.buffer) else depth
        if _common(home, body) and self._meet(read, home, write, body, True, depth):
            return places
        if self._meet(read, home, write, body, False):
            return [at for at in places if at.order <= segment.order]
        return ()

    def _destroys(
        self, read: Load, at: Segment, home: Body, write: Store, segment: Segment, body: Body,
        later: Sequence[Any],
    ) -> bool:  # fmt: skip
        """Whether a store may overwrite, later, what a load has read; `later` are the statements
        that follow it in its segment."""
        if at is segment:
            follows = any(each is write for each in walk(later))
        else:
            follows = at.order <= segment.order
        if follows and self._meet(read, home, write, body, False):
            return True
        return bool(_common(home, body)) and self._meet(read, home, write, body, True)

    def _meet(
        self, read: Load, home: Body, write: Store, body: Body, later: bool, depth: int = 0
    ) -> bool:
        """Whether a load and a store may be at one element, in the same round of all loops around
        both or in a later one of a loop from `depth` inwards."""
        first = Access(read.buffer, read.at, around(home))
        second = Access(write.buffer, write.at, around(body))
        return self._positions.may_meet(first, second, later, depth)


def _common(x: Body, y: Body) -> list[Loop]:
    """The loops around both of two bodies."""
    around = set(map(id, y.loops()))
    return [loop for loop in x.loops() if id(loop) in around]


def _index(statements: list[Any], statement: Any) -> int:
    return next(i for i, each in enumerate(statements) if each is statement)


def _later(statement: Any, segment: Segment, body: Body) -> list[Any]:
    """The statements of a body behind one."""
    found = list(walk(segment.statements[_index(segment.statements, statement) + 1 :]))
    for item in body.items[body.items.index(segment) + 1 :]:
        found += statements_of(item)
    return found


def _targets(statements: Any) -> list[str]:
    found = [getattr(each, "target", None) for each in walk(statements) if not inner(each)]
    return list(dict.fromkeys(x for x in found if isinstance(x, str)))


def _free(statements: Any) -> list[str]:
    """The names that statements read and do not define, those in positions too."""
    defined, read = set(), []
    for each in walk(statements):
        if not isinstance(each, If):
            defined |= {getattr(each, "target", None), *getattr(each, "results", ())}
        read += sorted(names_of(each))
    return [name for name in dict.fromkeys(read) if name not in defined]
