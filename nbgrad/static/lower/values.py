"""Values of a lowered program that can be computed by the statements that read them. The kinds that
always have a buffer are in `buffered.py`.

Each kind defines how the element at an index is computed from elements of its arguments (`reads`),
whether it always has a buffer (`buffered`), and whether shape and dtype are consistent with the
arguments (`fits`). Values are compared by identity.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeGuard

import numpy as np

from ...errors import ArgumentTypeError
from ...ir import affine
from ...ir.affine import Affine, Axis
from ...ir.functions import Constant
from ...ir.scalar import Expr
from ...rules.dtypes import BOOL, INT

__all__ = ["BOOL", "INT"]

Index = tuple[Affine, ...]


class Read(NamedTuple):
    """An element of an argument, from which another element is computed."""

    value: "Value"
    at: Index


@dataclass(frozen=True, eq=False, repr=False)
class Value:
    """One array of the program. `line` is the user's line that it comes from."""

    shape: tuple[int, ...]
    dtype: np.dtype
    args: tuple["Value", ...]
    line: str
    buffered: ClassVar[bool] = False

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def price(self) -> int:
        """About how many arithmetic operations one element takes, given its arguments."""
        return 1

    def reads(self, index: Index) -> list[Read]:
        """The elements that the one at `index` is computed from; values with a buffer have none."""
        raise ArgumentTypeError(f"{self} has a buffer")

    def fits(self) -> bool:
        """Whether shape and dtype follow from the arguments."""
        return True

    def __repr__(self):
        return f"<{type(self).__name__.lower()} {self.dtype}{list(self.shape)}>"


@dataclass(frozen=True, eq=False, repr=False)
class Leaf(Value):
    """A value without arguments, of price 0."""

    @property
    def price(self) -> int:
        return 0

    def reads(self, index: Index) -> list[Read]:
        return []


@dataclass(frozen=True, eq=False, repr=False)
class Input(Leaf):
    """The argument of the program at a position."""

    position: int


@dataclass(frozen=True, eq=False, repr=False)
class Full(Leaf):
    """One number everywhere."""

    number: Constant


@dataclass(frozen=True, eq=False, repr=False)
class Extent(Leaf):
    """A size that is known at run time, as a number."""

    number: int


@dataclass(frozen=True, eq=False, repr=False)
class Iota(Leaf):
    """The position along an axis."""

    axis: int


@dataclass(frozen=True, eq=False, repr=False)
class Map(Value):
    """Scalar code over the elements of arguments that broadcast."""

    body: Expr

    @property
    def price(self) -> int:
        return self.body.price

    def reads(self, index):
        return [Read(a, _of_broadcast(a.shape, index)) for a in self.args]

    def fits(self):
        return np.broadcast_shapes(self.shape, *(a.shape for a in self.args)) == self.shape


def _of_broadcast(shape: tuple[int, ...], index: Index) -> Index:
    lost = len(index) - len(shape)
    return tuple([affine.ZERO if n == 1 else index[i + lost] for i, n in enumerate(shape)])


@dataclass(frozen=True, eq=False, repr=False)
class View(Value):
    """Slices, transposes, broadcasts, flips, new and dropped axes, diagonals: each axis of the
    source is an affine function of one axis of the result, or one position."""

    axes: tuple[Axis, ...]

    @property
    def source(self) -> Value:
        return self.args[0]

    def reads(self, index):
        return [Read(self.source, affine.view_index(self.axes, index))]

    def fits(self):
        if len(self.axes) != len(self.source.shape) or self.dtype != self.source.dtype:
            return False
        for (out, start, step), n in zip(self.axes, self.source.shape, strict=True):
            last = start if out is None else start + step * (self.shape[out] - 1)
            if self.size and not (0 <= start < n and 0 <= last < n):
                return False
        return True


@dataclass(frozen=True, eq=False, repr=False)
class Reshape(Value):
    """The elements of the source, in their order, in another shape; the source has a buffer."""

    @property
    def source(self) -> Value:
        return self.args[0]

    def reads(self, index):
        # An index that lies at the same place of the buffer.
        place = affine.flat(self.shape, index)
        return [Read(self.source, (*(affine.ZERO for _ in self.source.shape[1:]), place))]

    def fits(self):
        return self.size == self.source.size and self.dtype == self.source.dtype


@dataclass(frozen=True, eq=False, repr=False)
class Pad(Value):
    """A block at `starts` in zeros."""

    starts: tuple[int, ...]

    @property
    def block(self) -> Value:
        return self.args[-1]

    def reads(self, index):
        return [Read(self.block, _shifted(index, self.starts))]

    def fits(self):
        ends = zip(self.starts, self.block.shape, self.shape, strict=True)
        return self.dtype == self.block.dtype and all(0 <= s and s + n <= m for s, n, m in ends)


@dataclass(frozen=True, eq=False, repr=False)
class Inset(Pad):
    """A block at `starts` in another array, which is the first argument."""

    def reads(self, index):
        return [Read(self.args[0], index), Read(self.block, _shifted(index, self.starts))]

    def fits(self):
        below = self.args[0]
        return (below.shape, below.dtype) == (self.shape, self.dtype) and super().fits()


def _shifted(index: Index, starts: Sequence[int]) -> Index:
    return tuple(i.shifted(-s) for i, s in zip(index, starts, strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class Concat(Value):
    """Arrays one after another along an axis."""

    axis: int

    def reads(self, index):
        reads, start = [], 0
        for arg in self.args:
            inner = [i.shifted(-start) if a == self.axis else i for a, i in enumerate(index)]
            reads.append(Read(arg, tuple(inner)))
            start += arg.shape[self.axis]
        return reads

    def fits(self):
        total = sum(a.shape[self.axis] for a in self.args)
        return total == self.shape[self.axis] and all(a.dtype == self.dtype for a in self.args)


@dataclass(frozen=True, eq=False, repr=False)
class Take(Value):
    """Elements of the first argument at positions that the others hold, arrays of integers.

    `axes` has for each axis of the source an Axis, or the number of an array of positions; those
    arrays have `joint` axes, from axis `place` of the result on.
    """

    axes: tuple[Any, ...]
    place: int
    joint: int

    @property
    def source(self) -> Value:
        return self.args[0]

    @property
    def positions(self) -> tuple[Value, ...]:
        return self.args[1:]

    def reads(self, index):
        at = index[self.place : self.place + self.joint]
        unknown = [affine.variable(f"?{id(arg)}") for arg in self.positions]
        arrays = [Read(arg, at) for arg in self.positions]
        return [*arrays, Read(self.source, affine.take_index(self.axes, unknown, index))]

    def fits(self):
        lies = all(
            a.shape == self.shape[self.place : self.place + self.joint] for a in self.positions
        )
        return lies and len(self.axes) == len(self.source.shape) and self.dtype == self.source.dtype


def number_of(value: Value) -> Constant | None:
    """The number of a Full, else None."""
    return value.number if isinstance(value, Full) else None


def is_finite(value: Value) -> TypeGuard[Full]:
    """Whether it is a Full of a finite number."""
    return isinstance(value, Full) and math.isfinite(value.number)


def is_map(value: Value, body: Expr) -> TypeGuard[Map]:
    """Whether it is a Map of this body."""
    return isinstance(value, Map) and value.body is body


def topological(outputs: Iterable[Value]) -> list[Value]:
    """The values that `outputs` need, each after its arguments."""
    order: list[Value] = []
    seen: set[int] = set()
    stack = [(value, False) for value in list(outputs)[::-1]]
    while stack:
        value, done = stack.pop()
        if done:
            order.append(value)
        elif id(value) not in seen:
            seen.add(id(value))
            stack.append((value, True))
            for arg in reversed(value.args):
                stack.append((arg, False))
    return order
