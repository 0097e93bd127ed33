"""Loops as rows: a step is recorded once, and so are its pullback and its pushforward.

A `Body` is the program of one step, `(i, *constants, *state, *xs) -> (*state, *ys)`. The row `loop`
runs it n times. Its results, in order: the state at the end, the ys stacked, and the states before
and after each step, stacked; `outs` says which of them are wanted, joined in one flat array. Only
what is wanted is kept by what is emitted, so states are stored where a pullback reads them and
nowhere else.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..array import Array
from ..core import Aval, Primitive, Unplanned, bind, new_level
from ..dual import Dual
from ..symbols import Symbol
from ..transforms import gradient
from .program import Program, replay
from .trace import Recorder

_INDEX = Aval.of((), np.dtype(np.int64))


class _BodyRecorder(Recorder):
    """A recorder of a step: arrays from outside of the loop become inputs of the step."""

    def __init__(self, level: int):
        super().__init__(level)
        self.lifted: dict[int, tuple[Symbol, Any]] = {}

    def apply(self, primitive: Primitive, args: Sequence, params: dict) -> Any:
        return super().apply(primitive, [self.lift(arg) for arg in args], params)

    def lift(self, x: Any) -> Any:
        """The input that stands for an array from outside; anything else itself."""
        outside = isinstance(x, Array) and x.level < self.level
        if not outside and not isinstance(x, np.ndarray):
            return x
        if id(x) not in self.lifted:
            aval = x.aval if isinstance(x, Array) else Aval.of(x.shape, x.dtype)
            self.lifted[id(x)] = (self.input(aval, isinstance(x, Symbol) and x.weak), x)
        return self.lifted[id(x)][0]

    def output(self, x: Any) -> Symbol:
        """A result of the step as a symbol."""
        x = self.lift(x)
        if isinstance(x, Symbol):
            return x
        return self.full(x, Aval.of((), np.asarray(x).dtype))


class Body:
    """A recorded step, and how often and in which direction it runs."""

    def __init__(self, name: str, program: Program, n: int, counts: tuple, reverse: bool):
        self.name, self.program, self.n, self.reverse = name, program, n, reverse
        self.constants, self.states, self.xs = counts
        self.lowered: Any = None  # kept by what lowers it

    @property
    def avals(self) -> list[Aval]:
        """Of the results: the state, the ys, the states of all steps."""
        every = [output.aval for output in self.program.outputs]
        states, ys = every[: self.states], every[self.states :]
        return [
            *states,
            *(Aval.of((self.n, *y.shape), y.dtype) for y in ys),
            *(Aval.of((self.n + 1, *s.shape), s.dtype) for s in states),
        ]

    @property
    def ys(self) -> int:
        return len(self.program.outputs) - self.states

    def run(self, args: Sequence, outs: Sequence[int] | None = None) -> list[Any]:
        """Results of the loop on any values, of all the results where `outs` is None."""
        avals = self.avals
        outs = range(self.states + self.ys) if outs is None else outs
        found: dict[int, Any] = {}
        floats = tuple(k for k in outs if avals[k].dtype.kind == "f")
        if floats:
            flat = bind(loop, *args, body=self, outs=floats)
            found = dict(zip(floats, self.parts(flat, floats), strict=True))
        for k in outs:
            if k not in found:
                whole = bind(loop, *map(_bottom, args), body=self, outs=(k,))
                part = np.reshape(whole, avals[k].shape)
                # Layout of bools gives floats.
                found[k] = part != 0 if avals[k].dtype.kind == "b" else part
        return [found[k] for k in outs]

    def parts(self, flat: Any, outs: Sequence[int]) -> list[Any]:
        """The results that a flat array holds."""
        found, at, avals = [], 0, self.avals
        for k in outs:
            part = flat if len(outs) == 1 else flat[at : at + avals[k].size]
            at += avals[k].size
            part = np.reshape(part, avals[k].shape)
            found.append(part if part.dtype == avals[k].dtype else part.astype(avals[k].dtype))
        return found

    def joined(self, outs: Sequence[int]) -> Aval:
        avals = [self.avals[k] for k in outs]
        return Aval.of((sum(a.size for a in avals),), np.result_type(*(a.dtype for a in avals)))

    def evaluate(self, args: Sequence, outs: Sequence[int]) -> np.ndarray:
        """The loop in plain Python: what is emitted is compared with it."""
        c, s = self.constants, self.states
        avals = [symbol.aval for symbol in self.program.inputs[1:]]
        constants = args[:c]
        state = [np.asarray(x, a.dtype) for x, a in zip(args[c : c + s], avals[c:], strict=False)]
        states, ys = [state], []
        for i in range(self.n - 1, -1, -1) if self.reverse else range(self.n):
            results = self.program.interpret(i, *constants, *state, *(x[i] for x in args[c + s :]))
            state = results[:s]
            states.append(state)
            ys.append(results[s:])
        if self.reverse:
            states, ys = states[::-1], ys[::-1]
        every = [*state, *_stacked(ys, self.ys), *_stacked(states, s)]
        aval = self.joined(outs)
        flat = [np.reshape(every[k], -1) for k in outs if self.avals[k].size]
        return np.concatenate([np.zeros(0, aval.dtype), *flat]).astype(aval.dtype, copy=False)

    # -- derivatives: loops themselves ----------------------------------------------------------

    def pull(self, ct: Any, args: Sequence, need: Sequence[bool], outs: Sequence[int]) -> list:
        """Cotangents of the arguments: a loop over the steps from the last to the first."""
        c, s = self.constants, self.states
        avals = [symbol.aval for symbol in self.program.inputs[1:]]
        cts = dict(zip(outs, self.parts(ct, outs), strict=True))
        live = [k for k in range(s) if avals[c + k].dtype.kind == "f"]
        wanted = [k for k in range(c) if need[k] and avals[k].dtype.kind == "f"]
        wanted_xs = [
            k for k in range(len(args)) if k >= c + s and need[k] and avals[k].dtype.kind == "f"
        ]
        places = [*(c + k for k in live), *wanted, *wanted_xs]  # what the pullback is of
        stacked = self.run(args, [s + self.ys + k for k in range(s)])
        before = [states[1:] if self.reverse else states[:-1] for states in stacked]
        end = 0 if self.reverse else self.n
        seeds = []
        for k in live:
            seed = cts[k] if k in cts else zeros(args, avals[c + k])
            extra = cts.get(s + self.ys + k)
            seeds.append(seed if extra is None else seed + extra[end])
        seeds += [zeros(args, avals[k]) for k in wanted]
        y_cts = {k: cts[s + k] for k in range(self.ys) if s + k in cts}
        state_cts = {k: cts[s + self.ys + k] for k in live if s + self.ys + k in cts}
        state_cts = {k: g[1:] if self.reverse else g[:-1] for k, g in state_cts.items()}

        def step(recorder: Recorder, i: Symbol, carried: list, given: list) -> list:
            rest = iter(given)
            state = [next(rest) for _ in range(s)]
            xs = [next(rest) for _ in range(self.xs)]
            y_ct = {k: next(rest) for k in y_cts}
            state_ct = {k: next(rest) for k in state_cts}
            point = [*args[:c], *state, *xs]

            def paired(leaves: list) -> Any:
                """The results times their cotangents: its gradient is the pullback."""
                full = list(point)
                for place, leaf in zip(places, leaves, strict=True):
                    full[place] = leaf
                results = replay(self.program, [i, *full], recorder)
                pairs = [*zip((results[k] for k in live), carried, strict=False)]
                pairs += [(results[s + k], g) for k, g in y_ct.items()]
                return sum((np.sum(result * g) for result, g in pairs), 0.0)

            leaves = [point[place] for place in places]
            found = gradient(paired, leaves)[0] if leaves else []
            state_bars = [
                g + state_ct[k] if k in state_ct else g for k, g in zip(live, found, strict=False)
            ]
            sums = [
                total + g
                for total, g in zip(carried[len(live) :], found[len(live) :], strict=False)
            ]
            return [*state_bars, *sums, *found[len(live) + len(wanted) :]]

        xs = [*before, *args[c + s :], *y_cts.values(), *state_cts.values()]
        name = f"{self.name}_pullback"
        body, constants = recorded(step, name, self.n, seeds, xs, reverse=not self.reverse)
        found = body.run([*constants, *seeds, *xs])
        cotangents: list[Any] = [None] * len(args)
        for place, g in zip(places, found, strict=True):
            cotangents[place] = g
        return cotangents

    def push(self, tangents: Sequence, args: Sequence, outs: Sequence[int]) -> Any:
        """The tangent of the wanted results: a loop over states with their tangents."""
        c, s = self.constants, self.states
        inputs = [symbol.aval for symbol in self.program.inputs[1:]]
        dots = [
            None if a.dtype.kind != "f" else zeros_of(args, a, arg) if t is None else t
            for a, arg, t in zip(inputs, args, tangents, strict=True)
        ]
        live = [k for k in range(s) if dots[c + k] is not None]
        live_ys = [k for k in range(self.ys) if self.avals[s + k].dtype.kind == "f"]
        moving = [k for k in range(c + s, len(args)) if dots[k] is not None]

        def step(recorder: Recorder, i: Symbol, state: list, given: list) -> list:
            values = [*args[:c], *state[:s], *given[: self.xs]]
            given_dots = dict(zip([c + k for k in live], state[s:], strict=True))
            given_dots |= dict(zip(moving, given[self.xs :], strict=True))
            given_dots |= {k: dots[k] for k in range(c) if dots[k] is not None}
            with new_level(recorder.level + 1) as level:
                duals = [
                    Dual(value, given_dots[k], level) if k in given_dots else value
                    for k, value in enumerate(values)
                ]
                results = replay(self.program, [i, *duals], recorder)
            primals = [r.primal if _is_dual(r, level) else r for r in results]
            pushed = [r.tangent if _is_dual(r, level) else _zero_like(r) for r in results]
            return [
                *primals[:s], *(pushed[k] for k in live),
                *primals[s:], *(pushed[s + k] for k in live_ys),
            ]  # fmt: skip

        state = [*args[c : c + s], *(dots[c + k] for k in live)]
        xs = [*args[c + s :], *(dots[k] for k in moving)]
        body, constants = recorded(
            step, f"{self.name}_pushforward", self.n, state, xs, reverse=self.reverse
        )
        places = {k: s + live.index(k) for k in live}
        at = s + len(live)
        places |= {s + k: at + self.ys + live_ys.index(k) for k in live_ys}
        at += self.ys + len(live_ys)
        places |= {s + self.ys + k: at + s + live.index(k) for k in live}
        wanted = tuple(places[k] for k in outs)
        return bind(loop, *constants, *state, *xs, body=body, outs=wanted)


def recorded(
    f: Callable, name: str, n: int, state: Sequence, xs: Sequence, reverse: bool = False
) -> tuple[Body, list]:
    """The body of a step `f(recorder, i, state, xs)`, which gives the flat state and ys, and the
    arrays from outside that it uses."""
    with new_level(minimum=1) as level:
        recorder = _BodyRecorder(level)
        i = recorder.input(_INDEX, weak=True)
        states = [recorder.input(leaf_aval(x)) for x in state]
        given = [recorder.input(Aval.of(a.shape[1:], a.dtype)) for a in map(leaf_aval, xs)]
        outputs = tuple(recorder.output(x) for x in f(recorder, i, states, given))
    lifted = list(recorder.lifted.values())
    inputs = (i, *(symbol for symbol, _ in lifted), *states, *given)
    program = Program(name, inputs, (), outputs, list)
    body = Body(name, program, n, (len(lifted), len(states), len(given)), reverse)
    return body, [x for _, x in lifted]


def leaf_aval(x: Any) -> Aval:
    """Shape and dtype of a leaf in a program: ints and uints are int64, halves float64."""
    shape = x.shape if hasattr(x, "shape") else np.shape(x)
    dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    if dtype.kind == "f" and dtype.itemsize != 4:
        dtype = np.dtype(np.float64)
    return Aval.of(shape, np.dtype(np.int64) if dtype.kind in "iu" else dtype)


class _Loop(Primitive):
    """n steps of a body."""

    def evaluate(self, *args, **params):
        return params["body"].evaluate(args, params["outs"])

    def infer(self, *avals, **params) -> Aval:
        return params["body"].joined(params["outs"])

    def pullback(self, ct, out, args, need, **params):
        return params["body"].pull(ct, args, need, params["outs"])

    def pushforward(self, tangents, out, args, **params):
        return params["body"].push(tangents, args, params["outs"])


loop = _Loop(
    "loop",
    notes="n steps of a recorded body; the pullback is a loop as well; the body is recorded for "
    "one sample, so each sample has a loop of its own",
)
loop.plans = Unplanned()


def _bottom(x: Any) -> Any:
    """The value without what is tracked about it: a symbol, or plain."""
    while isinstance(x, Array) and not isinstance(x, Symbol):
        x = x.below
    return x


def zeros(values: Sequence, aval: Aval) -> Any:
    """Zeros beside `values`: a symbol where one of them is."""
    for x in map(_bottom, values):
        if isinstance(x, Symbol):
            return x.builder.full(0.0, aval)
    return np.zeros(aval.shape, aval.dtype)


def zeros_of(values: Sequence, aval: Aval, arg: Any) -> Any:
    """Zeros of the shape of an argument."""
    return zeros(values, Aval.of(arg.shape if hasattr(arg, "shape") else aval.shape, aval.dtype))


def _zero_like(x: Any) -> Any:
    return x.full_like(0.0) if isinstance(x, Array) else np.zeros(np.shape(x))


def _is_dual(x: Any, level: int) -> bool:
    return isinstance(x, Dual) and x.level == level


def _stacked(rows: list[list], count: int) -> list[np.ndarray]:
    return [np.asarray([row[k] for row in rows]) for k in range(count)]
