"""Loop nests from values: which roots share one, and in which order all is done.

Roots over one domain share a loop nest, a `FusionGroup`. Within it rows are swept over several
times: a reduction of a row ends a sweep, and what reads it joins the next one. Reductions of
everything, or of leading axes, end with the nest.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...codegen.affine import Affine, flat, identity
from ..lower.buffered import DeviceCall, Item, Matmul, Reduce, Scan, Scatter
from ..lower.values import Index, Input, Read, Value, topological
from .edges import Edges, domain_edges, joined
from .materialize import DEAR, Roots, is_shattered


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
    """A step that is no loop nest: a product, a call, a loop, or a line of scalar code.

    `items` are what a loop gives and what it needs room for; `inner` is the plan of its step.
    """

    value: Value
    items: list[Value] = field(default_factory=list)
    inner: Any = None


ScheduledStep = FusionGroup | Single


@dataclass
class Schedule:
    """The steps in order, and the roots."""

    steps: list[ScheduledStep]
    roots: Roots
    outputs: list[Value]


def schedule(outputs: Sequence[Value]) -> Schedule:
    """Steps that compute `outputs`."""
    order = topological(outputs)
    roots = Roots(order, outputs)
    steps: list[ScheduledStep] = []
    place: dict[Value, int] = {}
    items: dict[Value, list[Value]] = {}
    for value in order:
        if isinstance(value, Item):
            items.setdefault(value.loop, []).append(value)
    for value in order:
        if isinstance(value, Scan):
            place[value] = len(steps)
            steps.append(Single(value, items.get(value, [])))
        elif value not in roots:
            continue
        elif isinstance(value, Item):
            place[value] = place[value.loop]
        elif _stands_alone(value):
            place[value] = len(steps)
            steps.append(Single(value))
        else:
            place[value] = _placed(value, steps, place, roots)
    return Schedule(steps, roots, list(outputs))


def domain_of(value: Value) -> tuple[int, ...]:
    """What the loops of a root run over."""
    return value.args[0].shape if isinstance(value, (Reduce, Scatter)) else value.shape


def _stands_alone(value: Value) -> bool:
    if isinstance(value, (Matmul, DeviceCall)):
        return True
    return value.shape == () and not isinstance(value, (Reduce, Scatter))


def _placed(value: Value, steps: list[ScheduledStep], place: dict[Value, int], roots: Roots) -> int:
    """Enter `value` into the group that can take it in and has most of what it reads at hand, the
    last of several; else into a new one. Return the place of that."""
    reads = list(reads_of(value, roots))
    wanted = {root for root, _ in reads}
    edges = domain_edges(value, roots.edges)
    best: tuple[int, int, int] | None = None
    if not isinstance(value, Scatter):
        ready = max((place[root] for root in wanted if root in place), default=0)
        for at in range(ready, len(steps)):
            group = steps[at]
            if isinstance(group, FusionGroup):
                sweep = _sweep_in(group, value, reads, edges, place, at, roots)
                if sweep is not None:
                    found = len(wanted & group.at_hand), at, sweep
                    best = found if best is None or found[:2] > best[:2] else best
    if best is None:
        steps.append(FusionGroup(domain_of(value)))
        best = 0, len(steps) - 1, 0
    _, at, sweep = best
    group = steps[at]
    assert isinstance(group, FusionGroup)
    group.sweeps[value] = sweep
    group.at_hand |= {value, *wanted}
    group.edges = joined([group.edges, edges])
    group.price += roots.prices[value]
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
    roots: Roots,
) -> int | None:
    """The sweep in which `value` can be computed in the group; None where it cannot."""
    if group.closed or group.domain != domain_of(value):
        return None
    price = group.price + roots.prices[value]
    if price > DEAR or (edges and is_shattered(joined([group.edges, edges]), price)):
        return None
    split = group.split
    if isinstance(value, Reduce) and value.is_row:
        if split not in (None, value.axes[0]):
            return None
        split = value.axes[0]
    sweep = 0
    whole = flat(group.domain, identity(group.domain))
    for root, position in reads:
        if root not in group.sweeps:
            if place.get(root, -1) >= at:
                return None
        elif isinstance(root, Reduce):
            if not root.is_row or split is None:
                return None
            outer = group.domain[:split]
            if position != flat(outer, identity(outer)):
                return None
            sweep = max(sweep, group.sweeps[root] + 1)
        elif position != whole:
            return None
        else:
            sweep = max(sweep, group.sweeps[root])
    return sweep


# -- what is read ---------------------------------------------------------------------------------


def reads_of(root: Value, roots: Roots) -> Iterable[tuple[Value, Affine]]:
    """The inputs and roots that computing `root` reads, with positions in their buffers."""
    stack = first_reads(root)
    seen: set[Read] = set()
    while stack:
        read = stack.pop()
        if read in seen:
            continue
        seen.add(read)
        value, at = read
        if isinstance(value, Input) or value in roots:
            yield value, flat(value.shape, at)
        else:
            stack += value.reads(at)


def first_reads(root: Value) -> list[Read]:
    """What the element of a root at the place of its loops is computed from."""
    index: Index = identity(domain_of(root))
    if isinstance(root, Reduce):
        return [Read(root.source, index)]
    if isinstance(root, Scatter):
        at = index[root.place : root.place + root.joint]
        found = [Read(root.block, index), *(Read(arg, at) for arg in root.positions)]
        below = root.below
        return found if below is None else [*found, Read(below, identity(root.shape))]
    if root.buffered:
        return [Read(arg, identity(arg.shape)) for arg in root.args]
    return root.reads(index)
