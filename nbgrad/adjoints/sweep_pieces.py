"""Loops of both sweeps of a reverse pass in pieces, which have records and shadows of their own.

The forward sweep adds its sums as the function itself does.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..ir.affine import ZERO, variable
from ..ir.spread import MOST_PIECES, Spread
from ..ir.statements import Accumulate, Assign, Call, For, Load, New, Operand, Raise, Store
from ..ir.walk import walk
from .build import INT, copy, literal
from .positions import Positions
from .record import Record
from .rounds import Independent
from .spreads import Spreads, adding_to
from .tree import Loop

__all__ = ["Pieces"]

_FUSED = 16  # pieces with records for a round
_RECORDS = 8  # records that are kept from one sweep to the other: each of them grows


class Pieces(Spreads):
    """Writes loops of sweeps in pieces."""

    def __init__(
        self, loops: Mapping[Loop, Independent], positions: Positions, new: Callable[..., str],
        shadow: Callable[[Any], Any], record: Record, bars: Collection[str],
        dtypes: Mapping[str, np.dtype], variables: Collection[str],
        is_passed: Callable[[Loop], bool],
    ):  # fmt: skip
        super().__init__(loops, positions, new, dtypes)
        self.shadow, self._record, self.bars = shadow, record, bars
        self.variables, self._is_passed = variables, is_passed
        self.notes: dict[Loop, str] = {}  # how loops run
        self._records: dict[Loop, tuple[str, str]] = {}  # buffers for those of pieces

    def forward(self, loop: Loop, whole: For, records: bool) -> list[Any]:
        """A loop of the forward sweep in pieces. If it `records` words at places that the rounds do
        not know, each piece has a record of its own, which it leaves to the backward sweep."""
        if not self._is_spread(loop, records):
            return [whole]
        made: list[Any] = []
        added = self._added(loop, made, _same)
        whole, after = self._summed(loop, adding_to(whole, added), made, not records)
        # A loop that records is cut as in the backward sweep.
        shadows = self._shadows(loop, _same, made) if records else []
        count = self._count(
            loop, _same, 1 + records, [*added, *shadows], made, self._limit(records)
        )
        spread = self._spread(whole, count, (), added)
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
                spread, before=tuple(self._record.split()), after=tuple(kept),
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
        added = self._added(loop, made, value) if records else []
        shadows = self._shadows(loop, value, made)
        count = self._count(loop, value, 2, [*added, *shadows], made, self._limit(records))
        spread = self._spread(
            adding_to(whole, shadows), count, self._bars_of(loop, whole.body), shadows
        )
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
        shared = [*self._added(loop, made, value), *self._shadows(loop, value, made)]
        sums = self._bars_of(loop, whole.body)
        whole, after = self._summed(loop, adding_to(whole, shared), made)
        count = self._count(loop, value, 3, shared, made, _FUSED)
        spread = self._spread(whole, count, sums, shared)
        ends = tuple(self._record.split()), tuple(self._record.freed())
        return [*made, replace(spread, before=ends[0], after=ends[1]), *after]

    @staticmethod
    def _limit(records: bool) -> int:
        return _RECORDS if records else MOST_PIECES

    def _count(
        self, loop: Loop, value: Callable[[str], str], factor: int, buffers: Sequence[Any],
        made: list[Any], limit: int,
    ) -> Operand:  # fmt: skip
        sizes = [size for _, _, size in buffers]
        return self._work(loop, value).pieces(loop, factor, sizes, made, limit)

    def _is_known(self, loop: Loop) -> bool:
        return self._is_passed(loop)  # the backward sweep need not know the bounds of others

    def _for_each(self, count: Any, body: Sequence[Any]) -> tuple[For]:
        """A loop over pieces, whose numbers are the positions in the body."""
        axis = self._new("each")
        stop = count if isinstance(count, (str, int)) else int(count.number)
        at_axis = (replace(x, at=variable(axis)) if hasattr(x, "at") else x for x in body)
        return (For(axis, 0, stop, tuple(at_axis)),)

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
        self, whole: For, count: Operand, sums: Sequence[str], shared: Sequence[Any]
    ) -> Spread:
        spread = super()._spread(whole, count, sums, shared)
        if any(isinstance(each, Raise) for each in walk(whole.body)):
            # The record is not the one that a piece frees.
            spread = replace(spread, before=tuple(self._record.emptied()))
        return spread

    def _bars_of(self, loop: Loop, body: Sequence[Any]) -> list[str]:
        """The cotangents of numbers from outside of a loop, to which its rounds add."""
        known = self.loops[loop]
        own = {self.shadow(name) for name in known.inside | set(known.sums)}
        targets = [x.target for x in walk(body) if isinstance(x, (Assign, Accumulate))]
        return [x for x in dict.fromkeys(targets) if x in self.bars and x not in own]

    def _shadows(self, loop: Loop, value: Callable[[str], str], made: list[Any]) -> list[Any]:
        """The shadows of a piece for buffers of which several rounds read an element."""
        return self._of_pieces(self.loops[loop].shared, self.shadow, value, loop, made)


def _same(name: str) -> str:
    return name
