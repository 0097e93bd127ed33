"""Fusion: which materialized values share a loop nest, and the order of the steps.

Materialized values over one domain share a loop nest, a `FusionGroup`, which may sweep over a row
several times: a reduction of a row ends a sweep, and the values that read it are computed in the
next one. Reductions over all axes, or over leading axes, end with the nest.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...ir.affine import Affine, flat, identity
from ..lower.buffered import DeviceCall, Item, Matmul, Nested, Reduce, Scatter
from ..lower.reads import reads_first
from ..lower.values import Extent, Full, Index, Input, Read, Value
from .edges import Edges, domain_edges, join_edges
from .materialize import DEAR, BufferPolicy, is_shattered


@dataclass(eq=False)
class FusionGroup:
    """One loop nest over `domain`; the axes from `split` on are swept once for each sweep, and
    loops are cut at `edges`."""

    domain: tuple[int, ...]
    sweeps: dict[Value, int] = field(default_factory=dict)
    split: int | None = None
    closed: bool = False
    at_hand: set[Value] = field(default_factory=set)  # what it makes and reads
    edges: Edges = field(default_factory=dict)
    price: int = 0

    @property
    def members(self) -> list[Value]:
        return sorted(self.sweeps, key=lambda v: self.sweeps[v])


@dataclass(eq=False)
class Single:
    """A step that is no loop nest: a product, a call, a loop, a choice, or a line of scalar code.

    `items` are what a loop or a choice gives and what it needs room for; `inner` are the plans of
    its step or sides.
    """

    value: Value
    items: list[Value] = field(default_factory=list)
    inner: tuple[Any, ...] = ()


ScheduledStep = FusionGroup | Single


@dataclass
class Schedule:
    """The steps in order, and the policy that says which values have a buffer."""

    steps: list[ScheduledStep]
    policy: BufferPolicy
    outputs: list[Value]

    @property
    def work(self) -> float:
        """About how many arithmetic operations all of it takes, a formula where sizes are named;
        inf where that is not known."""
        return sum(map(_work_of, self.steps))


def _work_of(step: ScheduledStep) -> float:
    if isinstance(step, FusionGroup):
        work = math.prod(step.domain) * step.price
    elif isinstance(step.value, (DeviceCall, Nested)):
        return math.inf
    else:
        work = step.value.size * step.value.price
        if isinstance(step.value, Matmul):
            work *= step.value.args[0].shape[-1]
    return work


def schedule(outputs: Sequence[Value], olds: dict[Value, Value] | None = None) -> Schedule:
    """Steps that compute `outputs`; `olds` are inputs whose place one of them may take."""
    order = _sizes_first(reads_first(outputs, olds or {}))
    policy = BufferPolicy(order, outputs)
    steps: list[ScheduledStep] = []
    place: dict[Value, int] = {}
    items: dict[Value, list[Value]] = {}
    for value in order:
        if isinstance(value, Item):
            items.setdefault(value.nested, []).append(value)
    for value in order:
        if isinstance(value, Nested):
            place[value] = len(steps)
            steps.append(Single(value, items.get(value, [])))
        elif value not in policy:
            continue
        elif isinstance(value, Item):
            place[value] = place[value.nested]
        elif _stands_alone(value):
            place[value] = len(steps)
            steps.append(Single(value))
        else:
            place[value] = _placed(value, steps, place, policy)
    return Schedule(steps, policy, list(outputs))


def _sizes_first(order: list[Value]) -> list[Value]:
    """The values with numbers that are made of sizes alone before all others: no nest that reads
    one is to wait for it."""
    known: set[Value] = set()
    for value in order:
        has_size = isinstance(value, Extent) or any(arg in known for arg in value.args)
        if has_size and value.shape == () and all(
            isinstance(arg, Full) or arg in known for arg in value.args
        ):  # fmt: skip
            known.add(value)
    if not known:
        return order
    return sorted(order, key=lambda v: v not in known and not isinstance(v, (Full, Input)))


def domain_of(value: Value) -> tuple[int, ...]:
    """The shape that the loops of a materialized value run over."""
    return value.args[0].shape if isinstance(value, (Reduce, Scatter)) else value.shape


def _stands_alone(value: Value) -> bool:
    if isinstance(value, (Matmul, DeviceCall)):
        return True
    return value.shape == () and not isinstance(value, (Reduce, Scatter))


def _placed(
    value: Value, steps: list[ScheduledStep], place: dict[Value, int], policy: BufferPolicy
) -> int:
    """Enter `value` into the group that can take it in and has most of what it reads at hand, the
    last of several; else into a new one. Return the place of that."""
    reads = list(reads_of(value, policy))
    producers = {producer for producer, _ in reads}
    edges = domain_edges(value, policy.edges)
    best: tuple[int, int, int] | None = None
    if not isinstance(value, Scatter):
        ready = max((place[producer] for producer in producers if producer in place), default=0)
        for at in range(ready, len(steps)):
            group = steps[at]
            if isinstance(group, FusionGroup):
                sweep = _sweep_in(group, value, reads, edges, place, at, policy)
                if sweep is not None:
                    candidate = len(producers & group.at_hand), at, sweep
                    best = candidate if best is None or candidate[:2] > best[:2] else best
    if best is None:
        steps.append(FusionGroup(domain_of(value)))
        best = 0, len(steps) - 1, 0
    _, at, sweep = best
    group = steps[at]
    assert isinstance(group, FusionGroup)
    group.sweeps[value] = sweep
    group.at_hand |= {value, *producers}
    group.edges = join_edges([group.edges, edges])
    group.price += policy.prices[value]
    group.closed |= isinstance(value, Scatter)
    if isinstance(value, Reduce) and value.is_row:
        group.split = value.axes[0]
    return at


def _sweep_in(
    group: FusionGroup,
    value: Value,
    reads: Sequence[tuple[Value, Affine]],
    edges: Edges,
    place: dict[Value, int],
    at: int,
    policy: BufferPolicy,
) -> int | None:
    """The sweep in which `value` can be computed in the group; None where it cannot."""
    if group.closed or group.domain != domain_of(value):
        return None
    price = group.price + policy.prices[value]
    if price > DEAR or (edges and is_shattered(join_edges([group.edges, edges]), price)):
        return None
    split = group.split
    if isinstance(value, Reduce) and value.is_row:
        if split not in (None, value.axes[0]):
            return None
        split = value.axes[0]
    sweep = 0
    whole = flat(group.domain, identity(group.domain))
    for producer, position in reads:
        if producer not in group.sweeps:
            if place.get(producer, -1) >= at:
                return None
        elif isinstance(producer, Reduce):
            if not producer.is_row or split is None:
                return None
            outer = group.domain[:split]
            if position != flat(outer, identity(outer)):
                return None
            sweep = max(sweep, group.sweeps[producer] + 1)
        elif position != whole:
            return None
        else:
            sweep = max(sweep, group.sweeps[producer])
    return sweep


# -- what is read ---------------------------------------------------------------------------------


def reads_of(producer: Value, policy: BufferPolicy) -> Iterable[tuple[Value, Affine]]:
    """The inputs and materialized values that `producer` is computed from, with positions."""
    stack = first_reads(producer)
    seen: set[Read] = set()
    while stack:
        read = stack.pop()
        if read in seen:
            continue
        seen.add(read)
        value, at = read
        if isinstance(value, Input) or value in policy:
            yield value, flat(value.shape, at)
        else:
            stack += value.reads(at)


def first_reads(producer: Value) -> list[Read]:
    """The elements that a materialized value is computed from, where its loops are."""
    index: Index = identity(domain_of(producer))
    if isinstance(producer, Reduce):
        return [Read(producer.source, index)]
    if isinstance(producer, Scatter):
        at = index[producer.place : producer.place + producer.joint]
        reads = [Read(producer.block, index), *(Read(arg, at) for arg in producer.positions)]
        below = producer.below
        return reads if below is None else [*reads, Read(below, identity(producer.shape))]
    if producer.buffered:
        return [Read(arg, identity(arg.shape)) for arg in producer.args]
    return producer.reads(index)
