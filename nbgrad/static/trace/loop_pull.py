"""The pullback of a loop: a loop over its steps in reverse.

Cotangents are summed in the same order whether the states before the steps are stored or recomputed
span by span.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...core.array import Array
from ...core.primitive import Aval
from ...core.symbols import Symbol, symbol_of
from ...runtime.kinds import is_a
from ...transforms import gradient
from .body import Body, BodyRecorder, recorded
from .dear import dear
from .loop_run import Programs, builder_of, run, zero_like, zeros
from .program import ArrayValue, Operand, replay, replay_from
from .residuals import residuals, written_states
from .samples import nth
from .unchanged import run_changing
from .undo import undo


def pull(
    loop: Programs, body: Body, ct: ArrayValue, args: Sequence, need: Sequence[bool],
    outs: Sequence[int],
) -> list:  # fmt: skip
    """Return the cotangents of the arguments, by a loop from the last step to the first."""
    c, s = body.constants, body.states
    avals = [symbol.aval for symbol in body.program.inputs[1:]]
    cts = dict(zip((body.key(k) for k in outs), body.parts(ct, outs), strict=True))
    live = [k for k in range(s) if avals[c + k].dtype.kind == "f"]
    wanted = [k for k in range(len(args)) if need[k] and avals[k].dtype.kind == "f"]
    constants, xs = [k for k in wanted if k < c], [k for k in wanted if k >= c + s]
    count = body.steps(args, lambda k: run(loop, body, args, [k])[0])
    end = 0 if body.reverse else body.n if count is None else count
    writes = bool(written_states(body))
    seeds = []
    for k in live:
        seed = cts.get(("state", k), None)
        seed = zeros(args, avals[c + k], writes) if seed is None else seed
        extra = cts.get(("states", k))
        seeds.append(seed if extra is None else seed + nth(extra, end))
    seeds += [zeros(args, avals[k], writes) for k in constants]
    ys = [k for k in range(body.ys) if ("y", k) in cts]
    states = [k for k in live if ("states", k) in cts]
    stacked = [cts["y", k] for k in ys]
    stacked += [_inside(body, cts["states", k]) for k in states]
    marks = {k: cts["marks", k] for k in live if ("marks", k) in cts}
    walk = _Walk(loop, count, live, [k - c for k in constants], [k - c for k in xs], ys, states)
    bars = walk.back(body, args, seeds, stacked, marks)
    cotangents: list[Any] = [None] * len(args)
    for place, g in zip([*(c + k for k in live), *constants, *xs], bars, strict=True):
        cotangents[place] = g
    return cotangents


def _inside(body: Body, states: ArrayValue) -> ArrayValue:
    """Return the states before each step, from the states before and after all steps."""
    return states[1:] if body.reverse else states[:-1]


class _Walk(NamedTuple):
    """The parameters of a reverse pass that a loop and its spans share.

    It computes the cotangents of the states `live` and of the arguments `constants` and `xs`,
    counted from the first state, from those of the `ys` and of the `states` before steps.
    """

    loop: Programs
    steps: Operand | None  # the number of iterations, None for n
    live: Sequence[int]
    constants: Sequence[int]
    xs: Sequence[int]
    ys: Sequence[int]
    states: Sequence[int]

    def back(
        self, body: Body, args: Sequence, seeds: Sequence, cts: Sequence,
        marks: Mapping[int, ArrayValue],
    ) -> list:  # fmt: skip
        """Return the cotangents of the live states, of constants and of xs. `seeds` are those of
        the final states and the running sums of constants, `cts` those of the results of all steps,
        and `marks` those of the states at the starts of spans."""
        if body.spans:
            return self._by_spans(body, args, seeds, cts, marks)
        return self._stored(body, args, seeds, cts)

    def _stored(self, body: Body, args: Sequence, seeds: Sequence, cts: Sequence) -> list:
        """Run the reverse pass over stored states."""
        c, s = body.constants, body.states
        before = [Aval.of((body.n, *a.shape), a.dtype) for a in body.avals[:s]]
        places = [c + k for k in (*self.live, *self.constants, *self.xs)]
        live, sums = len(self.live), len(seeds)

        def step(recorder: BodyRecorder, i: Symbol, carried: list, slices: list) -> list:
            point = [*args[:c], *slices[: s + body.xs]]
            y_cts = slices[s + body.xs :]
            state_cts = dict(zip(self.states, y_cts[len(self.ys) :], strict=True))

            def paired(leaves: list) -> Operand:
                """Return the inner product of results and cotangents; its gradient is the
                pullback."""
                full = list(point)
                for place, leaf in zip(places, leaves, strict=True):
                    full[place] = leaf
                results = replay(body.program, [i, *full], recorder)
                pairs = [*zip((results[k] for k in self.live), carried, strict=False)]
                pairs += [(results[s + k], g) for k, g in zip(self.ys, y_cts, strict=False)]
                return sum((np.sum(result * g) for result, g in pairs), 0.0)

            leaves = [point[place] for place in places]
            gradients = gradient(paired, leaves)[0] if leaves else []
            # Plain ones are zeros: no result depends on the leaf.
            is_zero = [not isinstance(g, Array) for g in gradients]
            gradients = [
                zero_like(x) if zero else g
                for x, g, zero in zip(leaves, gradients, is_zero, strict=True)
            ]
            state_bars = [
                g + state_cts[k] if k in state_cts else g
                for k, g in zip(self.live, gradients, strict=False)
            ]
            others = zip(carried[live:], gradients[live:], is_zero[live:], strict=False)
            totals = [total if zero else total + g for total, g, zero in others]
            return [*state_bars, *totals, *gradients[sums:]]

        xs = [*before, *args[c + s :], *cts]
        name = f"{body.name}_pullback"
        back, constants = recorded(
            step, name, body.n, seeds, xs, not body.reverse, count=self.steps
        )
        read = back.without_unread_xs()
        xs = [None if k < s else xs[k] for k in read]
        less = self._with_residuals(body, args, seeds, back, constants, read, xs)
        if less is not None:
            return less
        states = run(self.loop, body, args, [body.outs("states")[k] for k in read if k < s])
        xs[: len(states)] = [_inside(body, x) for x in states]
        return self._run(back, [*constants, *seeds, *xs])

    def _with_residuals(
        self, body: Body, args: Sequence, seeds: Sequence, back: Body, constants: Sequence,
        read: Sequence[int], xs: Sequence,
    ) -> list | None:  # fmt: skip
        """The walk where the steps keep something else than the states that the steps `back` read,
        or more: `read` says which of the states and of what follows them the slices of its xs are.
        None where nothing else is worth it."""
        c, s, program = body.constants, body.states, back.program
        mine, inputs = body.program.inputs, program.inputs
        first = 1 + back.constants + back.states
        primals: dict[Symbol, Any] = {inputs[0]: mine[0]}
        is_recorded = builder_of(args) is not None
        for symbol, x in zip(inputs[1:], constants, strict=False):
            places = [k for k in range(c) if symbol_of(args[k]) is x]
            if places:
                primals[symbol] = mine[1 + places[0]]
            elif is_recorded and is_a(x, np.ndarray) and x.shape == ():
                primals[symbol] = x[()]  # a number of the function
        slices = dict(zip(read, inputs[first:], strict=True))
        primals |= {x: mine[1 + c + k] for k, x in slices.items() if k < s + body.xs}
        found = residuals(body, program, primals, {k: x for k, x in slices.items() if k < s})
        found = found or dear(body, program, primals)
        if found is None:
            return None

        count, needs = len(seeds), found.needs()

        def step(recorder: BodyRecorder, i: Symbol, carried: list, now: list) -> list:
            at = len(now) - len(needs)
            given = [i, *map(recorder.lift, constants), *carried[:count], *now[:at]]
            known = dict(zip([*inputs, *found.values], given, strict=True))
            kept = dict(zip(needs, now[at:], strict=True))
            for undone, after in zip(found.undone, carried[count:], strict=True):
                known[undone.state] = undo(after, undone.writes, kept)
            states = [known[undone.state] for undone in found.undone]
            every = replay_from(known, [*program.outputs, *found.checked], recorder)
            return [*every[:count], *states, *every[count : len(program.outputs)]]

        before = [Aval.of((body.n, *a.shape), a.dtype) for a in body.avals[:s]]
        ends = [body.outs("state")[undone.number] for undone in found.undone]
        results = run(self.loop, body, args, [*ends, *(body.outs("y")[k] for k in found.ys)])
        rows = results[len(ends) :]
        carried = [*seeds, *results[: len(ends)]]
        given = [before[k] if k < s else x for k, x in zip(read, xs, strict=True)]
        new, constants = recorded(
            step, back.name, body.n, carried, [*given, *rows], back.reverse, count=self.steps
        )
        kept = new.without_unread_xs()
        of_states = [read[k] for k in kept if k < len(read) and read[k] < s]
        states = run(self.loop, body, args, [body.outs("states")[k] for k in of_states])
        kept_xs = [[*xs, *rows][k] for k in kept]
        kept_xs[: len(states)] = [_inside(body, x) for x in states]
        bars = self._run(new, [*constants, *carried, *kept_xs])
        return [*bars[:count], *bars[len(carried) :]]

    def _by_spans(
        self, body: Body, args: Sequence, seeds: Sequence, cts: Sequence,
        mark_cts: Mapping[int, ArrayValue],
    ) -> list:  # fmt: skip
        """Run the reverse pass over spans, each from the state at its start. The last span comes
        first, and may be shorter."""
        c, s, length = body.constants, body.states, body.spans[0]
        whole, rest = divmod(body.n, length)
        marks = run(self.loop, body, args, body.outs("marks"))
        constants, xs = args[:c], [*args[c + s :], *cts]
        carried, after = list(seeds), []
        if rest:
            first = whole * length
            point = [first, *constants, *(m[whole] for m in marks), *(x[first:] for x in xs)]
            at = len(point) - len(cts)
            bars = self.back(body.part(rest), point[:at], carried, point[at:], {})
            carried, after = bars[: len(seeds)], bars[len(seeds) :]
            carried = self._marked(carried, {k: g[whole] for k, g in mark_cts.items()})
        part = body.part(length)

        def step(recorder: BodyRecorder, i: Symbol, carried: list, slices: list) -> list:
            of_marks = dict(zip(mark_cts, slices[len(slices) - len(mark_cts) :], strict=True))
            at = s + body.xs
            point = [i * length, *constants, *slices[:at]]
            bars = self.back(part, point, carried, slices[at : at + len(cts)], {})
            return self._marked(bars, of_marks)

        spans = [np.reshape(x[: whole * length], (whole, length, *x.shape[1:])) for x in xs]
        spans = [*(m[:whole] for m in marks), *spans, *(g[:whole] for g in mark_cts.values())]
        name = f"{body.name}_spans"
        back, lifted = recorded(step, name, whole, carried, spans, reverse=True)
        bars = self._run(back, [*lifted, *carried, *spans])
        joined = [np.reshape(g, (whole * length, *g.shape[2:])) for g in bars[len(seeds) :]]
        if rest:
            joined = [np.concatenate(both) for both in zip(joined, after, strict=True)]
        return [*bars[: len(seeds)], *joined]

    def _run(self, back: Body, args: Sequence) -> list:
        """Run a loop over the reverse steps. Cotangents to which no step adds are not in it."""
        return run_changing(partial(run, self.loop), back, args)

    def _marked(self, bars: list, mark_cts: Mapping[int, ArrayValue]) -> list:
        """Return the cotangents at the start of a span, with that of the stored state added."""
        added = [
            g + mark_cts[k] if k in mark_cts else g for k, g in zip(self.live, bars, strict=False)
        ]
        return [*added, *bars[len(self.live) :]]
