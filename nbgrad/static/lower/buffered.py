"""The kinds of values that always have a buffer, as their elements are not computed one by one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir.reductions import Reduction
from .values import Map, Value


@dataclass(frozen=True, eq=False, repr=False)
class Scatter(Value):
    """The elements of a block added to zeros, added to an array, or written over an array (`adds`
    is false), at positions as those of Take. Arguments: block, positions, array where there is
    one."""

    axes: tuple[Any, ...]
    place: int
    joint: int
    adds: bool
    buffered = True

    @property
    def block(self) -> Value:
        return self.args[0]

    @property
    def positions(self) -> tuple[Value, ...]:
        return self.args[1 : 1 + sum(isinstance(axis, int) for axis in self.axes)]

    @property
    def below(self) -> Value | None:
        """The array that is added to or written over; None for zeros."""
        rest = self.args[1 + len(self.positions) :]
        return rest[0] if rest else None

    def fits(self):
        below = self.below
        joint = self.block.shape[self.place : self.place + self.joint]
        lies = all(a.shape == joint for a in self.positions)
        same = below is None or (below.shape, below.dtype) == (self.shape, self.dtype)
        return (
            lies and same and len(self.axes) == len(self.shape) and self.dtype == self.block.dtype
        )


@dataclass(frozen=True, eq=False, repr=False)
class Held(Map):
    """A copy of a value that is overwritten later."""

    buffered = True


@dataclass(frozen=True, eq=False, repr=False)
class Reduce(Value):
    """A reduction over axes, which are removed: the first ones, the last ones, or all."""

    kind: Reduction
    axes: tuple[int, ...]
    buffered = True

    @property
    def source(self) -> Value:
        return self.args[0]

    @property
    def is_total(self) -> bool:
        """Whether all axes are reduced."""
        return len(self.axes) == len(self.source.shape)

    @property
    def is_row(self) -> bool:
        """Whether the last axes are reduced, and others remain."""
        return not self.is_total and self.axes[-1] == len(self.source.shape) - 1

    def fits(self):
        remaining = tuple(n for i, n in enumerate(self.source.shape) if i not in self.axes)
        return self.shape == remaining and self.dtype == self.source.dtype


@dataclass(frozen=True, eq=False, repr=False)
class Matmul(Value):
    """Products of matrices; the leading axes are equal, or missing in one argument."""

    buffered = True

    def fits(self):
        a, b = self.args
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        fits = a.shape[-1] == b.shape[-2] and a.dtype == b.dtype == self.dtype
        return fits and self.shape == (*lead, a.shape[-2], b.shape[-1]) and self.size > 0


@dataclass(frozen=True, eq=False, repr=False)
class DeviceCall(Value):
    """The device function `function(args..., result, sizes...)` on pointers."""

    function: Callable
    sizes: tuple[int, ...]
    buffered = True


@dataclass(frozen=True, eq=False, repr=False)
class Nested(Value):
    """A loop or a choice, which runs programs of its own; its results are Items."""

    buffered = True


@dataclass(frozen=True, eq=False, repr=False)
class Scan(Nested):
    """A step that is repeated, a `LoweredStep`."""

    step: Any


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Nested):
    """One of two `LoweredSide`s: the first where the first argument is true."""

    sides: tuple[Any, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Item(Value):
    """One result of a loop or a choice, or room that it needs; `key` says which."""

    key: tuple[str, int]
    buffered = True

    @property
    def nested(self) -> Value:
        return self.args[0]
