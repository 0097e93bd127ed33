"""The record of a reverse pass: a stack of words of 8 bytes that grows.

A block of words is reserved before it is written, and released where the reverse pass has read it.
A loop whose number of rounds is known, with all inside, has one block; a round has `width` words.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..ir.affine import Affine, variable
from ..ir.spread import Spread
from ..ir.statements import Assign, Call, If, Load, Operand, PointTo, Raise, Store, Variable
from ..ir.walk import walk, with_inner
from .build import BOOL, DOUBLE, INT, Names, copy, literal, operation

__all__ = ["Block", "Record"]

_LEAST = 1024  # words


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

    def __init__(self, names: Names, dtypes: dict[str, np.dtype], function: str):
        self._names, self._dtypes = names, dtypes
        self._lack = (
            f"the record of the reverse pass of {function} does not fit into the memory of this "
            "machine: loop over nbgrad.steps(n), which keeps few states"
        )
        self._tape, self._used = self._name("record"), self._name("used")
        self._capacity = self._name("capacity")
        self.is_used = False

    def _name(self, hint: str, dtype: np.dtype = INT) -> str:
        name = self._names.new(hint)
        self._dtypes[name] = dtype
        return name

    def declared(self) -> list[Variable]:
        """Its variables."""
        names = (self._tape, self._used, self._capacity) if self.is_used else ()
        return [Variable(name, literal(0, INT), INT) for name in names]

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

    def reserve(self, count: Operand, made: list[Any]) -> Block:
        """A new block of so many words."""
        self.is_used = True
        base, room, lacks = self._name("base"), self._name("words"), self._name("lacks", BOOL)
        made += [
            copy(base, self._used, INT),
            operation(room, "add", (base, count), INT),
            copy(self._used, room, INT),
            operation(lacks, "greater", (room, self._capacity), BOOL, INT),
        ]
        twice, size, size_in_bytes = (self._name(x) for x in ("twice", "size", "bytes"))
        grown, failed = self._name("grown"), self._name("failed", BOOL)
        made.append(If(lacks, (
            operation(twice, "multiply", (room, literal(2, INT)), INT),
            operation(size, "add", (twice, literal(_LEAST, INT)), INT),
            operation(size_in_bytes, "multiply", (size, literal(8, INT)), INT),
            Call("resized", (self._tape, size_in_bytes), (grown,), (INT,)),
            operation(failed, "equal", (grown, literal(0, INT)), BOOL, INT),
            If(failed, (Raise("MemoryError", self._lack),)),
            copy(self._tape, grown, INT),
            copy(self._capacity, size, INT),
        )))  # fmt: skip
        return Block(*self._pointers(made), variable(base))

    def release(self, count: Operand, made: list[Any]) -> Block:
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
