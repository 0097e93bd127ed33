"""The record of a reverse pass: a stack of words of 8 bytes that grows.

A block of words is reserved before it is written, and released where the reverse pass has read it.
A loop whose number of rounds is known, with all inside, has one block; a round has `width` words.

Before it grows, it asks how much memory is "allowed": some systems hand out memory that they do not
have, and end the process that writes to it. A call of "noted" stores a `Fact` about the run; one of
"known" reads it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np

from ..ir.affine import Affine, variable
from ..ir.spread import Spread
from ..ir.statements import Assign, Call, If, Load, Operand, PointTo, Raise, Store, Variable
from ..ir.walk import walk, with_inner
from .build import BOOL, DOUBLE, INT, Names, copy, literal, operation

__all__ = ["Block", "Fact", "Record", "noted"]

_LEAST = 1024  # words


class Fact(IntEnum):
    """Numbers that a run stores. If its record is refused: the bytes that the record needs, the
    number of its outermost loop, counted from 1, and the trip count of this loop if it is known. If
    the run ends: the bytes of the record, and the bytes that it would have without checkpoints; the
    address of a record that outlives the run."""

    NEEDED = 0
    LOOP = 1
    ROUNDS = 2
    KEPT = 3
    PLAIN = 4
    ADDRESS = 5


def noted(fact: Fact, value: Operand) -> Call:
    """Note a fact about the run."""
    return Call("noted", (literal(fact, INT), value))


@dataclass(frozen=True)
class Block:
    """Words from a position on, through pointers to floats and to integers."""

    floats: str
    integers: str
    at: Affine

    def shifted(self, count: Affine) -> "Block":
        return Block(self.floats, self.integers, self.at.plus(count))


class Record:
    """Writes the statements of the record."""

    def __init__(self, names: Names, dtypes: dict[str, np.dtype]):
        self._names, self._dtypes = names, dtypes
        self._tape, self._used = self._name("record"), self._name("used")
        self._capacity = self._name("capacity")
        self._kept, self._plain = self._name("kept"), self._name("plain")
        self.is_used = False
        self.is_split = False  # pieces of loops have records of their own
        self.loop = 0  # the number of the outermost loop whose statements are written

    def _name(self, hint: str, dtype: np.dtype = INT) -> str:
        name = self._names.new(hint)
        self._dtypes[name] = dtype
        return name

    def declared(self) -> list[Variable]:
        """Its variables."""
        return [Variable(name, literal(0, INT), INT) for name in self.variables if self.is_used]

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of its variables."""
        return self._tape, self._used, self._capacity, self._kept, self._plain

    @property
    def state(self) -> tuple[str, str]:
        """The variables by which it is read: its address, and the number of its words."""
        return self._tape, self._used

    def emptied(self) -> list[Any]:
        """Statements that forget it: a new one begins."""
        names = self._tape, self._used, self._capacity
        return [copy(name, literal(0, INT), INT) for name in names]

    def freed(self) -> list[Any]:
        """Statements that free it."""
        return [Call("freed", (self._tape,))] if self.is_used else []

    def ended(self) -> list[Any]:
        """Statements that note its size and free it."""
        if not self.is_used:
            return []
        made: list[Any] = []
        if self.is_split:
            return self.freed()
        for fact, total in ((Fact.KEPT, self._kept), (Fact.PLAIN, self._plain)):
            words, size = self._name("words"), self._name("bytes")
            made += [
                copy(words, total, INT),
                operation(size, "multiply", (words, literal(8, INT)), INT),
                noted(fact, size),
            ]
        return [*made, *self.freed()]

    def handed_over(self) -> list[Any]:
        """Statements that note its address and its size: it outlives the run."""
        made: list[Any] = []
        words, size, least = self.used(made), self._name("bytes"), self._name("bytes")
        grown = self._name("grown")
        return [
            *made,
            operation(size, "multiply", (words, literal(8, INT)), INT),
            operation(least, "maximum", (size, literal(8, INT)), INT),
            Call("resized", (self._tape, least), (grown,), (INT,)),  # it may be too large
            noted(Fact.KEPT, size),
            noted(Fact.ADDRESS, grown),
        ]

    def taken_over(self) -> list[Any]:
        """Statements that begin with a record that was handed over."""
        size, words, address = self._name("bytes"), self._name("words"), self._name("address")
        return [
            Call("known", (literal(Fact.KEPT, INT),), (size,), (INT,)),
            Call("known", (literal(Fact.ADDRESS, INT),), (address,), (INT,)),
            operation(words, "right_shift", (size, literal(3, INT)), INT),
            copy(self._used, words, INT),
            copy(self._tape, address, INT),
        ]

    def measured(self) -> list[Any]:
        """Statements that note how large it is now: it is largest before it is read."""
        if not self.is_used:
            return []
        made: list[Any] = []
        now, before, most = self.used(made), self._name("kept"), self._name("kept")
        return [
            *made,
            copy(before, self._kept, INT),
            operation(most, "maximum", (before, now), INT),
            copy(self._kept, most, INT),
        ]

    def counted(self, statements: Sequence[Any]) -> list[Any]:
        """Statements that run again; what they record counts as what a plain loop records."""
        made: list[Any] = []
        before = self.used(made)
        made += statements
        after = self.used(made)
        words, total, more = (self._name(x) for x in ("words", "plain", "plain"))
        return [
            *made,
            operation(words, "subtract", (after, before), INT),
            copy(total, self._plain, INT),
            operation(more, "add", (total, words), INT),
            copy(self._plain, more, INT),
            *self.measured(),
        ]

    def split(self) -> list[Any]:
        """Statements that begin the record of a piece."""
        self.is_split = True
        return self.emptied()

    def freed_at_errors(self, body: Sequence[Any]) -> list[Any]:
        """The statements, which free it before they raise."""
        made: list[Any] = []
        for each in body:
            if isinstance(each, Raise):
                made += self.freed()
            each = with_inner(each, lambda body: tuple(self.freed_at_errors(body)))
            if isinstance(each, Spread) and any(isinstance(x, Raise) for x in walk([each])):
                each = replace(each, at_error=(*each.at_error, *self.freed()))
            made.append(each)
        return made

    def _pointers(self, made: list[Any]) -> tuple[str, str]:
        names = self._names.new("record.f"), self._names.new("record.i")
        made += [PointTo(name, self._tape, d) for name, d in zip(names, (DOUBLE, INT), strict=True)]
        return names

    def reserve(
        self, count: Operand, made: list[Any], rounds: Operand | None = None, is_last: bool = False
    ) -> Block:
        """A new block of so many words; for all rounds of the outermost loop, if they are given. No
        room is left behind the last one."""
        self.is_used = True
        base, room, lacks = self._name("base"), self._name("words"), self._name("lacks", BOOL)
        made += [
            copy(base, self._used, INT),
            operation(room, "add", (base, count), INT),
            copy(self._used, room, INT),
            operation(lacks, "greater", (room, self._capacity), BOOL, INT),
        ]
        needed, allowed = self._name("needed"), self._name("allowed")
        before, twice, more = (self._name(x) for x in ("capacity", "twice", "more"))
        most, less = self._name("most"), self._name("less")
        size, size_in_bytes, grown = (self._name(x) for x in ("size", "bytes", "grown"))
        exceeds, failed = self._name("exceeds", BOOL), self._name("failed", BOOL)
        refused = (
            noted(Fact.NEEDED, needed),
            noted(Fact.LOOP, literal(self.loop, INT)),
            noted(Fact.ROUNDS, rounds or literal(0, INT)),
            Raise("MemoryError", "no memory for the record of a reverse pass"),
        )
        made.append(If(lacks, (
            operation(needed, "multiply", (room, literal(8, INT)), INT),
            Call("allowed", (), (allowed,), (INT,)),
            operation(exceeds, "greater", (needed, allowed), BOOL, INT),
            If(exceeds, refused),
            copy(before, self._capacity, INT),
            operation(twice, "multiply", (before, literal(2, INT)), INT),
            operation(more, "maximum", (twice, literal(_LEAST, INT)), INT),
            operation(most, "right_shift", (allowed, literal(3, INT)), INT),
            operation(less, "minimum", (more, most), INT),
            copy(size, room, INT) if is_last else operation(size, "maximum", (room, less), INT),
            operation(size_in_bytes, "multiply", (size, literal(8, INT)), INT),
            Call("resized", (self._tape, size_in_bytes), (grown,), (INT,)),
            operation(failed, "equal", (grown, literal(0, INT)), BOOL, INT),
            If(failed, refused),
            copy(self._tape, grown, INT),
            copy(self._capacity, size, INT),
        )))  # fmt: skip
        return Block(*self._pointers(made), variable(base))

    def release(self, count: Operand, made: list[Any], rounds: Operand | None = None) -> Block:
        """The block of so many words that was reserved last."""
        base = self._name("base")
        made += [operation(base, "subtract", (self._used, count), INT),
                 copy(self._used, base, INT)]  # fmt: skip
        return Block(*self._pointers(made), variable(base))

    def without(self, rounds: Operand, width: int, statements: Sequence[Any]) -> list[Any]:
        """Statements that may release so many words for each round, which are free after them."""
        size, end = self._name("size"), self._name("end")
        return [
            operation(size, "multiply", (rounds, literal(width, INT)), INT),
            operation(end, "subtract", (self._used, size), INT),
            *statements,
            copy(self._used, end, INT),
        ]

    def used(self, made: list[Any]) -> str:
        """The number of words that are reserved."""
        made.append(copy(self._name("base"), self._used, INT))
        return made[-1].target

    def block(self, at: Affine, made: list[Any]) -> Block:
        """Words that are reserved, from a position on."""
        return Block(*self._pointers(made), at)

    def write(self, block: Block, i: int, value: Operand, dtype: np.dtype) -> list[Any]:
        """Write word i of a block."""
        wide = DOUBLE if dtype.kind == "f" else INT
        made: list[Any] = []
        if dtype != wide:
            made.append(copy(self._name("word", wide), value, wide))
            value = made[0].target
        buffer = block.floats if wide == DOUBLE else block.integers
        return [*made, Store(buffer, block.at.shifted(i), value, wide)]

    def read(self, block: Block, i: int, target: str, dtype: np.dtype) -> list[Any]:
        """`target` is word i of a block."""
        wide = DOUBLE if dtype.kind == "f" else INT
        buffer = block.floats if wide == DOUBLE else block.integers
        if dtype == wide:
            return [Load(target, buffer, block.at.shifted(i), wide)]
        word = self._name("word", wide)
        return [Load(word, buffer, block.at.shifted(i), wide), _narrow(target, word, dtype, wide)]


def _narrow(target: str, word: str, dtype: np.dtype, wide: np.dtype) -> Assign:
    if dtype == BOOL:
        return operation(target, "not_equal", (word, literal(0, INT)), BOOL, INT)
    return copy(target, word, dtype)
