"""Where values lie: results in the caller's arrays, all else in scratch, shared over time.

A first writing of all nests says who reads what; then buffers that nobody reads are dropped, those
that only later sweeps of their own nest read shrink to one row, and a value may take the place of
one that dies where it is made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .fuse import Group, Schedule, Single, kind_of
from .kernel import RANGED
from .nest import Kept, Nest
from .roots import buffer_of
from .values import BOOL, Value, below_of

_ALIGNED = 64


@dataclass
class Memory:
    """The buffers of a program."""

    kept: Kept
    results: list[int]  # positions of the outputs that the core writes
    copies: dict[int, str]  # of other outputs: the array that they are copies of
    places: dict[Value, tuple[str, Any]]
    updates: set[int]  # positions of the outputs that lie in the place of an input
    offsets: dict[Any, int] = field(default_factory=dict)
    size: int = 0

    def storage(self, value: Value) -> tuple[str, Any]:
        while value.op == "reshape" and value not in self.places:
            value = value.args[0]
        return self.places[value]


def plan(
    schedule: Schedule,
    nests: dict[Group, Nest],
    outputs: Sequence[Value],
    olds: dict[Value, Value],
) -> Memory:
    """The buffers of `outputs` and of what lies between; `olds` are inputs whose place an output
    may take."""
    results: list[int] = []
    copies: dict[int, str] = {}
    first: dict[Value, int] = {}
    places: dict[Value, tuple[str, Any]] = {}
    for i, value in enumerate(outputs):
        if value.shape == ():
            continue
        if value.op == "input":
            copies[i] = f"a{value.data}"
        elif value in first:
            copies[i] = f"r{first[value]}"
        else:
            first[value] = i
            results.append(i)
            places[value] = ("result", i)
    reads = _reads(schedule, nests)
    kept = _kept(schedule, reads, first)
    _place_inputs(reads, places)
    for value, old in olds.items():
        written = _written_over(schedule, nests, reads, value, old) if value.size else []
        if written:
            results.remove(first[value])
            kept.updates.update(written)
            places.update(dict.fromkeys([old, *written], ("input", old.data)))
    shared = _in_place(schedule, nests, reads, kept, places)
    updates = {first[value] for value in kept.updates if value in first}
    memory = Memory(kept, results, copies, places, updates)
    _allocate(schedule, reads, kept, shared, memory)
    return memory


def _reads(schedule: Schedule, nests: dict[Group, Nest]) -> list[list[Value]]:
    """The buffers that each step reads."""
    found: list[list[Value]] = []
    for step in schedule.steps:
        if isinstance(step, Group):
            found.append([a.value for a in nests[step].accesses if not a.store])
        else:
            found.append([buffer_of(v) for v in _needed(step, schedule.roots)])
    return found


def _needed(step: Single, roots: set[Value]) -> list[Value]:
    """What a single step reads: through what is computed where it is read."""
    found, stack, seen = [], list(step.value.args), set()
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        if value.op == "input" or value in roots:
            found.append(value)
        else:
            stack += value.args
    return found


def _kept(schedule: Schedule, reads: list[list[Value]], results: dict[Value, int]) -> Kept:
    dropped: set[Value] = set()
    rows: set[Value] = set()
    for at, step in enumerate(schedule.steps):
        if not isinstance(step, Group):
            continue
        for value in step.sweeps:
            if value in results or value.op == "scatter":
                continue
            outside = any(value in reads[i] for i in range(len(reads)) if i != at)
            whole = value.op == "reduce" and kind_of(value)[0] != "row"
            if outside or whole:
                continue
            if value in reads[at] and value.op != "reduce":
                if step.split:
                    rows.add(value)
            else:
                dropped.add(value)
    return Kept(dropped, rows)


def _place_inputs(reads: list[list[Value]], places: dict[Value, tuple[str, Any]]) -> None:
    for values in reads:
        for value in values:
            if value.op == "input":
                places[value] = ("input", value.data)


def _buffers(step: Any, kept: Kept) -> list[Value]:
    """The values for which a step writes a buffer."""
    values = step.sweeps if isinstance(step, Group) else [step.value, *step.items]
    return [v for v in values if v.shape != () and kept.has(v)]


def _in_place(schedule, nests, reads, kept: Kept, places) -> dict[Value, Value]:
    """Values that take the place of one that dies where they are made."""
    last: dict[Value, int] = {}
    for at, values in enumerate(reads):
        last.update(dict.fromkeys(values, at))
    shared: dict[Value, Value] = {}
    for at, step in enumerate(schedule.steps):
        if not isinstance(step, Group) or nests[step].breaks:
            continue
        nest = nests[step]
        if _is_ranged(nest):
            continue
        taken: set[Value] = set()
        for value in step.sweeps:
            if value.op == "scatter" and value not in places:
                below = below_of(value)
                if below is not None and below not in places and last.get(below) == at:
                    if sum(a.value is below for a in nest.accesses) == 1:  # when it is copied
                        shared[value] = below
                        kept.updates.add(value)
            if value.op in ("reduce", "scatter") or not kept.has(value):
                continue
            if value in places or value in kept.rows:
                continue
            for old in dict.fromkeys(reads[at]):
                if old in taken or old in places or old in step.sweeps or last[old] != at:
                    continue
                if old.shape != value.shape or old.dtype != value.dtype or old in kept.rows:
                    continue
                if _is_replaced(nest, value, old):
                    shared[value] = old
                    taken.add(old)
                    break
    return shared


def _written_over(
    schedule: Schedule,
    nests: dict[Group, Nest],
    reads: list[list[Value]],
    value: Value,
    old: Value,
) -> list[Value]:
    """`value`, after what it is added to at an index, where all of them may lie in the place of
    `old`: nothing else reads that once they are being written. Else nothing."""
    at = next((i for i, step in enumerate(schedule.steps)
               if isinstance(step, Group) and value in step.sweeps), None)  # fmt: skip
    if at is None:
        return []
    nest = nests[schedule.steps[at]]  # type: ignore[index]
    if value.op == "scatter" and (below := below_of(value)) is not None:
        if sum(a.value is below for a in nest.accesses) > 1:
            return []
        if below is not old:
            alone = not any(below in read for i, read in enumerate(reads) if i != at)
            before = _written_over(schedule, nests, reads, below, old) if alone else []
            return [*before, value] if before else []
    elif nest.breaks or value.op in ("reduce", "scatter") or _is_ranged(nest):
        return []
    elif not _is_replaced(nest, value, old):
        return []
    return [] if any(old in read for read in reads[at + 1 :]) else [value]


def _is_replaced(nest: Nest, value: Value, old: Value) -> bool:
    """Whether each element of `old` is read where, and before, that of `value` is written."""
    stored, here = next(
        (i, a.position) for i, a in enumerate(nest.accesses) if a.store and a.value is value
    )
    uses = [i for i, a in enumerate(nest.accesses) if a.value is old]
    return all(i < stored and nest.accesses[i].position == here for i in uses)


def _is_ranged(nest: Nest) -> bool:
    def texts(items):
        for item in items:
            if hasattr(item, "text"):
                yield item.text
            else:
                for part in item.pre:
                    yield from texts(part)

    return any(RANGED.search(text) for text in texts(nest.items))


def _allocate(schedule, reads, kept: Kept, shared: dict[Value, Value], memory: Memory) -> None:
    """Offsets in scratch: the first gap that is free from the making to the last reading."""

    def owner(value: Value) -> Value:
        while value in shared:
            value = shared[value]
        return value

    born: dict[Value, int] = {}
    dies: dict[Value, int] = {}
    sizes: dict[Value, int] = {}
    for at, step in enumerate(schedule.steps):
        for value in _buffers(step, kept):
            if value in memory.places:
                continue
            base = owner(value)
            born.setdefault(base, at)
            dies[base] = at
            split = step.split or 0 if isinstance(step, Group) else 0
            size = kept.size(value, split) * (1 if value.dtype == BOOL else value.dtype.itemsize)
            sizes[base] = max(sizes.get(base, 0), size)
            memory.places[value] = ("scratch", base)
        for value in reads[at]:
            if value.shape != () and memory.places[value][0] == "scratch":
                dies[owner(value)] = at
    placed: list[tuple[int, int, Value]] = []
    for value in sorted(born, key=lambda v: (born[v], -sizes[v])):
        size = -(-max(sizes[value], 1) // _ALIGNED) * _ALIGNED
        overlapping = sorted(
            (start, stop)
            for start, stop, other in placed
            if born[other] <= dies[value] and born[value] <= dies[other]
        )
        at = 0
        for start, stop in overlapping:
            if start - at >= size:
                break
            at = max(at, stop)
        memory.offsets[value] = at
        placed.append((at, at + size, value))
        memory.size = max(memory.size, at + size)
