"""The plan of a program: its steps, their loop nests, and where values lie."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...ir.sizes import is_dynamic
from ..lower.buffered import Choice, Item, Scan
from ..lower.graph import Graph
from ..lower.step import LoweredSide, LoweredStep
from ..lower.values import Value
from ..schedule.fuse import FusionGroup, Schedule, Single, schedule
from . import memory
from .memory import Memory
from .nest import Nest
from .written_out import nest_of

# Scratch of up to so many bytes lies on the stack, of which a thread may have as little as 64 KiB;
# beyond, whoever calls the core brings it. The steps of loops are given theirs by the loop.
STACK = 32 * 1024


def is_large(size: int, stack: int = STACK) -> bool:
    """Whether scratch of so many bytes is brought by the caller."""
    return is_dynamic(size) or size > stack


@dataclass(eq=False)
class LoopPlan:
    """The schedule, the loop nests and the memory that compute the outputs of a graph."""

    graph: Graph
    outputs: list[Value]
    schedule: Schedule
    nests: dict[FusionGroup, Nest]
    memory: Memory
    is_step: bool = False  # of a loop, or a side of a choice

    @property
    def is_large(self) -> bool:
        """Whether the caller brings the scratch."""
        return is_large(self.memory.size, 0 if self.is_step else STACK)


def plan_loops(
    graph: Graph, outputs: Sequence[Value], olds: dict[Value, Value] | None = None
) -> LoopPlan:
    """The steps that compute `outputs`: an output in the place of the input that `olds` names for
    it, where that is possible."""
    wanted = [*outputs, *(ok for ok, _ in graph.checks)]
    order = schedule(wanted, graph.chains | (olds or {}))
    for step in order.steps:
        if isinstance(step, Single) and isinstance(step.value, Scan):
            _plan_loop(step, step.value)
        elif isinstance(step, Single) and isinstance(step.value, Choice):
            _plan_choice(step, step.value)
    nests = {
        step: nest_of(step, order.policy) for step in order.steps if isinstance(step, FusionGroup)
    }
    where = memory.plan(order, nests, outputs, olds or {})
    return LoopPlan(graph, list(outputs), order, nests, where)


def _plan_loop(single: Single, loop: Scan) -> None:
    """Plan the step of a loop, and the buffers that the loop needs besides its items.

    A state whose steps nobody reads lies in one buffer where a step can write over it, else in a
    pair of them, read and written in turn.
    """
    step: LoweredStep = loop.step
    have = {item.key for item in single.items if isinstance(item, Item)}
    histories = frozenset(k for kind, k in have if kind == "states")
    inner = _plan_inner(single, step, step.olds(histories))
    for k, value in enumerate(step.outputs):
        if value.shape == ():
            continue
        shape, key = value.shape, ("unread", k)
        if k >= step.states:
            if ("y", k - step.states) in have:
                continue
        elif k in inner.memory.updated:
            key = ("state", k)
        elif ("states", k) in have:
            continue
        else:
            shape, key = (2, *value.shape), ("pair", k)
        if key not in have:
            single.items.append(Item(shape, value.dtype, (loop,), "", key))
    _make_room(single)


def _plan_choice(single: Single, choice: Choice) -> None:
    """Plan the sides of a choice, and the buffers for results that nobody reads."""
    have = {item.key for item in single.items if isinstance(item, Item)}
    for side in choice.sides:
        _plan_inner(single, side)
    for k, value in enumerate(choice.sides[0].outputs):
        if value.shape != () and ("y", k) not in have:
            single.items.append(Item(value.shape, value.dtype, (choice,), "", ("unread", k)))
    _make_room(single)


def _plan_inner(
    single: Single, program: LoweredStep | LoweredSide, olds: dict[Value, Value] | None = None
) -> LoopPlan:
    """The plan of a program inside of a loop or a choice."""
    inner = plan_loops(program.graph, program.outputs, olds)
    inner.is_step = True
    single.inner += (inner,)
    return inner


def _make_room(single: Single) -> None:
    """Scratch for the programs inside, which run one at a time."""
    size = max(inner.memory.size for inner in single.inner)
    if size:
        room = Item((size,), np.dtype(np.uint8), (single.value,), "", ("work", 0))
        single.items.append(room)
