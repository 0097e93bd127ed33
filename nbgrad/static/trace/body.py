"""One step of a loop, recorded.

A `Body` is the program of a step, `(i, *constants, *state, *xs) -> (*state, *ys)`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.array import Array
from ...core.naming import tagged
from ...core.primitive import Aval, Primitive, new_level
from ...core.symbols import Symbol, recording
from ...rules.dtypes import known
from ...values.tracked import below
from .program import ArrayValue, Operand, Program
from .record import Recorder

_INDEX = Aval.of((), np.dtype(np.int64))


class Body:
    """A recorded step, and how often and in which direction it runs."""

    def __init__(self, name: str, program: Program, n: int, counts: tuple, reverse: bool):
        self.name, self.program, self.n, self.reverse = name, program, n, reverse
        self.constants, self.states, self.xs = counts
        self.lowered: Any = None  # kept by what lowers it

    @property
    def avals(self) -> list[Aval]:
        """Shapes and dtypes of the results: the state, the ys, the states of all steps."""
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

    def parts(self, flat: ArrayValue, outs: Sequence[int]) -> list[ArrayValue]:
        """The results that a flat array holds."""
        results, at, avals = [], 0, self.avals
        for k in outs:
            part = flat if len(outs) == 1 else flat[at : at + avals[k].size]
            at += avals[k].size
            part = np.reshape(part, avals[k].shape)
            results.append(part if part.dtype == avals[k].dtype else part.astype(avals[k].dtype))
        return results

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


class BodyRecorder(Recorder):
    """A recorder of a step: arrays from outside of the loop become inputs of the step."""

    def __init__(self, level: int):
        super().__init__(level)
        self.lifted: dict[int, tuple[Symbol, Any]] = {}
        if recording.recorder is not None:  # what decides about the step decides about the whole
            self.fixed = recording.recorder.fixed

    def apply(self, primitive: Primitive, args: Sequence, params: dict) -> Any:
        return super().apply(primitive, [self.lift(arg) for arg in args], params)

    def lift(self, x: Operand) -> Operand:
        """The input that stands for an array from outside; anything else itself."""
        if not isinstance(x, np.ndarray) and not (isinstance(x, Array) and x.level < self.level):
            return x
        if id(x) not in self.lifted:
            aval = x.aval if isinstance(x, Array) else Aval.of(x.shape, x.dtype)
            self.lifted[id(x)] = (self.input(aval, isinstance(x, Symbol) and x.weak), x)
        return self.lifted[id(x)][0]

    def output(self, x: Operand) -> Symbol:
        """A result of the step as a symbol."""
        x = self.lift(below(x, self.level))
        if isinstance(x, Symbol):
            return x
        assert not isinstance(x, (Array, np.ndarray))
        number: Any = x
        return self.full(number, Aval.of((), np.asarray(x).dtype))


def recorded(
    f: Callable, name: str, n: int, state: Sequence, xs: Sequence, reverse: bool = False
) -> tuple[Body, list]:
    """The body of a step `f(recorder, i, state, xs)`, which gives the flat state and ys, and the
    arrays from outside that it uses."""
    with new_level() as level:
        recorder = BodyRecorder(level)
        i = recorder.input(_INDEX, weak=True)
        states = [recorder.input(leaf_aval(x)) for x in state]
        slices = [recorder.input(Aval.of(a.shape[1:], a.dtype)) for a in map(leaf_aval, xs)]
        outputs = tuple(recorder.output(x) for x in f(recorder, i, states, slices))
    lifted = list(recorder.lifted.values())
    inputs = (i, *(symbol for symbol, _ in lifted), *states, *slices)
    program = Program(name, inputs, (), outputs, list, checked=tuple(recorder.checked))
    body = Body(name, program, tagged(n), (len(lifted), len(states), len(slices)), reverse)
    return body, [x for _, x in lifted]


def leaf_aval(x: Operand) -> Aval:
    """Shape and dtype of a leaf in a program."""
    if isinstance(x, (float, int)):
        x = np.asarray(x)
    return Aval.of(x.shape, known(x.dtype))


def _stacked(rows: list[list], count: int) -> list[np.ndarray]:
    return [np.asarray([row[k] for row in rows]) for k in range(count)]
