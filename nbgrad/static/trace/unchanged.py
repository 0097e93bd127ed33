"""States and ys that are the same in all steps of a loop.

A state that the step returns unchanged becomes a constant of the loop: no step copies it, and a
pullback needs no stored copy of it for each step. A y that depends on constants alone is computed
once, and broadcast along the steps.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.array import Array
from ...core.symbols import Builder, Symbol, topological
from .body import Body
from .loop_run import builder_of
from .program import ArrayValue, Operand, replay_from


def run_changing(
    run: Callable[[Body, Sequence], list[ArrayValue]], body: Body, args: Sequence[Operand]
) -> list[ArrayValue]:
    """Return the final state and the ys of a loop, as `run` does for the body without those that
    never change. The body is changed."""
    builder = builder_of(args)
    if builder is None:
        return run(body, args)
    c, s, args = body.constants, body.states, [*args]
    states = _unchanged_states(body)
    if body.program.checked and len(states) == body.states:
        states = states[1:]  # the loop has to run for its checks
    for k in states:
        args[c + k] = _held(args[c + k], builder)
    highest = max((x for x in args if isinstance(x, Array)), key=lambda x: x.level)
    found: dict[int, Any] = {k: _raised(args[c + k], highest)._fresh() for k in states}
    args = [*args[:c], *(args[c + k] for k in states), *_without(args[c:], states)]
    _make_constant(body, states)
    first = 1 + body.constants
    ys = _constant_ys(body)
    values = dict(zip(body.program.inputs[1:first], args, strict=False))
    rows = replay_from(values, [*ys.values()], builder)
    for k, row in zip(ys, rows, strict=True):
        found[s + k] = _raised(np.broadcast_to(row, (body.n, *row.shape)), highest)
    outputs = body.program.outputs
    outputs = (*outputs[: body.states], *_without(outputs[body.states :], ys))
    body.program = replace(body.program, outputs=outputs)
    rest = iter(run(body, args) if outputs else [])
    return [found[k] if k in found else next(rest) for k in range(len(outputs) + len(found))]


def _unchanged_states(body: Body) -> list[int]:
    """Return the states that the step returns unchanged, apart from the two of an ending."""
    first = 1 + body.constants
    states = body.program.inputs[first : first + body.states]
    last = body.states - 2 if body.stops else body.states
    return [k for k in range(last) if body.program.outputs[k] is states[k]]


def _held(x: Operand, builder: Builder) -> Array:
    return x if isinstance(x, Array) else builder.handed(builder.held(np.asarray(x)))


def _raised(x: Any, highest: Array) -> Any:
    """Return a value with the level of the results of a loop, at which they may be written to."""
    return highest.constant(x) if x.level < highest.level and x.dtype.kind == "f" else x


def _make_constant(body: Body, states: Sequence[int]) -> None:
    """Make the last constants of a body of these states."""
    inputs, first = body.program.inputs, 1 + body.constants
    moved = [inputs[first + k] for k in states]
    body.program = replace(
        body.program,
        inputs=(*inputs[:first], *moved, *_without(inputs[first:], states)),
        outputs=(*_without(body.program.outputs, states),),
    )
    body.constants += len(states)
    body.states -= len(states)


def _constant_ys(body: Body) -> dict[int, Symbol]:
    """Return the ys that depend on constants alone, and are computed without a check."""
    first = 1 + body.constants
    varying = {body.program.inputs[0], *body.program.inputs[first:], *body.program.checked}
    ys = body.program.outputs[body.states :]
    return {k: y for k, y in enumerate(ys) if varying.isdisjoint(topological([y]))}


def _without(values: Sequence, places: Container[int]) -> list:
    return [x for k, x in enumerate(values) if k not in places]
