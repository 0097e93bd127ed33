"""The loads and the scalar code that compute an element of a value.

`Elements` walks from a value through views, blocks, joins and maps to values with a buffer. Each
element is computed once and read by name. Subclasses define where statements are placed and how
long a name is valid. Nothing here recurses, as programs may be long.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ...ir import affine
from ...ir.affine import Affine, flat, span
from ...ir.sizes import require_least
from ...ir.statements import Assign, Literal, Load, Operand, Position, Statement
from ..lower.values import (
    Concat,
    Extent,
    Full,
    Index,
    Input,
    Iota,
    Map,
    Pad,
    Read,
    Reshape,
    Take,
    Value,
    View,
)
from ..schedule.materialize import BufferPolicy


class Access(NamedTuple):
    """One load or store of a value's buffer."""

    value: Value
    position: Affine
    store: bool


class Elements:
    """Computes elements of values, as statements of scalar code."""

    def __init__(self, policy: BufferPolicy):
        self.policy = policy
        self.accesses: list[Access] = []
        self.numbers: dict[Value, str] = {}
        self.level_of: dict[str, int] = {}
        self.lines: dict[str, None] = {}  # the user's, of what is computed

    # A loop nest and straight-line code each define these.

    def append(self, statement: Statement, level: int) -> None:
        """Put a statement inside of the first `level` loops."""
        raise NotImplementedError

    def memo(self, position: Sequence[Affine]) -> dict:
        """The names of elements that are known at a position, as long as the names are good."""
        raise NotImplementedError

    def number(self, value: Value) -> Operand:
        """A materialized scalar or an input: its name, or the constant that it is."""
        raise NotImplementedError

    def bounds(self, axis: int) -> tuple[int, int]:
        """From where to where a loop runs now."""
        raise NotImplementedError

    def level(self, position: Affine) -> int:
        """Inside how many loops a position is known."""
        raise NotImplementedError

    def fresh(self) -> str:
        """A new name."""
        raise NotImplementedError

    # Elements

    def element(self, value: Value, index: Index, inner: bool = False) -> Operand:
        """The name of an element, or its number; `inner` computes it where it would be read."""
        target = self._seen(value, index, inner)
        if not isinstance(target, Read):
            return target
        stack = [target]
        while stack:
            read = stack[-1]
            operands, missing = [], []
            for arg in self._operands_of(read):
                operand = self._seen(*arg)
                (missing if isinstance(operand, Read) else operands).append(operand)
            if missing:
                stack += missing[::-1]
                continue
            stack.pop()
            memo = self.memo(read.at)
            if read not in memo:
                memo[read] = self._computed(read, operands)
        return self.memo(target.at)[target]

    @staticmethod
    def _operands_of(read: Read) -> list[Read]:
        reads = read.value.reads(read.at)
        return reads[:-1] if isinstance(read.value, Take) else reads

    def _seen(self, value: Value, index: Index, inner: bool = False) -> Operand | Read:
        """An element through all that is layout: its name where that is known, else what has to be
        computed."""
        while True:
            if isinstance(value, (Full, Extent)):
                return Literal(value.number, value.dtype)
            if not inner and (isinstance(value, Input) or value in self.policy):
                return self.stored(value, flat(value.shape, index))
            if isinstance(value, (View, Reshape)):
                ((value, index),) = value.reads(index)
            elif isinstance(value, Pad):
                *around, block = value.reads(index)
                if self._inside(block):
                    value, index = block
                elif around:
                    ((value, index),) = around
                else:
                    return Literal(0.0 if value.dtype.kind == "f" else 0, value.dtype)
            elif isinstance(value, Concat):
                value, index = next(r for r in value.reads(index) if self._inside(r))
            else:
                read = Read(value, index)
                return self.memo(index).get(read, read)
            inner = False

    def stored(self, value: Value, position: Affine) -> Operand:
        """The element of a buffer."""
        if value.shape == ():
            return self.number(value)
        memo, key = self.memo([position]), (value, position)
        if key not in memo:
            memo[key] = self.load(value, position, position)
        return memo[key]

    def load(self, value: Value, position: Affine, place: Affine) -> str:
        """Load the element that lies at `place` of the buffer."""
        self.accessed(value, place, False)
        name = self.fresh()
        self.level_of[name] = level = self.level(position)
        self.append(Load(name, value, place, value.dtype), level)
        return name

    def accessed(self, value: Value, position: Affine, store: bool) -> None:
        self.accesses.append(Access(value, position, store))

    def _computed(self, read: Read, operands: Sequence[Operand]) -> Operand:
        value, index = read
        if value.line:
            self.lines[value.line] = None
        if isinstance(value, Map):
            kind = next((a.dtype for a in value.args if a.dtype.kind == "f"), value.dtype)
            name = self.fresh()
            levels = [self.level_of.get(x, 0) for x in operands if isinstance(x, str)]
            self.level_of[name] = level = max(levels, default=0)
            self.append(Assign(name, value.body, tuple(operands), value.dtype, kind), level)
            return name
        if isinstance(value, Iota):
            name, at = self.fresh(), index[value.axis]
            self.level_of[name] = level = self.level(at)
            self.append(Position(name, at), level)
            return name
        assert isinstance(value, Take), f"{value} cannot be computed where it is read"
        places = [place_of(x) for x in operands]
        element = self._seen(value.source, affine.take_index(value.axes, places, index))
        assert not isinstance(element, Read)
        return element

    def _inside(self, read: Read) -> bool:
        """Whether an index lies in an array, everywhere in the present loops."""
        for position, n in zip(read.at, read.value.shape, strict=True):
            ends = span(position, self.bounds)
            assert ends is not None, "blocks behind a gather have a buffer"
            low, high = ends
            if not position.terms:  # where loops run, their edges say it
                _require_decided(low, n)
            if high < 0 or low >= n:
                return False
            assert low >= 0 and high < n, "loops are split at the edges of blocks"
        return True


def _require_decided(at: int, n: int) -> None:
    """Have a position lie inside or outside of n elements as it does for large sizes."""
    if at < 0:
        require_least(-1, at)
    elif at >= n:
        require_least(at, n)
    else:
        require_least(at, 0)
        require_least(n, at + 1)


def place_of(x: Operand) -> Affine:
    """A position that was loaded, or is a constant."""
    return affine.variable(x) if isinstance(x, str) else Affine(int(x.number), ())
