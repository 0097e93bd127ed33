"""The two sweeps of a reverse pass: the statements forward, which write the record, and backward.

Words of the record stand in the block of the nest of loops around, or on the stack.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..ir.affine import ZERO, Affine, affine_of, variable
from ..ir.statements import For, If, Load, Position, Store, Variable
from ..ir.walk import inner, with_inner
from .build import BOOL, INT, copy, defined_names, in_order, literal, operation, renamed
from .checkpoints import Checkpoints
from .layout import Nest, Nests
from .library import computes_the_same, with_calls
from .nests import affine
from .record import Block, Record
from .skips import computing, skipped, skipped_loop
from .sweep_pieces import Pieces
from .to_record import Plan
from .tree import Body, Loop, Segment, bodies, outermost

__all__ = ["Sweeps"]


@dataclass(frozen=True)
class _Round:
    """The words of a round of a loop in a nest."""

    nest: Nest
    block: Block


class Sweeps:
    """Writes the sweeps of a tree. `new(hint, dtype)` gives new names, and `again(name)` the name
    of a value in the backward sweep."""

    def __init__(
        self, top: Body, plan: Plan, dtypes: dict[str, np.dtype], new: Callable[..., str],
        again: Callable[[str], str], record: Record, bars: Collection[str],
        checkpoints: Checkpoints, pieces: Pieces, fused: Loop | None = None,
    ):  # fmt: skip
        self._bars, self._checkpoints, self._pieces = bars, checkpoints, pieces
        self.axes: set[str] = set()  # of loops that run backward
        self.declared: list[Variable] = []
        self._top, self._plan, self._dtypes, self._record = top, plan, dtypes, record
        self._new, self._again = new, again
        words: dict[Any, int] = {}
        for body in bodies(top):
            words[body] = len(body.recorded)
            for item in body.items:
                if isinstance(item, Segment):
                    words[item] = self._stored(item.statements)
        self._nests, self._fused = Nests(top, words, plan.is_passed), fused
        self._together: Body | None = None  # which runs backward where it ran forward
        self._outermost = {loop: i for i, loop in enumerate(outermost(top), start=1)}

    def _stored(self, statements: Sequence[Any]) -> int:
        """The number of words that a sequence of statements records."""
        count = 0
        for each in statements:
            if isinstance(each, Store):
                if id(each) in self._plan.written:
                    count += 1 + (self._plan.places[id(each)] is None)
            elif inside := sum(map(self._stored, inner(each))):
                count += inside + 1  # the condition
        return count

    def forward(self) -> list[Any]:
        """The statements, with what they record."""
        return self._forward(self._top, None)

    def backward(self) -> list[Any]:
        """The adjoint statements, with what they need."""
        return self._backward(self._top, None)

    # -- words of the record ----------------------------------------------------------------------

    def _words(
        self, item: Any, place: _Round | None, made: list[Any], block_of: Callable[..., Block]
    ) -> Block:
        """The words of a segment, or of the end of a body; without a place, those of a block."""
        if place is None:
            return block_of(literal(self._nests.words[item], INT), made)
        return place.block.shifted(Affine(self._nests.offsets[item], ()))

    def _nest(
        self, loop: Loop, place: _Round | None, made: list[Any], value: Callable[[str], str],
        block_of: Callable[..., Block],
    ) -> _Round | None:  # fmt: skip
        """The words of a loop, all rounds; None for a loop that is in no nest."""
        if loop in self._nests.roots:
            nest = Nest(self._nests, loop, self._new, value, made)
            rounds = nest.rounds if loop in self._outermost else None
            return _Round(nest, block_of(nest.total, made, rounds))
        if place is None or loop not in place.nest.widths:
            return None
        return replace(place, block=place.block.shifted(place.nest.starts[loop]))

    # -- forward ----------------------------------------------------------------------------------

    def _forward(self, body: Body, place: _Round | None) -> list[Any]:
        made = self._items(body.items, place)
        if self._nests.words[body] and body is not self._together:
            block = self._words(body, place, made, self._record.reserve)
            for i, name in enumerate(body.recorded):
                made += self._record.write(block, i, name, self._dtypes[name])
        return made

    def _items(self, items: Sequence[Any], place: _Round | None) -> list[Any]:
        made: list[Any] = []
        for item in items:
            if isinstance(item, Segment):
                made += self._segment(item, place)
            elif not self._plan.is_passed(item):
                made += with_calls([item.statement])
            elif isinstance(item, Loop):
                self._record.loop = self._outermost.get(item, self._record.loop)
                made += self._loop(item, place)
            else:
                made.append(If(item.condition, tuple(self._forward(item.then, place)),
                               tuple(self._forward(item.otherwise, place))))  # fmt: skip
        return made

    def _segment(self, segment: Segment, place: _Round | None) -> list[Any]:
        count = self._nests.words[segment]
        slopes = computing(segment.kept, segment.slopes)
        statements = self._read(segment.statements)
        if not count:
            return [*statements, *slopes]
        made: list[Any] = []
        block = self._words(segment, place, made, self._record.reserve)
        return [*made, *self._saving(statements, block, iter(range(count))), *slopes]

    def _read(self, statements: Sequence[Any]) -> tuple[Any, ...]:
        """The statements without stores that nothing reads."""
        kept = [x for x in statements if id(x) not in self._plan.unread]
        return tuple(with_inner(x, self._read) for x in kept)

    def _saving(self, statements: Sequence[Any], block: Block, places: Iterator[int]) -> list[Any]:
        """The statements, with the elements that their stores overwrite written to the record."""
        made: list[Any] = []
        for each in statements:
            if isinstance(each, Store) and id(each) in self._plan.written:
                old = self._new("old", each.dtype)
                made.append(Load(old, each.buffer, each.at, each.dtype))
                made += self._record.write(block, next(places), old, each.dtype)
                if self._plan.places[id(each)] is None:
                    at = self._new("at")
                    made += [Position(at, each.at),
                             *self._record.write(block, next(places), at, INT)]  # fmt: skip
                made.append(each)
            elif isinstance(each, If) and self._stored([each]):
                made += self._record.write(block, next(places), each.condition, BOOL)
                then = self._saving(each.then, block, places)
                other = self._saving(each.otherwise, block, places)
                made.append(replace(each, then=tuple(then), otherwise=tuple(other)))
            else:
                made.append(each)
        return made

    def _loop(self, loop: Loop, place: _Round | None) -> list[Any]:
        statement, made = loop.statement, []
        if isinstance(statement, For) and statement.checkpoint:
            is_kept = statement.checkpoint == "kept"
            recording = self._forward(loop.body, None) if is_kept else ()
            return self._checkpoints.forward(loop, recording)
        if self._is_call(loop):
            return [statement.call]
        if isinstance(statement, For) and loop.leave is None:
            words = self._nest(loop, place, made, lambda name: name, self._record.reserve)
            at, here = self._round(loop, words, statement.axis, statement.start)
            whole = replace(statement, body=(*at, *self._forward(loop.body, here)), call=None)
            return [*made, *self._pieces.forward(loop, whole, self._nests.records(loop, here))]
        loop.rounds = self._new("rounds")
        self.declared.append(Variable(loop.rounds, literal(0, INT), INT))
        before, after = self._new("round"), self._new("round")
        count = [
            copy(before, loop.rounds, INT),
            operation(after, "add", (before, literal(1, INT)), INT),
            copy(loop.rounds, after, INT),
        ]
        body = tuple(loop.left([*count, *self._forward(loop.body, None)]))
        made += [copy(loop.rounds, literal(0, INT), INT), replace(statement, body=body)]
        if loop.body.parent is self._together:
            return made
        block = self._record.reserve(literal(1, INT), made)
        total = self._new("rounds")
        return [*made, copy(total, loop.rounds, INT), *self._record.write(block, 0, total, INT)]

    def _round(
        self, loop: Loop, words: _Round | None, axis: str, start: Any
    ) -> tuple[list[Any], _Round | None]:
        """The words of a round, and the statements that compute where they are."""
        made: list[Any] = []
        if words is None:
            return made, None
        at = words.nest.round(loop, axis, start, made)
        return made, replace(words, block=words.block.shifted(at))

    # -- backward ---------------------------------------------------------------------------------

    def _reverse_of(self, statements: Sequence[Any]) -> list[Any]:
        return [renamed(x, self._again, lambda buffer: (buffer, ZERO), self._again)
                for x in statements]  # fmt: skip

    def _backward(self, body: Body, place: _Round | None) -> list[Any]:
        return [*self._values_back(body, place), *self._items_back(body, body.items, place)]

    def _values_back(self, body: Body, place: _Round | None) -> list[Any]:
        """The values that the backward sweep of a body needs in several items."""
        made: list[Any] = []
        if body is self._together:
            made += [copy(self._again(x), x, self._dtypes[x]) for x in body.recorded]
        elif self._nests.words[body]:
            block = self._words(body, place, made, self._record.release)
            for i, name in enumerate(body.recorded):
                made += self._record.read(block, i, self._again(name), self._dtypes[name])
        wanted = body.crossing.difference(body.recorded)
        for item in body.items:
            if isinstance(item, Segment):
                again = [x for x in item.computed if wanted.intersection(_defines(x))]
                again = [self._plan.again.get(_defines(x)[0], x) for x in again]
                made += self._reverse_of(in_order(again))
        return made

    def _items_back(self, body: Body, items: Sequence[Any], place: _Round | None) -> list[Any]:
        made: list[Any] = []
        for item in reversed(items):
            if isinstance(item, Segment):
                made += self._undone(item, place)
                local = [x for x in item.computed if item.local.intersection(_defines(x))]
                whole = skipped(item, local, self._bars, self._new) if body.loop else None
                made += self._reverse_of(whole or [*local, *item.adjoint])
            elif not self._plan.is_passed(item):
                continue
            elif isinstance(item, Loop):
                self._record.loop = self._outermost.get(item, self._record.loop)
                made += self._loop_back(item, place)
            else:
                condition: Any = item.condition
                condition = self._again(condition) if isinstance(condition, str) else condition
                parts = self._backward(item.then, place), self._backward(item.otherwise, place)
                made.append(If(condition, tuple(parts[0]), tuple(parts[1])))
        return made

    def _undone(self, segment: Segment, place: _Round | None) -> list[Any]:
        """Restore the elements that a segment has overwritten."""
        count = self._nests.words[segment]
        if not count:
            return []
        made: list[Any] = []
        block = self._words(segment, place, made, self._record.release)
        return made + self._restored(segment.statements, block, iter(range(count)))

    def _restored(
        self, statements: Sequence[Any], block: Block, places: Iterator[int]
    ) -> list[Any]:
        parts: list[list[Any]] = []
        for each in statements:
            if isinstance(each, Store) and id(each) in self._plan.written:
                old = self._new("old", each.dtype)
                part = self._record.read(block, next(places), old, each.dtype)
                again = self._plan.places[id(each)]
                if again is None:
                    at = self._new("at")
                    part += self._record.read(block, next(places), at, INT)
                    parts.append([*part, Store(each.buffer, variable(at), old, each.dtype)])
                else:
                    back = Store(each.buffer, each.at, old, each.dtype)
                    parts.append([*part, *self._private([*again, back])])
            elif isinstance(each, If) and self._stored([each]):
                condition = self._new("condition", BOOL)
                part = self._record.read(block, next(places), condition, BOOL)
                then = self._restored(each.then, block, places)
                other = self._restored(each.otherwise, block, places)
                parts.append([*part, If(condition, tuple(then), tuple(other))])
        return [each for part in reversed(parts) for each in part]

    def _private(self, statements: Sequence[Any]) -> list[Any]:
        """The statements in the backward sweep; what they define has names of their own."""
        own = {name: self._new(name, self._dtypes[name]) for name in defined_names(statements)}

        def now(name: str) -> str:
            return own[name] if name in own else self._again(name)

        return [renamed(x, now, lambda buffer: (buffer, ZERO), now) for x in statements]

    def _loop_back(self, loop: Loop, place: _Round | None) -> list[Any]:
        statement, made = loop.statement, []
        if isinstance(statement, For) and statement.checkpoint:
            replay = self._forward(loop.body, None)
            return self._checkpoints.backward(loop, replay, self._backward(loop.body, None))
        if self._is_call(loop):
            return self._reverse_of(loop.adjoint)
        axis = self._new("back")
        self.axes.add(axis)
        start, stop, rounds = 0, None, ""
        if isinstance(statement, For):
            start, stop = (self._again(x) if isinstance(x, str) else x
                           for x in (statement.start, statement.stop))  # fmt: skip
        if loop.rounds:
            rounds, last = self._new("rounds"), self._new("last")
            if loop.body.parent is self._together:
                made.append(copy(rounds, loop.rounds, INT))
            else:
                block = self._record.release(literal(1, INT), made)
                made += self._record.read(block, 0, rounds, INT)
            made.append(operation(last, "subtract", (rounds, literal(1, INT)), INT))
            at = affine_of(0, {axis: -1, last: 1}).plus(affine(start))
            low, high, words = 0, rounds, None
        else:
            at = affine_of(-1, {axis: -1}).plus(affine(start)).plus(affine(stop))
            low, high = start, stop
            words = self._nest(loop, place, made, self._again, self._record.release)
        body: list[Any] = []
        here = None
        if isinstance(statement, For):
            own = self._again(statement.axis)
            body.append(Position(own, at))
            first, here = self._round(loop, words, own, start)
            body += first
        body += self._backward(loop.body, here)
        whole = For(axis, low, high, tuple(body))
        is_inner = len(loop.body.loops()) > 1
        mark = self._pieces.shadow("")
        if is_inner and (found := skipped_loop(whole, self._bars, mark, self._new)):
            count = sum(self._nests.words.get(x, 0) for x in (loop.body, *loop.body.items))
            if rounds and count:
                found = self._record.without(rounds, count, found)
            return [*made, *found]
        has_record = self._nests.records(loop, here)
        return [*made, *self._pieces.backward(loop, whole, self._again, has_record)]

    def _is_call(self, loop: Loop) -> bool:
        """Whether a loop is written as the call that does the same: its rounds record nothing."""
        if (call := getattr(loop.statement, "call", None)) is None:
            return False
        inside = [each for body in bodies(loop.body) for each in (body, *body.items)]
        return not (any(map(self._nests.words.get, inside)) and computes_the_same(call))


def _defines(each: Any) -> list[str]:
    return defined_names([each])
