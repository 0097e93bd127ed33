"""Whether a plan is sound, its memory and its cores: for tests of what makes them."""

from collections.abc import Hashable, Iterator
from itertools import combinations

from checkers.kernels import check_core
from nbgrad.errors import TraceError
from nbgrad.ir.core import Core
from nbgrad.ir.walk import is_ranged, walk
from nbgrad.static.loops.in_place import loop_below
from nbgrad.static.loops.memory import (
    ArgumentBuffer,
    ResultBuffer,
    Scratch,
    Storage,
    bytes_of,
    step_buffers,
    step_reads,
)
from nbgrad.static.loops.nest import Nest
from nbgrad.static.loops.plan import LoopPlan
from nbgrad.static.lower.buffered import Item, Reduce, Scatter
from nbgrad.static.lower.values import Value
from nbgrad.static.schedule.fuse import FusionGroup, Single


def check_loops(core: Core, plan: LoopPlan) -> None:
    """Raise TraceError where a core of a plan is not sound: see `ir.check`."""
    sizes: dict[Hashable, int] = {}
    sizes |= {
        ArgumentBuffer(i): v.size * bytes_of(v) for i, v in enumerate(plan.graph.inputs) if v.shape
    }
    sizes |= {ResultBuffer(i): v.size * bytes_of(v) for i, v in enumerate(plan.outputs) if v.shape}
    dtypes = {f"x{i}": v.dtype for i, v in enumerate(plan.graph.inputs) if not v.shape}
    check_core(core, sizes, dtypes)


def check_memory(plan: LoopPlan) -> None:
    """Raise TraceError where two values that are needed at one time share memory, where a value
    without a buffer is read, or where an argument or a result is written that should not be."""
    _Checker(plan).check()
    for step in plan.schedule.steps:
        for inner in step.inner if isinstance(step, Single) else ():
            check_memory(inner)


class _Checker:
    def __init__(self, plan: LoopPlan):
        self.plan, self.memory = plan, plan.memory
        self.steps = plan.schedule.steps
        self.reads = step_reads(plan.schedule, plan.nests)
        self.first: dict[Value, int] = {}
        for at, step in enumerate(self.steps):
            self.first.update(dict.fromkeys(step_buffers(step, plan.nests, self.memory), at))
        self.last = dict(self.first)
        for at, values in enumerate(self.reads):
            self.last.update(dict.fromkeys(values, at))
        end = len(self.steps)
        self.last.update(dict.fromkeys(plan.outputs, end))

    def check(self) -> None:
        memory = self.memory
        for at, values in enumerate(self.reads):
            for value in values:
                self._require(value not in memory.dropped, f"{value} has no buffer and is read")
                here = self.first.get(value) == at
                self._require(value not in memory.rows or here, f"one row of {value} is read later")
        for value in self.first:
            place = memory.storage(value)
            if isinstance(place, ArgumentBuffer):
                self._require(value in memory.updates, f"{value} is written over an argument")
            if isinstance(place, Scratch):
                fits = 0 <= place.offset and place.offset + place.size <= memory.size
                self._require(fits, f"{value} goes beyond the scratch")
                room = self._bytes(value)
                self._require(room <= place.size, f"{value} of {room} bytes has {place.size}")
        self._require(sorted([*memory.written, *memory.copies, *self._updated()])
                      == [i for i, v in enumerate(self.plan.outputs) if v.shape],
                      "an output is neither written nor copied, or is so twice")  # fmt: skip
        alive = [v for v in {**self.first, **self.last} if v in memory.places and v.size]
        for one, other in self._sharing(alive):
            if not self._may_share(one, other):
                raise TraceError(f"{one} and {other} lie in one place while both are needed")

    def _updated(self) -> list[int]:
        """The outputs that lie where an argument does."""
        written = {*self.memory.written, *self.memory.copies}
        return [i for i in self.memory.updated if i not in written]

    def _bytes(self, value: Value) -> int:
        size = value.size
        if value in self.memory.rows:
            step = self.steps[self.first[value]]
            assert isinstance(step, FusionGroup)
            size = self.plan.nests[step].row * self.plan.nests[step].rows
        return size * bytes_of(value)

    def _sharing(self, values: list[Value]) -> Iterator[tuple[Value, Value]]:
        """The pairs of values that lie in one place, in part or as a whole."""
        whole: dict[Storage, list[Value]] = {}
        parts: list[tuple[int, int, Value]] = []
        for value in values:
            place = self.memory.storage(value)
            if isinstance(place, Scratch):
                parts.append((place.offset, place.offset + place.size, value))
            else:
                whole.setdefault(place, []).append(value)
        for group in whole.values():
            yield from combinations(group, 2)
        parts.sort(key=lambda part: part[0])
        for i, (_, stop, one) in enumerate(parts):
            for start, _, other in parts[i + 1 :]:
                if start >= stop:
                    break
                yield one, other

    def _may_share(self, one: Value, other: Value) -> bool:
        """Whether the earlier of two values is not needed any more where the other is written."""
        begin = {v: self.first.get(v, -1) for v in (one, other)}
        if begin[one] == begin[other]:
            # One nest makes both: the later must be written where the other was read last.
            return self._replaces(one, other) or self._replaces(other, one)
        new, old = (one, other) if begin[one] > begin[other] else (other, one)
        if self.last[old] < begin[new]:
            return True
        return self.last[old] == begin[new] and self._replaces(new, old)

    def _replaces(self, new: Value, old: Value) -> bool:
        """Whether, in the nest that makes `new`, each element of `old` is read for the last time
        before the element of `new` at its place is written."""
        step = self.steps[self.first[new]] if new in self.first else None
        if isinstance(new, Item) and isinstance(step, Single) and new in self.memory.updates:
            return loop_below(self.plan.schedule, step, new) is old
        if not isinstance(step, FusionGroup):
            return False
        nest = self.plan.nests[step]
        if isinstance(new, Scatter):
            return new.below is old and new in self.memory.updates and _count(nest, old) == 1
        if isinstance(new, Reduce) or any(map(is_ranged, walk(nest.body))):
            return False
        stores = [
            (i, a.position) for i, a in enumerate(nest.accesses) if a.store and a.value is new
        ]
        loads = [(i, a.position) for i, a in enumerate(nest.accesses)
                 if a.value is old and not a.store]  # fmt: skip
        (at, position), *rest = stores
        return not rest and all(i < at and place == position for i, place in loads)

    def _require(self, fits: bool, told: str) -> None:
        if not fits:
            raise TraceError(told)


def _count(nest: Nest, value: Value) -> int:
    return sum(access.value is value for access in nest.accesses)


__all__ = ["check_loops", "check_memory"]
