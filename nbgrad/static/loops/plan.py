"""The plan of a program: its steps, their loop nests, and where values lie."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.sizes import is_dynamic
from ..lower.buffered import Item, Scan
from ..lower.graph import Graph
from ..lower.step import LoweredStep
from ..lower.values import Value
from ..schedule.fuse import FusionGroup, Schedule, Single, schedule
from . import memory
from .memory import Memory
from .nest import Nest

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
    is_step: bool = False  # of a loop

    @property
    def is_large(self) -> bool:
        """Whether the caller brings the scratch."""
        return is_large(self.memory.size, 0 if self.is_step else STACK)


def plan_loops(
    graph: Graph, outputs: Sequence[Value], olds: dict[Value, Value] | None = None
) -> LoopPlan:
    """The steps that compute `outputs`: an output in the place of the input that `olds` names for
    it, where that is possible."""
    order = schedule([*outputs, *(ok for ok, _ in graph.checks)])
    for step in order.steps:
        if isinstance(step, Single) and isinstance(step.value, Scan):
            _plan_loop(step, step.value)
    nests = {
        step: Nest(step, order.policy) for step in order.steps if isinstance(step, FusionGroup)
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
    single.inner = inner = plan_loops(step.graph, step.outputs, step.olds(histories))
    inner.is_step = True
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
    if inner.is_large:
        room = Item((inner.memory.size,), np.dtype(np.uint8), (loop,), "", ("work", 0))
        single.items.append(room)
