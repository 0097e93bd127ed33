"""Loops of independent rounds as loops that run in pieces on several threads.

The number of pieces depends on the work alone, never on the number of threads, and each sum is
added in one order, so results are the same for any number of threads. The forward sweep adds
its sums round by round, as the function itself does.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..ir.affine import ZERO, Affine, variable
from ..ir.spread import MOST_PIECES, Spread
from ..ir.statements import (
    Accumulate,
    Address,
    Assign,
    Call,
    For,
    Load,
    New,
    Operand,
    Position,
    Raise,
    Store,
)
from ..ir.walk import walk, with_inner
from .build import BOOL, INT, copy, literal, operation
from .positions import Positions
from .record import Record
from .rounds import Independent, price
from .tree import Body, Branch, Loop, Segment

__all__ = ["Pieces"]

# Operations, some half a nanosecond each, in loops that are worth the few microseconds in which
# threads wake, and in a piece. 2 to the power of _SHIFT operations are a piece.
_LARGE, _SHIFT = 150_000, 14
# Buffers of pieces have together at most one element for so many operations.
_SHARE = 32
_FUSED = 16  # pieces with records for a round
_RECORDS = 8  # records that are kept from one sweep to the other: each of them grows
_GUESS = 16  # rounds of a loop whose number is not known


class Pieces:
    """Writes loops in pieces. `new(hint, dtype)` gives new names."""

    def __init__(
        self, loops: Mapping[Loop, Independent], positions: Positions, new: Callable[..., str],
        shadow: Callable[[Any], Any], record: Record, bars: Collection[str],
        dtypes: Mapping[str, np.dtype], variables: Collection[str],
        is_passed: Callable[[Loop], bool],
    ):  # fmt: skip
        self.loops, self._positions, self._new = loops, positions, new
        self.shadow, self._record, self.bars, self._dtypes = shadow, record, bars, dtypes
        self.variables, self._is_passed = variables, is_passed
        self.notes: dict[Loop, str] = {}  # how loops run
        self._records: dict[Loop, tuple[str, str]] = {}  # buffers for those of pieces

    def forward(self, loop: Loop, whole: For, records: bool) -> list[Any]:
        """A loop of the forward sweep in pieces. If it `records` words at places that the rounds do
        not know, each piece has a record of its own, which it leaves to the backward sweep."""
        if not self._is_spread(loop, records):
            return [whole]
        made: list[Any] = []
        body, after = self._summed(loop, whole, made)
        sizes = [size for _, _, size in self._shared(loop, _same, made)] if records else []
        count = self._count(loop, sizes, _same, 1 + records, made, self._limit(records))
        spread = self._spread(replace(whole, body=body), count)
        if records:
            buffers = self._records[loop] = self._new("records"), self._new("useds")
            made += [New(x, literal(MOST_PIECES, INT), INT) for x in buffers]
            at = variable(spread.piece)
            words = list(zip(buffers, self._record.state, strict=True))
            kept = [Store(buffer, at, name, INT) for buffer, name in words]
            word, address = self._new("word"), buffers[0]
            made += self._for_each(MOST_PIECES, [Store(address, ZERO, literal(0, INT), INT)])
            freed = Load(word, address, ZERO, INT), Call("freed", (word,))
            spread = replace(
                spread, before=tuple(self._record.emptied()), after=tuple(kept),
                at_error=self._for_each(count, freed),
            )  # fmt: skip
        return [*made, spread, *after]

    def backward(
        self, loop: Loop, whole: For, value: Callable[[str], str], records: bool
    ) -> list[Any]:
        """The same for the backward sweep."""
        if not self._is_spread(loop, records):
            return [whole]
        made: list[Any] = []
        shared = self._shared(loop, value, made)
        sizes = [size for _, _, size in shared]
        count = self._count(loop, sizes, value, 2, made, self._limit(records))
        whole = _adding_to(whole, {address.buffer: name for name, address, _ in shared})
        spread = self._spread(whole, count, self._bars_of(loop, whole.body), shared)
        if records:
            before: list[Any] = []
            for buffer, name in zip(self._records[loop], self._record.state, strict=True):
                word = self._new("word")
                before += [Load(word, buffer, variable(spread.piece), INT), copy(name, word, INT)]
            after = tuple(self._record.freed())
            spread = replace(spread, before=tuple(before), after=after, from_end=True)
        return [*made, spread]

    def fused(self, loop: Loop, whole: For, value: Callable[[str], str]) -> list[Any]:
        """A loop whose rounds run forward and then backward, in pieces; each has its own record."""
        self.notes[loop] = "several threads, forward and then backward"
        made: list[Any] = []
        shared = self._shared(loop, value, made)
        sums = self._bars_of(loop, whole.body)
        body, after = self._summed(loop, whole, made)
        count = self._count(loop, [size for _, _, size in shared], value, 3, made, _FUSED)
        whole = _adding_to(replace(whole, body=body), {x.buffer: name for name, x, _ in shared})
        spread = self._spread(whole, count, sums, shared)
        ends = tuple(self._record.emptied()), tuple(self._record.freed())
        return [*made, replace(spread, before=ends[0], after=ends[1]), *after]

    @staticmethod
    def _limit(records: bool) -> int:
        return _RECORDS if records else MOST_PIECES

    def _for_each(self, count: Any, body: Sequence[Any]) -> tuple[For]:
        """A loop over pieces, whose numbers are the positions in the body."""
        axis = self._new("each")
        stop = count if isinstance(count, (str, int)) else int(count.number)
        return (
            For(
                axis,
                0,
                stop,
                tuple(replace(x, at=variable(axis)) if hasattr(x, "at") else x for x in body),
            ),
        )

    def _is_spread(self, loop: Loop, records: bool) -> bool:
        if loop not in self.loops:
            return False
        around = loop.body.parent
        reason = ""
        if self.loops[loop].makes:
            reason = "they make arrays, and what follows the loop needs their results"
        elif records and around is not None and around.loops():
            reason = "in a loop, and how much they record is not known before"
        self.notes[loop] = f"one thread: {reason}" if reason else "several threads"
        return not reason

    def _spread(
        self, whole: For, count: Operand, sums: Sequence[str] = (), shared: Sequence[Any] = ()
    ) -> Spread:
        before: list[Any] = []
        if any(isinstance(each, Raise) for each in walk(whole.body)):
            before = self._record.emptied()  # the record is not the one that a piece frees
        return Spread(whole, count, self._new("piece"), tuple(sums), tuple(shared), tuple(before))

    # -- sums -------------------------------------------------------------------------------------

    def _summed(self, loop: Loop, whole: For, made: list[Any]) -> tuple[tuple, list[Any]]:
        """The body, which stores what a round adds to each sum, and the loop that adds it up."""
        names = self.loops[loop].sums
        if not names:
            return whole.body, []
        rounds = self._rounds(whole.start, whole.stop, made)
        before: list[Any] = []
        inside: list[Any] = []
        again: list[Any] = []
        index, each = self._new("round"), self._new("each")
        start = _affine(whole.start).times(-1)
        inside.append(Position(index, variable(whole.axis).plus(start)))
        for name in names:
            dtype = self._dtypes[name]
            zero = literal(-0.0 if dtype.kind == "f" else 0, dtype)
            terms, term, old = (self._new(x, dtype) for x in ("terms", "term", "old"))
            more, total = self._new("more", dtype), self._new("total", dtype)
            made.append(New(terms, rounds, dtype))
            before.append(copy(name, zero, dtype))
            inside += [copy(term, name, dtype), Store(terms, variable(index), term, dtype)]
            again += [
                copy(old, name, dtype),
                Load(more, terms, variable(each), dtype),
                operation(total, "add", (old, more), dtype),
                copy(name, total, dtype),
            ]
        stop = int(rounds.number) if not isinstance(rounds, str) else rounds
        return (*before, *whole.body, *inside), [For(each, 0, stop, tuple(again))]

    def _bars_of(self, loop: Loop, body: Sequence[Any]) -> list[str]:
        """The cotangents of numbers from outside of a loop, to which its rounds add."""
        known = self.loops[loop]
        own = {self.shadow(name) for name in known.inside | set(known.sums)}
        targets = [x.target for x in walk(body) if isinstance(x, (Assign, Accumulate))]
        return [x for x in dict.fromkeys(targets) if x in self.bars and x not in own]

    def _shared(self, loop: Loop, value: Callable[[str], str], made: list[Any]) -> list[Any]:
        found = []
        for buffer, lengths, dtype in self.loops[loop].shared:
            total: Operand = literal(1, INT)
            for each in lengths:
                total = self._operation("multiply", total, _value(each, value), made)
            shadow = self.shadow(buffer)
            found.append((self._new(f"{shadow}.part", dtype), Address(shadow, ZERO, dtype), total))
        return found

    # -- the number of pieces ---------------------------------------------------------------------

    def _count(
        self, loop: Loop, sizes: Sequence[Operand], value: Callable[[str], str], factor: int,
        made: list[Any], limit: int = MOST_PIECES,
    ) -> Operand:  # fmt: skip
        """The number of pieces, at most `limit`; 1 for a loop that is too short for threads."""
        statement = loop.statement
        start, stop = (_value(x, value) for x in (statement.start, statement.stop))
        rounds = self._rounds(start, stop, made)
        inside = self.loops[loop].inside
        work = self._work(loop.body, loop, rounds, inside, value, made)
        work = self._operation("multiply", work, literal(factor, INT), made)
        total = self._operation("multiply", work, rounds, made)
        count = self._operation("right_shift", total, literal(_SHIFT, INT), made)
        if sizes:
            most: Operand = literal(1, INT)
            for size in sizes:
                most = self._operation("add", most, size, made)
            most = self._operation("multiply", most, literal(_SHARE, INT), made)
            most = self._operation("floor_quotient", total, most, made)
            count = self._least(count, most, made)
        count = self._least(count, rounds, made)
        count = self._least(count, literal(limit, INT), made)
        is_large, several, found = self._new("large", BOOL), self._new("several", BOOL), "pieces"
        both, found = self._new("spread", BOOL), self._new(found)
        made += [
            operation(is_large, "greater_equal", (total, literal(_LARGE, INT)), BOOL, INT),
            operation(several, "greater", (count, literal(1, INT)), BOOL, INT),
            operation(both, "and", (is_large, several), BOOL),
            operation(found, "select", (both, count, literal(1, INT)), INT),
        ]
        return found

    def _work(
        self, body: Body, loop: Loop, rounds: Operand, inside: Collection[str],
        value: Callable[[str], str], made: list[Any],
    ) -> Operand:  # fmt: skip
        """The operations of a round of a body."""
        own, total = 0, literal(0, INT)
        for item in body.items:
            if isinstance(item, Segment):
                own += sum(map(price, walk(item.statements)))
            elif isinstance(item, Branch):
                for part in (item.then, item.otherwise):
                    more = self._work(part, loop, rounds, inside, value, made)
                    total = self._operation("add", total, more, made)
            else:
                once = self._work(item.body, loop, rounds, inside, value, made)
                count = self._trips(item, loop, rounds, inside, value, made)
                more = self._operation("multiply", once, count, made)
                total = self._operation("add", total, more, made)
        return self._operation("add", total, literal(own, INT), made)

    def _trips(
        self, loop: Loop, around: Loop, rounds: Operand, inside: Collection[str],
        value: Callable[[str], str], made: list[Any],
    ) -> Operand:  # fmt: skip
        """The rounds of a loop inside, or a guess."""
        statement = loop.statement
        if not isinstance(statement, For) or not self._is_passed(loop):
            return literal(_GUESS, INT)  # the backward sweep need not know the bounds
        bounds = statement.start, statement.stop
        if not any(x in inside for x in bounds if isinstance(x, str)):
            start, stop = (_value(x, value) for x in bounds)
            return self._rounds(start, stop, made)
        forms = [self._positions.form(x) for x in bounds]
        if any(form is not None and around.statement.axis in form.terms for form in forms):
            return self._operation("right_shift", rounds, literal(1, INT), made)  # a triangle
        return literal(_GUESS, INT)

    def _rounds(self, start: Any, stop: Any, made: list[Any]) -> Operand:
        first, last = (literal(x, INT) if isinstance(x, int) else x for x in (start, stop))
        count = self._operation("subtract", last, first, made)
        return self._operation("maximum", count, literal(0, INT), made)

    def _least(self, x: Operand, y: Operand, made: list[Any]) -> Operand:
        return self._operation("minimum", x, y, made)

    def _operation(self, name: str, x: Operand, y: Operand, made: list[Any]) -> Operand:
        if not isinstance(x, str) and not isinstance(y, str):
            return literal(_FOLDED[name](int(x.number), int(y.number)), INT)
        if (name, literal(1, INT)) in (("multiply", x), ("multiply", y)):
            return y if x == literal(1, INT) else x
        if (name, literal(0, INT)) in (("add", x), ("add", y)):
            return y if x == literal(0, INT) else x
        target = self._new("work")
        made.append(operation(target, name, (x, y), INT))
        return target


def _adding_to(statement: Any, names: Mapping[Any, str]) -> Any:
    """The statement with stores to other buffers."""
    if isinstance(statement, Store):
        return replace(statement, buffer=names.get(statement.buffer, statement.buffer))
    if isinstance(statement, Call):
        given = [
            replace(x, buffer=names.get(x.buffer, x.buffer)) if isinstance(x, Address) else x
            for x in statement.arguments
        ]
        return replace(statement, arguments=tuple(given))
    return with_inner(statement, lambda body: tuple(_adding_to(x, names) for x in body))


_FOLDED: dict[str, Callable[[int, int], int]] = {
    "add": int.__add__, "subtract": int.__sub__, "multiply": int.__mul__, "maximum": max,
    "minimum": min, "right_shift": int.__rshift__, "floor_quotient": int.__floordiv__,
}  # fmt: skip


def _same(name: str) -> str:
    return name


def _value(x: Any, value: Callable[[str], str]) -> Any:
    return value(x) if isinstance(x, str) else x


def _affine(x: Any) -> Affine:
    return Affine(x, ()) if isinstance(x, int) else variable(x)
