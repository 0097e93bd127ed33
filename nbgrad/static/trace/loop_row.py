"""The primitive `loop`, which runs a recorded body n times, and its derivatives and batching.

Its results, in order: the final state, the stacked ys, the stacked states before and after each
step, and those at the starts of spans. Its value is the flat array of the results `outs`. The
compiled loop stores only these, so states are stored only if a pullback reads them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeGuard

import numpy as np

from ...core.array import Array
from ...core.primitive import Aval, Unplanned, bind, new_level
from ...core.symbols import Symbol
from ...rules import batching
from ...values.batched import Batched
from ...values.dual import Dual
from .body import Body, BodyRecorder, recorded
from .loop_pull import pull
from .loop_run import Programs, run, zero_like, zeros_of
from .program import ArrayValue, Operand, replay
from .reach import reached
from .samples import chosen, joined_samples, only
from .unchanged import run_changing


def push(
    loop: Programs, body: Body, tangents: Sequence, args: Sequence, outs: Sequence[int]
) -> Operand:
    """Return the tangent of the results `outs`, by a loop over states and their tangents."""
    c, s = body.constants, body.states
    inputs = [symbol.aval for symbol in body.program.inputs[1:]]
    dots = [t if a.dtype.kind == "f" else None for a, t in zip(inputs, tangents, strict=True)]
    # Results that no tangent reaches have none, except for those that are wanted.
    active = reached(body, [k for k, t in enumerate(dots) if t is not None])
    active.update(number if kind != "y" else s + number for kind, number in map(body.key, outs))
    live = [k for k in range(s) if k in active and inputs[c + k].dtype.kind == "f"]
    live_ys = [k for k, y in enumerate(body.program_ys) if s + k in active and y.dtype.kind == "f"]
    for k in (c + k for k in live):
        dots[k] = zeros_of(args, inputs[k], args[k]) if dots[k] is None else dots[k]
    moving = [k for k in range(c + s, len(args)) if dots[k] is not None]
    last = s - 2 if body.stops else s  # the two states of the ending stay last

    def step(recorder: BodyRecorder, i: Symbol, state: list, slices: list) -> list:
        primal_state = [*state[:last], *state[last + len(live) :]]
        values = [*args[:c], *primal_state, *slices[: body.xs]]
        dot_by_place = dict(zip([c + k for k in live], state[last:], strict=False))
        dot_by_place |= dict(zip(moving, slices[body.xs :], strict=True))
        dot_by_place |= {k: dots[k] for k in range(c) if dots[k] is not None}
        with new_level() as level:
            duals = [
                Dual(value, dot_by_place[k], level) if k in dot_by_place else value
                for k, value in enumerate(values)
            ]
            results = replay(body.program, [i, *duals], recorder)
        primals = [r.primal if _is_dual(r, level) else r for r in results]
        pushed = [r.tangent if _is_dual(r, level) else zero_like(r) for r in results]
        return [
            *primals[:last], *(pushed[k] for k in live), *primals[last:s],
            *primals[s:], *(pushed[s + k] for k in live_ys),
        ]  # fmt: skip

    start = args[c : c + s]
    state = [*start[:last], *(dots[c + k] for k in live), *start[last:]]
    xs = [*args[c + s :], *(dots[k] for k in moving)]
    moved, constants = _like(
        body, step, "pushforward", state, xs, args[0] if body.counted else None
    )

    def place(k: int) -> int:
        """Return the position of the tangent of a result."""
        kind, number = body.key(k)
        order, first = (live_ys, body.ys) if kind == "y" else (live, last)
        return moved.outs(kind)[first + order.index(number)]

    out_places = tuple(map(place, outs))
    return bind(loop, *constants, *state, *xs, body=moved, outs=out_places)


def batch(
    loop: Programs, body: Body, size: int, args: Sequence, batched: Sequence[bool],
    outs: Sequence[int],
) -> Any:  # fmt: skip
    """Return the results `outs` for all samples, by a loop whose step computes all of them. Samples
    with their own number of iterations keep their state after the last one."""
    c, s = body.constants, body.states
    own_counts = body.counted and batched[0]
    dependent = reached(body, [k for k, has in enumerate(batched) if has])
    stops = body.stops and not dependent.isdisjoint((s - 2, s - 1))  # each sample for itself
    spread = [own_counts or stops or k in dependent for k in range(s + body.ys)]
    start = [
        x if isinstance(x, Array) else np.asarray(x, symbol.dtype)
        for x, symbol in zip(args[c : c + s], body.program.inputs[1 + c :], strict=False)
    ]
    state = [
        batching.spread(size, [x], [has])[0] if of_all else x
        for x, has, of_all in zip(start, batched[c : c + s], spread, strict=False)
    ]
    xs = [
        np.moveaxis(x, 0, 1) if has else x
        for x, has in zip(args[c + s :], batched[c + s :], strict=True)
    ]
    split = [*batched[:c], *spread[:s], *batched[c + s :]]
    # The loop ends after the last sample.
    ends = [np.zeros((), np.int64), np.any(state[-1])] if stops else []
    count = (np.max(args[0]) if own_counts else args[0]) if body.counted else None

    def step(recorder: BodyRecorder, i: Symbol, state: list, slices: list) -> list:
        mine, made = state[:s], state[s : s + 1]
        values = [*args[:c], *mine, *slices]
        values = [recorder.lift(x) if has else x for x, has in zip(values, split, strict=True)]
        takes = mine[-1] if stops else i < recorder.lift(args[0]) if own_counts else None
        with new_level() as level:
            samples = [
                Batched(x if takes is None else only(takes, x), level) if has else x
                for x, has in zip(values, split, strict=True)
            ]
            results = replay(body.program, [i, *samples], recorder)
        has = [isinstance(x, Batched) and x.level == level for x in results]
        results = [x.value if one else x for x, one in zip(results, has, strict=True)]
        results = [
            batching.spread(size, [x], [one])[0] if of_all else x
            for x, one, of_all in zip(results, has, spread, strict=True)
        ]
        if takes is not None:
            before = [*mine, *(zeros_of(values, Aval.of(y.shape, y.dtype), y) for y in results[s:])]
            results = [chosen(takes, x, y) for x, y in zip(results, before, strict=True)]
        ending = [made[0] + 1, np.any(results[s - 1])] if stops else []
        return [*results[:s], *ending, *results[s:]]

    state += ends
    many, constants = _like(body, step, "batch", state, xs, count)
    places = [(kind, number) for kind, number in map(body.key, outs)]
    wanted = [many.outs(kind)[number] for kind, number in places]
    parts: list[Any] = [*run(loop, many, [*constants, *state, *xs], wanted)]
    for at, (kind, number) in enumerate(places):
        if not spread[number if kind != "y" else s + number]:
            (parts[at],) = batching.spread(size, [parts[at]], [False])
        elif kind != "state":
            parts[at] = np.moveaxis(parts[at], 1, 0)
    return joined_samples(parts)


def _like(
    body: Body, step: Callable, what: str, state: Sequence, xs: Sequence, count: Operand | None
) -> tuple[Body, list]:
    """Record another step, with the direction, spans and ending of `body`."""
    return recorded(
        step, f"{body.name}_{what}", body.n, state, xs, body.reverse, body.spans,
        body.ending, count, body.too_long,
    )  # fmt: skip


class _Loop(Programs):
    """A loop of n steps."""

    def evaluate(self, *args, **params):
        return params["body"].evaluate(args, params["outs"])

    def infer(self, *avals, **params) -> Aval:
        return params["body"].joined(params["outs"])

    def pullback(self, ct, out, args, need, **params):
        return pull(loop, params["body"], ct, args, need, params["outs"])

    def pushforward(self, tangents, out, args, **params):
        return push(loop, params["body"], tangents, args, params["outs"])

    def form(self, graph, symbol, *args):
        return graph.loop(symbol, args)

    def batch(self, size, args, batched, **params):
        return batch(loop, params["body"], size, args, batched, params["outs"])


loop = _Loop("loop", notes="n steps of a recorded body; so are the pullback and the pushforward")
loop.plans = Unplanned()


class _Whole(_Loop):
    """`loop` for results that are integers or bools."""

    registered = differentiable = False


loop.whole = _Whole("loop")


def run_loop(body: Body, args: Sequence) -> list[ArrayValue]:
    """Return the final state and the ys of a loop, for values of any kind."""
    return run_changing(partial(run, loop), body, args)


def _is_dual(x: Operand, level: int) -> TypeGuard[Dual]:
    return isinstance(x, Dual) and x.level == level
