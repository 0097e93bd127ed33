"""The places of buffers: results in the caller's arrays, everything else in scratch memory.

Buffers that are not read are dropped, and those that only later sweeps of their own nest read
shrink to one row. A value may reuse the place of one that is read for the last time where it is
made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...ir.core import Scratch
from ...ir.sizes import aligned, at_least, highest, is_dynamic
from ..lower.buffered import Nested, Reduce, Scatter
from ..lower.values import BOOL, Input, Reshape, Value
from ..schedule.buffers import buffer_of, place_of
from ..schedule.fuse import FusionGroup, Schedule, ScheduledStep, Single
from .in_place import places_of_dead, written_over
from .nest import Nest

# Buffers in scratch begin at multiples of so many bytes: a line of the processor's cache, and the
# widest vector.
_ALIGNED = 64


@dataclass(frozen=True)
class ArgumentBuffer:
    """The array that the caller gives for an input."""

    position: int


@dataclass(frozen=True)
class ResultBuffer:
    """The array that the caller gives for an output."""

    position: int


Storage = ArgumentBuffer | ResultBuffer | Scratch


@dataclass
class Memory:
    """The buffers of a program.

    `written` are the positions of the outputs that the core writes, `copies` where other outputs
    are copied from. `updates` are values in the place of an old one, `updated` the positions of
    outputs that are so. `dropped` values have no buffer, `rows` one for a single row.
    """

    written: list[int] = field(default_factory=list)
    copies: dict[int, ArgumentBuffer | ResultBuffer] = field(default_factory=dict)
    places: dict[Value, Storage] = field(default_factory=dict)
    dropped: set[Value] = field(default_factory=set)
    rows: set[Value] = field(default_factory=set)
    updates: set[Value] = field(default_factory=set)
    updated: set[int] = field(default_factory=set)
    size: int = 0

    def storage(self, value: Value) -> Storage:
        """Where a value lies."""
        while isinstance(value, Reshape) and value not in self.places:
            value = value.source
        return self.places[value]


def plan(
    schedule: Schedule,
    nests: dict[FusionGroup, Nest],
    outputs: Sequence[Value],
    olds: dict[Value, Value],
) -> Memory:
    """The buffers of `outputs` and of what lies between; `olds` are inputs whose place an output
    may take."""
    memory = Memory()
    first: dict[Value, int] = {}
    for i, value in enumerate(outputs):
        if value.shape == ():
            continue
        if isinstance(value, Input):
            memory.copies[i] = ArgumentBuffer(value.position)
        elif value in first:
            memory.copies[i] = ResultBuffer(first[value])
        else:
            first[value] = i
            memory.written.append(i)
            memory.places[value] = ResultBuffer(i)
    reads = step_reads(schedule, nests)
    _drop(schedule, reads, first, memory)
    for values in reads:
        for value in values:
            if isinstance(value, Input):
                memory.places[value] = ArgumentBuffer(value.position)
    for value, old in olds.items():
        written = written_over(schedule, nests, reads, value, old) if value.size else []
        if written and not any(one in first for one in written[:-1]):
            assert isinstance(old, Input)
            memory.written.remove(first[value])
            memory.updates.update(written)
            memory.places.update(dict.fromkeys([old, *written], ArgumentBuffer(old.position)))
    memory.updated = {first[value] for value in memory.updates if value in first}
    _allocate(schedule, nests, reads, places_of_dead(schedule, nests, reads, memory), memory)
    return memory


def step_reads(schedule: Schedule, nests: dict[FusionGroup, Nest]) -> list[list[Value]]:
    """The buffers that each step reads."""
    buffers: list[list[Value]] = []
    for step in schedule.steps:
        if isinstance(step, FusionGroup):
            buffers.append([a.value for a in nests[step].accesses if not a.store])
        else:
            buffers.append([buffer_of(v) for v in _needed(step, schedule)])
    return buffers


def _needed(step: Single, schedule: Schedule) -> list[Value]:
    """The buffers that a single step reads, through values that have none."""
    buffers, stack, seen = [], list(step.value.args), set()
    if isinstance(step.value, Nested):
        stack = [place_of(value, schedule.policy)[0] for value in stack]
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, Input) or value in schedule.policy:
            buffers.append(value)
        else:
            stack += value.args
    return buffers


def _drop(
    schedule: Schedule, reads: list[list[Value]], results: dict[Value, int], memory: Memory
) -> None:
    """Find the values that need no buffer, or one for a single row."""
    readers: dict[Value, set[int]] = {}
    for at, values in enumerate(reads):
        for value in values:
            readers.setdefault(value, set()).add(at)
    for at, step in enumerate(schedule.steps):
        if not isinstance(step, FusionGroup):
            continue
        for value in step.sweeps:
            if value in results or isinstance(value, Scatter):
                continue
            where = readers.get(value, set())
            if where - {at} or (isinstance(value, Reduce) and not value.is_row):
                continue
            if where and not isinstance(value, Reduce):
                if step.split:
                    memory.rows.add(value)
            else:
                memory.dropped.add(value)


def step_buffers(
    step: ScheduledStep, nests: dict[FusionGroup, Nest], memory: Memory
) -> list[Value]:
    """The values for which a step writes a buffer."""
    if isinstance(step, FusionGroup):
        values = [*step.sweeps, *nests[step].sums]
    else:
        values = [step.value, *step.items]
    return [v for v in values if v.shape != () and v not in memory.dropped]


def _allocate(
    schedule: Schedule,
    nests: dict[FusionGroup, Nest],
    reads: list[list[Value]],
    shared: dict[Value, Value],
    memory: Memory,
) -> None:
    """Offsets in scratch: the first gap that is free from the making to the last reading."""

    def owner(value: Value) -> Value:
        while value in shared:
            value = shared[value]
        return value

    born: dict[Value, int] = {}
    dies: dict[Value, int] = {}
    sizes: dict[Value, int] = {}
    for at, step in enumerate(schedule.steps):
        for value in step_buffers(step, nests, memory):
            if value in memory.places:
                continue
            base = owner(value)
            born.setdefault(base, at)
            dies[base] = at
            count = value.size
            if value in memory.rows:
                assert isinstance(step, FusionGroup)
                count = nests[step].row * nests[step].rows
            sizes[base] = highest(sizes.get(base, 0), count * bytes_of(value))
        for value in reads[at]:
            base = owner(value)
            if base in born:
                dies[base] = at
    placed: list[tuple[int, int, Value]] = []
    parts: dict[Value, Scratch] = {}
    for value in sorted(born, key=lambda v: (born[v], -sizes[v])):
        size = aligned(sizes[value] or 1, _ALIGNED)
        overlapping = sorted(
            (start, stop)
            for start, stop, other in placed
            if born[other] <= dies[value] and born[value] <= dies[other]
        )
        at = 0
        for i, (start, stop) in enumerate(overlapping):
            # Those after it begin later; where sizes are named, that is to be seen of each.
            others = overlapping[i + 1 :] if is_dynamic(memory.size + size) else ()
            if at_least(start, at + size) and all(at_least(s, at + size) for s, _ in others):
                break
            at = highest(at, stop)
        parts[value] = Scratch(sizes[value], at)
        placed.append((at, at + size, value))
        memory.size = highest(memory.size, at + size)
    for step in schedule.steps:
        for value in step_buffers(step, nests, memory):
            if value not in memory.places:
                memory.places[value] = parts[owner(value)]


def bytes_of(value: Value) -> int:
    """The bytes of one element in memory."""
    return 1 if value.dtype == BOOL else value.dtype.itemsize
