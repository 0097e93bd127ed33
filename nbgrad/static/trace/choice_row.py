"""The primitive `cond`, which runs one of two recorded programs, and its derivatives and batching.

Its arguments are a condition and operands. Its value is the flat array of the results `outs` of the
program that runs. If each sample of a batch has its own condition, both programs may run: each on
the samples that take it, and on copies of one of these in place of the others. So a value such as
nan, which a sample would have in the program that it does not take, is never computed.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.array import Array
from ...core.memory import inside_body, is_mutable, layout_of
from ...core.primitive import Aval, Unplanned, bind, new_level
from ...core.symbols import Symbol
from ...rules import batching
from ...transforms import gradient
from ...values.batched import Batched
from ...values.dual import Dual
from .body import BodyRecorder, Joined, leaf_aval
from .loop_run import Programs, run, zero_like, zeros
from .program import Operand, Program, replay
from .samples import chosen, joined_samples, only


class Sides(Joined):
    """Two programs with results of equal types, each with the operands at its `places`."""

    def __init__(self, sides: Sequence[tuple[Program, tuple[int, ...]]], operands: Sequence[Aval]):
        self.programs = [program for program, _ in sides]
        self.places = [places for _, places in sides]
        self.operands = list(operands)
        self.lowered: Any = None  # a cache of the lowering

    @property
    def avals(self) -> list[Aval]:
        return [output.aval for output in self.programs[0].outputs]

    @property
    def shown(self) -> range:
        return range(len(self.programs[0].outputs))

    def evaluate(self, args: Sequence, outs: Sequence[int]) -> np.ndarray:
        """Run one program in plain Python: the reference for the compiled ones."""
        side = 0 if args[0] else 1
        results = self.side(side, args[1:], lambda program, given: program.interpret(*given))
        flat = [np.reshape(results[k], -1) for k in outs]
        return np.concatenate(flat).astype(self.joined(outs).dtype, copy=False)

    def side(self, side: int, operands: Sequence, apply: Callable) -> list:
        """Return `apply(program, operands)` for the program of a side."""
        return apply(self.programs[side], [operands[place] for place in self.places[side]])


Side = Callable[[BodyRecorder, list], Sequence]
"""A function of a recorder and symbols of operands, which is recorded."""


def sides_of(pair: tuple[Side, Side], name: str, operands: Sequence) -> tuple[Sides, list]:
    """Record both sides. Return them with all operands, including arrays from outside."""
    avals = list(map(leaf_aval, operands))
    given, sides = list(operands), []
    for f in pair:
        with new_level() as level:
            recorder = BodyRecorder(level)
            own = [recorder.input(leaf_aval(x), _is_weak(x)) for x in operands]
            handles = [recorder.handed(x) for x in own]
            for handle, x in zip(handles, operands, strict=True):
                if isinstance(x, Array):
                    handle.origin = layout_of(x)
                    if not x.shape and is_mutable(x):
                        handle.views = [16]  # an array, and no number
            with inside_body(level):
                results = f(recorder, handles)
            outputs = tuple(map(recorder.output, results))
        lifted = recorder.captured.pairs()
        inputs = (*own, *(symbol for symbol, _ in lifted))
        program = Program(name, inputs, (), outputs, list, checked=tuple(recorder.checked))
        places = (*range(len(operands)), *range(len(given), len(given) + len(lifted)))
        sides.append((program, places))
        given += [x for _, x in lifted]
        avals += [symbol.aval for symbol, _ in lifted]
    return Sides(sides, avals), given


def choose(sides: Sides, pred: Operand, operands: Sequence) -> list:
    """Return the results of one side, for values of any kind."""
    return run(cond, sides, [pred, *operands])


class _Cond(Programs):
    """One of two programs."""

    def evaluate(self, *args, **params):
        return params["body"].evaluate(args, params["outs"])

    def infer(self, *avals, **params) -> Aval:
        return params["body"].joined(params["outs"])

    def form(self, graph, symbol, *args):
        return graph.choice(symbol, args)

    def pullback(self, ct, out, args, need, **params):
        sides, outs = params["body"], params["outs"]
        pred, *operands = args
        wanted = [
            k for k, a in enumerate(sides.operands) if need[1 + k] and a.dtype.kind == "f"
        ]  # fmt: skip
        cts = sides.parts(ct, outs)

        def pulled(side: int) -> Side:
            def back(recorder: BodyRecorder, inputs: list) -> list:
                point, seeds = inputs[: len(operands)], inputs[len(operands) :]
                mine = [k for k in wanted if k in sides.places[side]]

                def paired(leaves: list) -> Operand:
                    """Return the inner product of results and cotangents; its gradient is the
                    pullback."""
                    full = list(point)
                    for k, leaf in zip(mine, leaves, strict=True):
                        full[k] = leaf
                    results = sides.side(side, full, lambda p, given: replay(p, given, recorder))
                    pairs = zip((results[k] for k in outs), seeds, strict=True)
                    return sum((np.sum(result * g) for result, g in pairs), 0.0)

                found = gradient(paired, [point[k] for k in mine])[0] if mine else []
                bars = dict(zip(mine, found, strict=True))
                return [bars[k] if k in bars else zero_like(point[k]) for k in wanted]

            return back

        pair = pulled(0), pulled(1)
        back, given = sides_of(pair, f"{sides.programs[0].name}_pullback", [*operands, *cts])
        bars = dict(zip(wanted, choose(back, pred, given), strict=True))
        return [None, *(bars.get(k) for k in range(len(operands)))]

    def pushforward(self, tangents, out, args, **params):
        sides, outs = params["body"], params["outs"]
        pred, *operands = args
        moving = [
            k for k, a in enumerate(sides.operands)
            if a.dtype.kind == "f" and tangents[1 + k] is not None
        ]  # fmt: skip
        dots = [tangents[1 + k] for k in moving]

        def pushed(side: int) -> Side:
            def forward(recorder: BodyRecorder, inputs: list) -> list:
                point = inputs[: len(operands)]
                with new_level() as level:
                    for k, dot in zip(moving, inputs[len(operands) :], strict=True):
                        point[k] = Dual(point[k], dot, level)
                    results = sides.side(side, point, lambda p, given: replay(p, given, recorder))
                return [
                    x.tangent if isinstance(x, Dual) and x.level == level else zero_like(x)
                    for x in (results[k] for k in outs)
                ]

            return forward

        pair = pushed(0), pushed(1)
        name = f"{sides.programs[0].name}_pushforward"
        moved, given = sides_of(pair, name, [*operands, *dots])
        return bind(cond, pred, *given, body=moved, outs=tuple(moved.shown))

    def batch(self, size, args, batched, **params):
        sides, outs = params["body"], params["outs"]
        (pred, *operands), (splits, *split) = args, batched

        def sampled(side: int, chosen: Operand | None = None) -> Side:
            def all_samples(recorder: BodyRecorder, inputs: list) -> list:
                with new_level() as level:
                    values = [
                        Batched(recorder.lift(x), level) if has else x
                        for x, has in zip(inputs, split, strict=True)
                    ]
                    results = sides.side(side, values, lambda p, given: replay(p, given, recorder))
                mine = [isinstance(x, Batched) and x.level == level for x in results]
                whole = [x.value if has else x for x, has in zip(results, mine, strict=True)]
                spread = batching.spread(size, whole, mine)
                return [spread[k] for k in outs]

            return all_samples

        name = f"{sides.programs[0].name}_batch"
        if not splits:
            many, given = sides_of((sampled(0), sampled(1)), name, operands)
            return joined_samples(choose(many, pred, given))
        results = []
        for side, takes in enumerate((pred, np.logical_not(pred))):
            safe = [
                only(takes, x) if has else x for x, has in zip(operands, split, strict=True)
            ]  # fmt: skip

            def nothing(recorder: BodyRecorder, inputs: list) -> list:
                avals = (sides.avals[k] for k in outs)
                return [zeros(inputs, Aval.of((size, *a.shape), a.dtype)) for a in avals]

            many, given = sides_of((sampled(side), nothing), name, safe)
            results.append(joined_samples(choose(many, np.any(takes), given)))
        return chosen(pred, *results)


cond = _Cond("cond", notes="one of two recorded sides; so are the pullback and the pushforward")
cond.plans = Unplanned()


class _Whole(_Cond):
    """`cond` for results that are integers or bools."""

    registered = differentiable = False


cond.whole = _Whole("cond")


def _is_weak(x: Operand) -> bool:
    return x.weak if isinstance(x, Symbol) else type(x) in (float, int)
