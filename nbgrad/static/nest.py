"""The text of one loop nest.

A `Nest` writes the kernel of a group: loops, with each root's element pulled inside. A loop is
split where a pad or a join begins or ends, so that no branch stays inside.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any

import numpy as np

from . import affine
from .affine import Affine, flat
from .fuse import Group, kind_of, taken
from .pull import Line, Writer, initial, literal
from .roots import buffer_of
from .values import BOOL, Value, below_of, number_of, places_of

_JOIN = {"sum": "radd({0}, {1})", "prod": "{0} * {1}", "max": "highest({0}, {1})",
         "min": "lowest({0}, {1})"}  # fmt: skip


@dataclass
class Block:
    """Loops inside each other, with lines before and after each; `pre[i]` and `post[i]` are inside
    of the first i loops."""

    loops: list[tuple[int, int, int]]
    pre: list[list[Any]] = field(default_factory=list)
    post: list[list[Line]] = field(default_factory=list)
    parts: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self):
        self.pre = [[] for _ in range(len(self.loops) + 1)]
        self.post = [[] for _ in range(len(self.loops) + 1)]


def _join(kind: str, dtype: np.dtype) -> str:
    """How a reduction takes one more element in."""
    return "{0} + {1}" if kind == "sum" and dtype.kind != "f" else _JOIN[kind]


class Nest(Writer):
    """Writes the kernel of a group."""

    def __init__(self, group: Group, roots: set[Value], kept: "Kept", breaks: dict[int, set[int]]):
        super().__init__(roots)
        self.group, self.kept, self.breaks = group, kept, breaks
        self.domain = group.domain
        self.split = group.split if group.split is not None else 0
        self.results: list[Value] = []
        self.items = self._build()

    # -- building the tree of lines -------------------------------------------------------------

    def _build(self) -> list[Any]:
        members = self.group.members
        head: list[Any] = []
        self._totals: dict[Value, str] = {}
        for value in members:
            head += self._begin(value)
        if math.prod(self.domain) == 0:
            return head
        sweeps = sorted(set(self.group.sweeps.values()))
        body: list[Any] = []
        for box in self._boxes(range(self.split)):
            outer = Block([b for b in box if b[2] - b[1] > 1 or b[1] == b[2]])
            self._outer, self._box = outer, {axis: (a, b) for axis, a, b in box}
            self._outer_memo: dict[tuple, str] = {}
            for sweep in sweeps:
                self._sweep(sweep, [v for v in members if self.group.sweeps[v] == sweep])
            body.append(outer)
        return [*head, *body]

    def _boxes(self, axes: Sequence[int]) -> Iterator[list[tuple[int, int, int]]]:
        """The pieces of the loops over `axes`: (axis, start, stop)."""
        choices = []
        for axis in axes:
            edges = [0, *sorted(self.breaks.get(axis, ())), self.domain[axis]]
            choices.append([(axis, a, b) for a, b in pairwise(edges)])
        for box in product(*choices):
            yield list(box)

    def _begin(self, value: Value) -> list[Any]:
        """What is done before the loops: totals and sums begin at their neutral element."""
        if value.op == "scatter" or (value.op == "reduce" and kind_of(value)[0] == "lead"):
            if self.kept.is_update(value):
                return []
            kind = "sum" if value.op == "scatter" else value.data[0]
            block, each = Block([(-1, 0, value.size)]), affine.variable(-1)
            self._box = {-1: (0, value.size)}
            first = initial(kind, value.dtype)
            below = below_of(value) if value.op == "scatter" else None
            if below is not None:
                number = number_of(below)
                if number is None:
                    first = f"{self.access(buffer_of(below), each)}[{{0}}]"
                else:
                    first = literal(number, value.dtype)
            start = f"{self._pointer(value, each)}[{{0}}] = {first}"
            block.pre[1].append(Line(start, (each,)))
            return [block]
        if value.op == "reduce" and kind_of(value)[0] == "all":
            name = self._totals[value] = f"total{len(self._totals)}"
            self.results.append(value)
            return [Line(f"{name} = {initial(value.data[0], value.dtype)}")]
        return []

    def _sweep(self, sweep: int, members: list[Value]) -> None:
        self.sweep = sweep
        outer = self._outer
        rows = [v for v in members if v.op == "reduce" and kind_of(v)[0] == "row"]
        names = {v: self.fresh() for v in rows}
        for value, name in names.items():
            start = initial(value.data[0], value.dtype)
            outer.pre[-1].append(Line(f"{name} = {start}"))
        for box in self._boxes(range(self.split, len(self.domain))):
            inner = Block([b for b in box if b[2] - b[1] > 1])
            self._inner, self._inner_memo = inner, {}
            self._box |= {axis: (a, b) for axis, a, b in box}
            for value in members:
                self._member(value, names.get(value))
            outer.pre[-1].append(inner)
        self._inner = None
        index = tuple(self._at(axis) for axis in range(self.split))
        for value, name in names.items():
            position = flat(self.domain[: self.split], index)
            self.level_of[name] = len(outer.loops)
            self._outer_memo[(value, position)] = name
            if self.kept.has(value):
                outer.pre[-1].append(
                    Line(f"{self._pointer(value, position)}[{{0}}] = {name}", (position,))
                )

    _inner: Block | None = None

    def _at(self, axis: int) -> Affine:
        start, stop = self._box[axis]
        return Affine(start, ()) if stop - start == 1 else affine.variable(axis)

    def _member(self, value: Value, row: str | None) -> None:
        index = tuple(self._at(axis) for axis in range(len(self.domain)))
        inner = self._inner
        assert inner is not None
        if value.op == "reduce":
            name = self.element(value.args[0], index)
            kind, (form, axes) = value.data[0], kind_of(value)
            if form == "lead":
                position = flat(value.shape, index[axes:])
                pointer = self._pointer(value, position)
                sum_ = _join(kind, value.dtype).format(f"{pointer}[{{0}}]", name)
                inner.pre[-1].append(Line(f"{pointer}[{{0}}] = {sum_}", (position,), value.line))
                return
            total = row or self._totals[value]
            join = _join(kind, value.dtype)
            if kind != "sum" or not inner.loops or value.dtype.kind != "f":
                line = Line(f"{total} = {join.format(total, name)}", (), value.line)
                inner.pre[-1].append(line)
                return
            part = f"{total}_part"
            inner.pre[-2].append(Line(f"{part} = {initial('sum', value.dtype)}"))
            inner.pre[-1].append(Line(f"{part} = radd({part}, {name})", (), value.line))
            inner.post[-2].append(Line(f"{total} += {part}"))
            inner.parts.append((part, total))
            return
        if value.op == "scatter":
            axes, place, joint, adds = value.data
            at = index[place : place + joint]
            dynamic = [affine.variable(self.element(a, at)) for a in places_of(value)]
            name = self.element(value.args[0], index)
            position = flat(value.shape, taken(axes, dynamic, index))
            pointer = self._pointer(value, position)
            sum_ = f"{pointer}[{{0}}] + {name}" if adds else name
            text = f"{pointer}[{{0}}] = {sum_}"
            inner.pre[-1].append(Line(text, (position,), value.line))
            return
        name = self.element(value, index, inner=True)
        position = self.kept.position(value, index, self.domain, self.split)
        whole = flat(self.domain, index)
        self.remember((value, whole), name, len(self._outer.loops) + len(inner.loops))
        if self.kept.has(value):
            pointer = self._pointer(value, position)
            inner.pre[-1].append(Line(f"{pointer}[{{0}}] = {name}", (position,), value.line))

    def _pointer(self, value: Value, position: Affine) -> str:
        return self.access(value, position, store=True)

    # -- what Writer asks for -------------------------------------------------------------------

    def append(self, line: Line, level: int) -> None:
        depth = len(self._outer.loops)
        if level < depth or self._inner is None or (level == depth and self.split):
            self._outer.pre[min(level, depth)].append(line)
        else:
            self._inner.pre[level - depth].append(line)

    def known(self, key: tuple) -> str | None:
        return self._inner_memo.get(key) or self._outer_memo.get(key)

    def remember(self, key: tuple, name: str, level: int) -> None:
        # A name holds for the loops that its index speaks of: what is the same for each element of
        # an inner loop, as zeros of a pad are, is so in this piece of the loop and in no other.
        _, index = key
        parts = (index,) if isinstance(index, Affine) else index
        inside = any(axis >= self.split for part in parts for axis in part.axes())
        depth = len(self._outer.loops)
        outer = level < depth or (level == depth and self.split)
        memo = self._outer_memo if outer and not inside else self._inner_memo
        memo[key] = name

    def scalar(self, value: Value) -> str:
        return self.scalars.setdefault(value, f"s{len(self.scalars)}")

    def bounds(self, axis: int) -> tuple[int, int]:
        return self._box[axis]

    def level(self, position: Affine) -> int:
        found = 0
        outer = [axis for axis, _, _ in self._outer.loops]
        inner = [axis for axis, _, _ in self._inner.loops] if self._inner else []
        places = {axis: i + 1 for i, axis in enumerate([*outer, *inner])}
        for name, _ in position.terms:
            found = max(
                found, places[name] if isinstance(name, int) else self.level_of.get(name, 0)
            )
        return found

    def _stored(self, value: Value, position: Affine) -> str:
        # What this sweep has just computed needs no load; a row buffer is read at its own place.
        if value.shape != () and value in self.group.sweeps and value.op != "reduce":
            name = self.known((value, position))
            if name is not None:
                return name
            index = tuple(self._at(axis) for axis in range(len(self.domain)))
            here = self.kept.position(value, index, self.domain, self.split)
            text = f"{self.access(value, here)}[{{0}}]"
            text += " != 0" if value.dtype == BOOL else ""
            # Not before the loops in which it is written, though a row buffer's place is the same.
            level = max(self.level(here), len(self._outer.loops))
            name = self.let(text, level, value, (here,))
            self.remember((value, position), name, self.level_of[name])
            return name
        return super()._stored(value, position)


class Kept:
    """Which roots of a program have a buffer, and of what form; all, before anything is known."""

    def __init__(self, dropped: Iterable[Value] = (), rows: Iterable[Value] = ()):
        self.dropped, self.rows = set(dropped), set(rows)
        self.updates: set[Value] = set()

    def is_update(self, value: Value) -> bool:
        """Whether a value lies where its old value lay."""
        return value in self.updates

    def has(self, value: Value) -> bool:
        return value not in self.dropped

    def position(self, value: Value, index, domain, split) -> Affine:
        """Where an element of a member of a group lies in its buffer."""
        if value in self.rows:
            return flat(domain[split:], index[split:])
        return flat(domain, index)

    def size(self, value: Value, split: int) -> int:
        return math.prod(value.shape[split:]) if value in self.rows else value.size
