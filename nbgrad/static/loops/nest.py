"""The statements of one loop nest.

A `Nest` computes the members of a group: loops, with the elements of each member inside. Loops are
split where a block begins or ends, so that no branch stays inside.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise, product

from ...compiler.forks import with_open_properties
from ...ir import affine
from ...ir.affine import Affine, flat
from ...ir.reductions import SUM
from ...ir.sizes import require_least
from ...ir.statements import Accumulate, For, Literal, Operand, Statement, Store, Variable
from ...ir.walk import is_ranged, walk
from ..lower.buffered import Reduce, Scatter
from ..lower.values import Full, Value
from ..schedule.buffers import buffer_of
from ..schedule.fuse import FusionGroup
from ..schedule.materialize import BufferPolicy
from .block import EACH, Block
from .elements import Elements, place_of
from .pieces import Bounds, Cut, cuts_of


@with_open_properties
class Nest(Elements):
    """The statements of a group, over values in place of buffers: `begun` is what is done before
    the loops of `body`. `totals` are the names of sums over everything, which it returns."""

    def __init__(self, group: FusionGroup, policy: BufferPolicy, written: int | None = None):
        super().__init__(policy)
        self.group = group
        self.domain = group.domain
        self.is_written_out = written is not None  # the axes from `written` on are
        self.split = written or group.split or 0
        self.totals: dict[Value, str] = {}
        self.begun: dict[Value, list[Statement]] = {}
        self._count = 0
        self._outer = self._inner = Block([])
        self._box: dict[int, tuple[int, int]] = {}
        self._outer_memo: dict = {}
        self._inner_memo: dict = {}
        self.body: list[Statement] = self._built()

    @cached_property
    def is_ranged(self) -> bool:
        """Whether the loops may run twice: with functions for arguments near 0, and for any."""
        return any(map(is_ranged, walk(self.body)))

    @property
    def is_nested(self) -> bool:
        """Whether there are loops inside of loops: those that run over consecutive elements are
        one."""
        outer = (each for each in self.body if isinstance(each, For))
        return any(isinstance(each, For) for loop in outer for each in walk(loop.body))

    @cached_property
    def cuts(self) -> dict[Bounds, Cut]:
        """The long loops that run in pieces."""
        begun = [statement for body in self.begun.values() for statement in body]
        return cuts_of([*begun, *self.body])

    @property
    def row(self) -> int:
        """The elements of a row."""
        return math.prod(self.domain[self.split :])

    @cached_property
    def rows(self) -> int:
        """How many rows are being computed at once: each piece has one of its own."""
        counts = (cut.count for (axis, _, _), cut in self.cuts.items() if axis < self.split)
        return max(counts, default=1)

    @property
    def sums(self) -> list[Value]:
        """The buffers for sums of pieces."""
        return [buffer for cut in self.cuts.values() for buffer in cut.sums.values()]

    # -- building the loops ---------------------------------------------------------------------

    def _built(self) -> list[Statement]:
        members = self.group.members
        body: list[Statement] = []
        for value in members:
            self.begun[value] = self._begun(value)
        if math.prod(self.domain) == 0:
            return body
        for box in self._boxes(range(self.split)):
            outer = Block([b for b in box if b[2] - b[1] > 1])
            self._outer, self._box = outer, {axis: (a, b) for axis, a, b in box}
            self._outer_memo = {}
            for sweep in sorted(set(self.group.sweeps.values())):
                self._swept([v for v in members if self.group.sweeps[v] == sweep])
            body += outer.closed()
        return body

    def _boxes(self, axes: Sequence[int]) -> Iterator[list[tuple[int, int, int]]]:
        """The pieces of the loops over `axes`: (axis, start, stop)."""
        choices = []
        for axis in axes:
            inside = sorted(self.group.edges.get(axis, ()))
            if self.is_written_out and axis >= self.split:
                inside = range(1, self.domain[axis])
            ends = [*pairwise([0, *inside, self.domain[axis]])]
            for a, b in ends:
                require_least(b, a)
            choices.append([(axis, a, b) for a, b in ends])
        for box in product(*choices):
            yield list(box)

    def _begun(self, value: Value) -> list[Statement]:
        """The statements before the loops: totals and sums begin at their neutral element."""
        is_reduce = isinstance(value, Reduce)
        if isinstance(value, Scatter) or (is_reduce and not value.is_row and not value.is_total):
            each = affine.variable(EACH)
            self._box = {EACH: (0, value.size)}
            self._inner = block = Block([(EACH, 0, value.size)])
            self._inner_memo = {}
            below = value.below if isinstance(value, Scatter) else None
            first: Operand = Literal((value.kind if is_reduce else SUM).neutral(value.dtype),
                                     value.dtype)  # fmt: skip
            if isinstance(below, Full):
                first = Literal(below.number, value.dtype)
            elif below is not None:
                first = self.stored(buffer_of(below), each)
            self._store(value, each, first, None)
            return block.closed()
        if is_reduce and value.is_total:
            name = self.totals[value] = f"total{len(self.totals)}"
            return [Variable(name, Literal(value.kind.neutral(value.dtype), value.dtype))]
        return []

    def _swept(self, members: list[Value]) -> None:
        outer = self._outer
        names: dict[Value, str] = {}
        for value in members:
            if isinstance(value, Reduce) and value.is_row:
                names[value] = self.fresh()
                start = Literal(value.kind.neutral(value.dtype), value.dtype)
                outer.before[-1].append(Variable(names[value], start))
        for box in self._boxes(range(self.split, len(self.domain))):
            self._inner = inner = Block([b for b in box if b[2] - b[1] > 1])
            self._inner_memo = {}
            self._box |= {axis: (a, b) for axis, a, b in box}
            for value in members:
                self._member(value, names.get(value))
            outer.before[-1] += inner.closed()
        self._inner = Block([])
        index = tuple(self._at(axis) for axis in range(self.split))
        for value, name in names.items():
            position = flat(self.domain[: self.split], index)
            self.level_of[name] = len(outer.loops)
            self._outer_memo[value, position] = name
            self.accessed(value, position, True)
            outer.before[-1].append(Store(value, position, name, value.dtype))

    def _at(self, axis: int) -> Affine:
        start, stop = self._box[axis]
        return Affine(start, ()) if stop - start == 1 else affine.variable(axis)

    def _member(self, value: Value, row: str | None) -> None:
        """One member at the place of the loops."""
        if value.line:
            self.lines[value.line] = None
        index = tuple(self._at(axis) for axis in range(len(self.domain)))
        if isinstance(value, Reduce):
            self._reduced(value, row, self.element(value.source, index), index)
        elif isinstance(value, Scatter):
            at = index[value.place : value.place + value.joint]
            places = [self.element(array, at) for array in value.positions]
            element = self.element(value.block, index)
            position = flat(
                value.shape, affine.take_index(value.axes, map(place_of, places), index)
            )
            self._store(value, position, element, SUM if value.adds else None)
        else:
            element = self.element(value, index, inner=True)
            position = flat(self.domain, index)
            self.memo([position])[value, position] = element
            self._store(value, position, element, None)

    def _reduced(self, value: Reduce, row: str | None, element: Operand, index) -> None:
        inner, dtype = self._inner, value.dtype
        loose = dtype.kind == "f"
        if value.kind is SUM and isinstance(element, Literal) and not element.number:
            return  # of the zeros around a block
        total = row or self.totals.get(value)
        around = self._outer if self.is_written_out and not row else inner
        if total is None:
            position = flat(value.shape, index[len(value.axes) :])
            self._store(value, position, element, value.kind, loose)
        elif value.kind is SUM and loose and around.loops:
            part = f"{total}_part"
            if part not in around.parts:
                around.before[-2].append(Variable(part, Literal(0.0, dtype)))
                around.after[-2].append(Accumulate(total, SUM, part, dtype))
                around.parts.add(part)
            inner.before[-1].append(Accumulate(part, SUM, element, dtype, loose=True))
        else:
            inner.before[-1].append(Accumulate(total, value.kind, element, dtype, loose))

    def _store(self, value, position, element: Operand, kind, loose: bool = False) -> None:
        self.accessed(value, position, True)
        store = Store(value, position, element, value.dtype, kind, loose)
        self._inner.before[-1].append(store)

    # -- what Elements asks for -------------------------------------------------------------------

    def fresh(self) -> str:
        self._count += 1
        return f"v{self._count - 1}"

    def append(self, statement: Statement, level: int) -> None:
        depth = len(self._outer.loops)
        if level <= depth and self.split:
            self._outer.before[level].append(statement)
        else:
            self._inner.before[max(level - depth, 0)].append(statement)

    def memo(self, position: Sequence[Affine]) -> dict:
        """The names that hold in all of the outer loops, or in this box of the inner ones."""
        outer = self.split and all(
            self.level_of.get(name, 0) <= len(self._outer.loops) if isinstance(name, str)
            else name < self.split
            for each in position for name, _ in each.terms
        )  # fmt: skip
        return self._outer_memo if outer else self._inner_memo

    def number(self, value: Value) -> str:
        return self.numbers.setdefault(value, f"s{len(self.numbers)}")

    def bounds(self, axis: int) -> tuple[int, int]:
        return self._box[axis]

    def level(self, position: Affine) -> int:
        loops = [*self._outer.loops, *self._inner.loops]
        places = {axis: i + 1 for i, (axis, _, _) in enumerate(loops)}
        return max(
            (places[name] if isinstance(name, int) else self.level_of.get(name, 0)
             for name, _ in position.terms),
            default=0,
        )  # fmt: skip
