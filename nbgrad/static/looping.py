"""Loops in the lowered program: the step as a program of its own, and the `for` that calls it.

A `loop` value takes constants, the first state and stacked xs, and gives items: `("state", k)` at
the end, `("y", k)` stacked, `("states", k)` before and after each step, `("check", k)` for what
must hold in each. A state whose steps nobody reads lies in one buffer where a step can write over
it, else in a pair of them, read and written in turn.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .fuse import Single
from .ir import Graph
from .memory import Memory
from .pull import literal
from .roots import window_of
from .values import BOOL, Value, number_of


@dataclass(eq=False)
class Step:
    """The lowered body of a loop; `outputs` are the state and the ys, `planner` is what plans."""

    graph: Graph
    outputs: list[Value]
    planner: Callable
    n: int
    constants: int
    states: int
    xs: int
    reverse: bool

    plans: dict[frozenset, tuple] = field(default_factory=dict)

    def plan(self, items: Iterable[tuple]) -> tuple:
        """The steps, nests and buffers of the body of a loop with such items."""
        kept = frozenset(k for kind, k in items if kind == "states")
        if kept not in self.plans:
            first = 1 + self.constants
            olds = {
                value: self.graph.inputs[first + k]
                for k, value in enumerate(self.outputs[: self.states])
                if value.shape != () and k not in kept
            }
            self.plans[kept] = self.planner(self.graph, self.outputs, olds)
        return self.plans[kept]

    def work(self, items: Iterable[tuple]) -> int:
        """Bytes of scratch that the caller gives to each step."""
        memory: Memory = self.plan(items)[2]
        return memory.size

    def rooms(self, loop: Value, used: list[Value]) -> list[Value]:
        """Buffers that the loop needs besides its items."""
        have = {item.data for item in used}
        updates = self.plan(have)[2].updates
        rooms = []
        for k, value in enumerate(self.outputs):
            if value.shape == ():
                continue
            if k >= self.states:
                if ("y", k - self.states) not in have:
                    rooms.append((("unread", k), value.shape, value.dtype))
            elif k in updates:
                if ("state", k) not in have:
                    rooms.append((("state", k), value.shape, value.dtype))
            elif ("states", k) not in have:
                rooms.append((("pair", k), (2, *value.shape), value.dtype))
        if work := self.work(have):
            rooms.append((("work", 0), (work,), np.dtype(np.uint8)))
        return [Value("item", shape, dtype, (loop,), key, "") for key, shape, dtype in rooms]


def write_loop(module: Any, single: Single) -> None:
    """The lines of a loop in the core that runs it."""
    loop, step = single.value, single.value.data
    items = {item.data: item for item in single.items}
    plan = step.plan(items)
    updates = plan[2].updates
    inner = module.body(step.graph, step.outputs, plan)
    each, n = module.fresh(), step.n
    before: list[str] = []  # the loop
    first: list[str] = []  # in a step, before its call
    after: list[str] = []
    given = [each]

    def held(value: Value) -> str:
        """A value that every step is given as it is."""
        if value.shape == ():
            return _scalar(module, value)
        source, start = window_of(value)
        return module.pointer(source, start)

    constants = [held(arg) for arg in loop.args[: step.constants]]
    end = step.constants + step.states + step.xs
    captured = [held(arg) for arg in loop.args[end:]]
    given += constants
    targets: list[str] = []
    returned: list[str] = []
    last = []
    for k in range(step.states):
        start, value = loop.args[step.constants + k], step.outputs[k]
        states = items.get(("states", k))
        final = items.get(("state", k))
        if value.shape == ():
            name = module.fresh()
            before.append(f"{name} = {_scalar(module, start)}")
            given.append(name)
            returned.append(name)
            if states is not None:
                place = f"{module.pointer(states)}[{_plus(each, step.reverse)}]"
                first.append(f"{place} = {name}")
                last.append(f"{module.pointer(states)}[{0 if step.reverse else n}] = {name}")
            if final is not None:
                module.scalars[final] = name
            continue
        size = value.size
        if k in updates:
            place = module.pointer(items["state", k])
            before.append(f"{_copy(module)}({held(start)}, {place}, {size})")
            given.append(place)
            continue
        if states is not None:
            base = module.pointer(states)
            read, write = (_plus(each, step.reverse), _plus(each, not step.reverse))
            begin, done = (n, 0) if step.reverse else (0, n)
        else:
            base = module.pointer(items["pair", k])
            read, write = f"({each} & 1)", f"(1 - ({each} & 1))"
            begin, done = ((n - 1) & 1, 1) if step.reverse else (0, n & 1)
        copy = _copy(module)
        before.append(f"{copy}({held(start)}, {_shifted(base, begin * size)}, {size})")
        given.append(f"shift({base}, {read} * {size})")
        targets.append(f"shift({base}, {write} * {size})")
        if final is not None:
            after.append(f"{copy}({_shifted(base, done * size)}, {module.pointer(final)}, {size})")
    for arg in loop.args[step.constants + step.states : end]:
        source, start = window_of(arg)
        size = arg.size // max(n, 1)
        if len(arg.shape) == 1:
            truth = " != 0" if arg.dtype == BOOL else ""
            given.append(f"{module.pointer(source, start)}[{each}]{truth}")
        else:
            given.append(f"shift({module.pointer(source, start)}, {each} * {size})")
    then: list[str] = []
    for k, value in enumerate(step.outputs[step.states :]):
        item = items.get(("y", k))
        if value.shape == ():
            returned.append(module.fresh())
            if item is not None:
                then.append(f"{module.pointer(item)}[{each}] = {returned[-1]}")
        elif item is not None:
            targets.append(f"shift({module.pointer(item)}, {each} * {value.size})")
        else:
            targets.append(module.pointer(items["unread", step.states + k]))
    for k in range(len(step.graph.checks)):
        name, ok = module.fresh(), module.fresh()
        before.append(f"{ok} = True")
        then.append(f"{ok} = {ok} & {name}")
        returned.append(name)
        if ("check", k) in items:
            module.scalars[items["check", k]] = ok
    if step.work(items):
        targets.append(module.pointer(items["work", 0]))
    call = f"{inner.name}_core({', '.join([*given, *captured, *targets])})"
    steps = f"range({n - 1}, -1, -1)" if step.reverse else f"range({n})"
    lines = [*before, f"for {each} in {steps}:"]
    body = [*first, f"{', '.join(returned)}, = {call}" if returned else call, *then]
    lines += ["    " + line for line in body]
    module.lines += [(line, loop.line) for line in [*lines, *last, *after]]


def _copy(module: Any) -> str:
    return module.kernel(
        ["(p0, p1, n):", "    for i in range(n):", "        p1[i] = p0[i]"], "copy"
    )


def _scalar(module: Any, value: Value) -> str:
    number = number_of(value)
    return module.scalars[value] if number is None else literal(number, value.dtype)


def _plus(name: str, more: bool) -> str:
    return f"({name} + 1)" if more else name


def _shifted(pointer: str, count: int) -> str:
    return f"shift({pointer}, {count})" if count else pointer
