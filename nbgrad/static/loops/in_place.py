"""Values that reuse the buffer of another one: one that is not read again, or the old state of a
loop."""

from typing import TYPE_CHECKING

from ..lower.buffered import Item, Reduce, Scan, Scatter
from ..lower.values import Full, Iota, Value
from ..schedule.buffers import place_of
from ..schedule.fuse import FusionGroup, Schedule, Single
from .nest import Nest

if TYPE_CHECKING:
    from .memory import Memory


def places_of_dead(
    schedule: Schedule, nests: dict[FusionGroup, Nest], reads: list[list[Value]], memory: "Memory"
) -> dict[Value, Value]:
    """Values that take the place of one that dies where they are made."""
    last: dict[Value, int] = {}
    for at, values in enumerate(reads):
        last.update(dict.fromkeys(values, at))
    shared: dict[Value, Value] = {}
    for at, step in enumerate(schedule.steps):
        if isinstance(step, Single) and isinstance(step.value, Scan):
            _start_in_place(schedule, step, last, at, shared, memory)
        if not isinstance(step, FusionGroup) or step.edges or nests[step].is_ranged:
            continue
        olds: set[Value] = set()
        for value in step.sweeps:
            if isinstance(value, Scatter) and _adds_in_place(nests[step], value, last, at, memory):
                assert value.below is not None
                shared[value] = value.below
                memory.updates.add(value)
            if isinstance(value, (Reduce, Scatter)) or value in memory.dropped:
                continue
            if value in memory.places or value in memory.rows:
                continue
            for old in dict.fromkeys(reads[at]):
                if old in olds or old in memory.places or old in step.sweeps or last[old] != at:
                    continue
                if old.shape != value.shape or old.dtype != value.dtype or old in memory.rows:
                    continue
                if _is_replaced(nests[step], value, old):
                    shared[value] = old
                    olds.add(old)
                    break
    return shared


def _start_in_place(
    schedule: Schedule, single: Single, last: dict[Value, int], at: int, shared: dict[Value, Value],
    memory: "Memory",
) -> None:  # fmt: skip
    """Have states of a loop lie where they start, or start where they lie as results, where
    nobody needs what they start as any more."""
    for item in single.items:
        start = loop_below(schedule, single, item) if isinstance(item, Item) else None
        if start is None or start in memory.places or last[start] != at:
            continue
        if item not in memory.places:
            shared[item] = start
        elif start not in shared:
            memory.places[start] = memory.places[item]
        else:
            continue
        memory.updates.add(item)


def _adds_in_place(
    nest: Nest, value: Scatter, last: dict[Value, int], at: int, memory: "Memory"
) -> bool:
    """Whether a scatter may lie where the array does that it adds to, or writes over: which nobody
    reads later, and it itself once."""
    below = value.below
    if value in memory.places or below is None or below in memory.places or last.get(below) != at:
        return False
    if isinstance(below, (Full, Iota)):
        return False
    return sum(access.value is below for access in nest.accesses) == 1


def written_over(
    schedule: Schedule,
    nests: dict[FusionGroup, Nest],
    reads: list[list[Value]],
    value: Value,
    old: Value,
) -> list[Value]:
    """`value`, after what it is written over or added to at an index, where all of them may lie in
    the place of `old`: each is read only before the next one is written. Else nothing."""
    chain: list[Value] = []
    while True:
        made = _making(schedule, value)
        if made is None:
            return []
        at, step = made
        if any(old in read for read in reads[at + 1 :]):
            return []
        chain.insert(0, value)
        if isinstance(step, Single):
            below = loop_below(schedule, step, value)
            if below is None:
                return []
        else:
            nest = nests[step]
            below = value.below if isinstance(value, Scatter) else None
            if below is None:
                fits = not (step.edges or isinstance(value, (Reduce, Scatter)) or nest.is_ranged)
                return chain if fits and _is_replaced(nest, value, old) else []
            if nest.is_ranged or sum(a.value is below for a in nest.accesses) > 1:
                return []
        if below is old:
            return chain
        if isinstance(below, (Full, Iota)):  # has no buffer that could be the old one
            return []
        if any(below in read for read in reads[at + 1 :]):
            return []
        value = below


def _making(schedule: Schedule, value: Value) -> tuple[int, FusionGroup | Single] | None:
    """The step that makes a value by a loop nest or a loop, and its number."""
    for at, step in enumerate(schedule.steps):
        if isinstance(step, FusionGroup):
            if value in step.sweeps:
                return at, step
        elif value in step.items and isinstance(step.value, Scan):
            return at, step
    return None


def loop_below(schedule: Schedule, single: Single, item: Value) -> Value | None:
    """The start of a state of a loop, where the state may lie in its place: its steps write over
    it, and the loop reads nothing else there."""
    loop = single.value
    assert isinstance(loop, Scan) and isinstance(item, Item)
    kind, k = item.key
    if kind != "state" or k not in loop.step.written or k not in single.inner[0].memory.updated:
        return None
    places = [place_of(arg, schedule.policy) for arg in loop.args if arg.shape != ()]
    below, start = place_of(loop.args[loop.step.constants + k], schedule.policy)
    alone = sum(value is below for value, _ in places) == 1
    fits = (below.shape, below.dtype, start) == (item.shape, item.dtype, 0)
    return below if alone and fits else None


def _is_replaced(nest: Nest, value: Value, old: Value) -> bool:
    """Whether each element of `old` is read where, and before, that of `value` is written."""
    stored, here = next(
        (i, a.position) for i, a in enumerate(nest.accesses) if a.store and a.value is value
    )
    uses = [i for i, a in enumerate(nest.accesses) if a.value is old]
    return all(i < stored and nest.accesses[i].position == here for i in uses)
