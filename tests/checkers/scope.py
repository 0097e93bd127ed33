"""What is known at a statement of a kernel or a core, and what it may touch: for checks."""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from nbgrad.errors import TraceError
from nbgrad.ir.affine import Affine
from nbgrad.ir.core import Scratch
from nbgrad.ir.statements import Literal, Operand

Range = tuple[int, int]


class Room(NamedTuple):
    """The bytes from `low` to `high` that may be touched, counted from a pointer; where the pointer
    itself is not known, None stands in place of a Room."""

    low: int
    high: int


@dataclass
class Scope:
    """The names that are defined at a statement: their dtypes, ranges of loop variables and of
    integers (None for any), room behind buffers."""

    dtypes: dict[str, np.dtype] = field(default_factory=dict)
    ranges: dict[Hashable, Range | None] = field(default_factory=dict)
    rooms: dict[Hashable, Room | None] = field(default_factory=dict)

    def inside(self, variable: Hashable, bounds: Range) -> "Scope":
        """The scope of a loop: what it defines is gone after it."""
        return replace(self, dtypes=dict(self.dtypes), ranges={**self.ranges, variable: bounds})

    def define(self, name: str, dtype: np.dtype, bounds: Range | None = None) -> None:
        self.dtypes[name] = dtype
        self.ranges[name] = bounds

    def dtype_of(self, operand: Operand, user: object) -> np.dtype:
        if isinstance(operand, Literal):
            return operand.dtype
        require(operand in self.dtypes, f"{operand} is used before it is defined", user)
        return self.dtypes[operand]

    def range_of(self, at: Affine, user: object) -> Range | None:
        """The least and the largest value of a position; None where it is not known."""
        low = high = at.const
        known = True
        for name, step in at.terms:
            require(name in self.ranges, f"{name} is used before it is defined", user)
            bounds = self.ranges[name]
            if bounds is None:
                known = False
            else:
                ends = bounds[0] * step, bounds[1] * step
                low, high = low + min(ends), high + max(ends)
        return (low, high) if known else None

    def room(self, buffer: Hashable, user: object) -> Room | None:
        if isinstance(buffer, Scratch):
            return Room(0, buffer.size)
        require(buffer in self.rooms, f"{buffer} is no buffer of it", user)
        return self.rooms[buffer]

    def touch(
        self, buffer: Hashable, at: Affine, dtype: np.dtype, count: int, user: object
    ) -> None:
        """Require that `count` elements from a position on lie in a buffer."""
        room, bounds = self.room(buffer, user), self.range_of(at, user)
        if count and room is not None and bounds is not None:
            low, high = bounds[0] * dtype.itemsize, (bounds[1] + count) * dtype.itemsize
            told = f"bytes {low} to {high} of {buffer} lie outside of {tuple(room)}"
            require(room.low <= low and high <= room.high, told, user)


def require_dtype(operand: Operand, dtype: np.dtype, scope: Scope, user: object) -> None:
    actual = scope.dtype_of(operand, user)
    require(actual == dtype, f"{operand} is {actual}, not {dtype}", user)


def require(fits: bool, told: str, user: object) -> None:
    if not fits:
        raise TraceError(f"{user}: {told}")


__all__ = ["Range", "Room", "Scope", "require", "require_dtype"]
