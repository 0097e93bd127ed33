"""Loops as rows: a step is recorded once, and so are its pullback, its pushforward and its batch.

The row `loop` runs a body n times. Its results, in order: the state at the end, the ys stacked, and
the states before and after each step, stacked; `outs` says which of them are wanted, joined in one
flat array. Only what is wanted is kept by what is emitted, so states are stored where a pullback
reads them and nowhere else.
"""

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from ...core.array import Array
from ...core.primitive import Aval, Primitive, Unplanned, bind, new_level
from ...core.symbols import Symbol
from ...rules import batching
from ...transforms import gradient
from ...values.batched import Batched
from ...values.dual import Dual
from .body import Body, BodyRecorder, recorded
from .program import ArrayValue, Operand, replay


def run(body: Body, args: Sequence, outs: Sequence[int] | None = None) -> list[ArrayValue]:
    """Results of the loop on any values, of all the results where `outs` is None."""
    avals = body.avals
    outs = range(body.states + body.ys) if outs is None else outs
    results: dict[int, Any] = {}
    floats = tuple(k for k in outs if avals[k].dtype.kind == "f")
    if floats:
        flat = bind(loop, *args, body=body, outs=floats)
        results = dict(zip(floats, body.parts(flat, floats), strict=True))
    for k in outs:
        if k not in results:
            whole = bind(loop, *map(_untracked, args), body=body, outs=(k,))
            part = np.reshape(whole, avals[k].shape)
            # Layout of bools gives floats.
            results[k] = part != 0 if avals[k].dtype.kind == "b" else part
    return [results[k] for k in outs]


def pull(
    body: Body, ct: ArrayValue, args: Sequence, need: Sequence[bool], outs: Sequence[int]
) -> list:
    """Cotangents of the arguments: a loop over the steps from the last to the first."""
    c, s = body.constants, body.states
    avals = [symbol.aval for symbol in body.program.inputs[1:]]
    cts = dict(zip(outs, body.parts(ct, outs), strict=True))
    live = [k for k in range(s) if avals[c + k].dtype.kind == "f"]
    constant_places = [k for k in range(c) if need[k] and avals[k].dtype.kind == "f"]
    xs_places = [
        k for k in range(len(args)) if k >= c + s and need[k] and avals[k].dtype.kind == "f"
    ]
    places = [*(c + k for k in live), *constant_places, *xs_places]  # what the pullback is of
    stacked = run(body, args, [s + body.ys + k for k in range(s)])
    before = [states[1:] if body.reverse else states[:-1] for states in stacked]
    end = 0 if body.reverse else body.n
    seeds = []
    for k in live:
        seed = cts[k] if k in cts else zeros(args, avals[c + k])
        extra = cts.get(s + body.ys + k)
        seeds.append(seed if extra is None else seed + extra[end])
    seeds += [zeros(args, avals[k]) for k in constant_places]
    y_cts = {k: cts[s + k] for k in range(body.ys) if s + k in cts}
    state_cts = {k: cts[s + body.ys + k] for k in live if s + body.ys + k in cts}
    state_cts = {k: g[1:] if body.reverse else g[:-1] for k, g in state_cts.items()}

    def step(recorder: BodyRecorder, i: Symbol, carried: list, slices: list) -> list:
        rest = iter(slices)
        state = [next(rest) for _ in range(s)]
        xs = [next(rest) for _ in range(body.xs)]
        y_ct = {k: next(rest) for k in y_cts}
        state_ct = {k: next(rest) for k in state_cts}
        point = [*args[:c], *state, *xs]

        def paired(leaves: list) -> Operand:
            """The results times their cotangents: its gradient is the pullback."""
            full = list(point)
            for place, leaf in zip(places, leaves, strict=True):
                full[place] = leaf
            results = replay(body.program, [i, *full], recorder)
            pairs = [*zip((results[k] for k in live), carried, strict=False)]
            pairs += [(results[s + k], g) for k, g in y_ct.items()]
            return sum((np.sum(result * g) for result, g in pairs), 0.0)

        leaves = [point[place] for place in places]
        gradients = gradient(paired, leaves)[0] if leaves else []
        state_bars = [
            g + state_ct[k] if k in state_ct else g for k, g in zip(live, gradients, strict=False)
        ]
        sums = [
            total + g
            for total, g in zip(carried[len(live) :], gradients[len(live) :], strict=False)
        ]
        return [*state_bars, *sums, *gradients[len(live) + len(constant_places) :]]

    xs = [*before, *args[c + s :], *y_cts.values(), *state_cts.values()]
    name = f"{body.name}_pullback"
    back, constants = recorded(step, name, body.n, seeds, xs, reverse=not body.reverse)
    bars = run(back, [*constants, *seeds, *xs])
    cotangents: list[Any] = [None] * len(args)
    for place, g in zip(places, bars, strict=True):
        cotangents[place] = g
    return cotangents


def push(body: Body, tangents: Sequence, args: Sequence, outs: Sequence[int]) -> Operand:
    """The tangent of the wanted results: a loop over states with their tangents."""
    c, s = body.constants, body.states
    inputs = [symbol.aval for symbol in body.program.inputs[1:]]
    dots = [
        None if a.dtype.kind != "f" else zeros_of(args, a, arg) if t is None else t
        for a, arg, t in zip(inputs, args, tangents, strict=True)
    ]
    live = [k for k in range(s) if dots[c + k] is not None]
    live_ys = [k for k in range(body.ys) if body.avals[s + k].dtype.kind == "f"]
    moving = [k for k in range(c + s, len(args)) if dots[k] is not None]

    def step(recorder: BodyRecorder, i: Symbol, state: list, slices: list) -> list:
        values = [*args[:c], *state[:s], *slices[: body.xs]]
        dot_by_place = dict(zip([c + k for k in live], state[s:], strict=True))
        dot_by_place |= dict(zip(moving, slices[body.xs :], strict=True))
        dot_by_place |= {k: dots[k] for k in range(c) if dots[k] is not None}
        with new_level() as level:
            duals = [
                Dual(value, dot_by_place[k], level) if k in dot_by_place else value
                for k, value in enumerate(values)
            ]
            results = replay(body.program, [i, *duals], recorder)
        primals = [r.primal if _is_dual(r, level) else r for r in results]
        pushed = [r.tangent if _is_dual(r, level) else _zero_like(r) for r in results]
        return [
            *primals[:s], *(pushed[k] for k in live),
            *primals[s:], *(pushed[s + k] for k in live_ys),
        ]  # fmt: skip

    state = [*args[c : c + s], *(dots[c + k] for k in live)]
    xs = [*args[c + s :], *(dots[k] for k in moving)]
    moved, constants = recorded(
        step, f"{body.name}_pushforward", body.n, state, xs, reverse=body.reverse
    )
    places = {k: s + live.index(k) for k in live}
    at = s + len(live)
    places |= {s + k: at + body.ys + live_ys.index(k) for k in live_ys}
    at += body.ys + len(live_ys)
    places |= {s + body.ys + k: at + s + live.index(k) for k in live}
    out_places = tuple(places[k] for k in outs)
    return bind(loop, *constants, *state, *xs, body=moved, outs=out_places)


def batch(
    body: Body, size: int, args: Sequence, batched: Sequence[bool], outs: Sequence[int]
) -> Any:
    """The wanted results for all samples: a loop whose step takes all of them."""
    c, s = body.constants, body.states
    start = [
        x if isinstance(x, Array) else np.asarray(x, symbol.dtype)
        for x, symbol in zip(args[c : c + s], body.program.inputs[1 + c :], strict=False)
    ]
    state = batching.spread(size, start, batched[c : c + s])
    xs = [
        np.moveaxis(x, 0, 1) if has else x
        for x, has in zip(args[c + s :], batched[c + s :], strict=True)
    ]
    split = [*batched[:c], *(True for _ in state), *batched[c + s :]]

    def step(recorder: BodyRecorder, i: Symbol, state: list, slices: list) -> list:
        with new_level() as level:
            values = [
                Batched(recorder.lift(x), level) if has else x
                for x, has in zip([*args[:c], *state, *slices], split, strict=True)
            ]
            results = replay(body.program, [i, *values], recorder)
        mine = [isinstance(x, Batched) and x.level == level for x in results]
        whole = [x.value if has else x for x, has in zip(results, mine, strict=True)]
        return batching.spread(size, whole, mine)

    many, constants = recorded(step, f"{body.name}_batch", body.n, state, xs, body.reverse)
    parts: list[Any] = [*run(many, [*constants, *state, *xs], outs)]
    flat = [
        np.reshape(x if k < s else np.moveaxis(x, 1, 0), (size, -1))
        for k, x in zip(outs, parts, strict=True)
    ]
    return flat[0] if len(flat) == 1 else np.concatenate(flat, axis=1)


class _Loop(Primitive):
    """n steps of a body."""

    def evaluate(self, *args, **params):
        return params["body"].evaluate(args, params["outs"])

    def infer(self, *avals, **params) -> Aval:
        return params["body"].joined(params["outs"])

    def pullback(self, ct, out, args, need, **params):
        return pull(params["body"], ct, args, need, params["outs"])

    def pushforward(self, tangents, out, args, **params):
        return push(params["body"], tangents, args, params["outs"])

    def form(self, graph, symbol, *args):
        return graph.loop(symbol, args)

    def batch(self, size, args, batched, **params):
        return batch(params["body"], size, args, batched, params["outs"])


loop = _Loop("loop", notes="n steps of a recorded body; so are the pullback and the pushforward")
loop.plans = Unplanned()


def _untracked(x: Operand) -> Operand:
    """The value without its derivatives: a symbol, samples, or plain."""
    while isinstance(x, Array) and not isinstance(x, (Symbol, Batched)):
        x = x.below
    return x


def _bottom(x: Operand) -> Operand:
    """The symbol that a value stands on, or what is plain."""
    while isinstance(x, Array) and not isinstance(x, Symbol):
        x = x.below
    return x


def zeros(values: Sequence[Operand], aval: Aval) -> ArrayValue:
    """Zeros beside `values`: a symbol where one of them is."""
    for x in map(_bottom, values):
        if isinstance(x, Symbol):
            return x.builder.full(0.0, aval)
    return np.zeros(aval.shape, aval.dtype)


def zeros_of(values: Sequence[Operand], aval: Aval, arg: Operand) -> ArrayValue:
    """Zeros of the shape of an argument."""
    shape = aval.shape if isinstance(arg, (float, int)) else arg.shape
    return zeros(values, Aval.of(shape, aval.dtype))


def _zero_like(x: Operand) -> Operand:
    return x.full_like(0.0) if isinstance(x, Array) else np.zeros(np.shape(x))


def _is_dual(x: Operand, level: int) -> TypeGuard[Dual]:
    return isinstance(x, Dual) and x.level == level
