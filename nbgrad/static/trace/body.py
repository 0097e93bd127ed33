"""Recorded loop bodies: a `Body` is the program of one step,
`(i, *constants, *state, *xs) -> (*state, *ys)`."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.array import Array
from ...core.memory import inside_body
from ...core.primitive import Aval, Primitive, new_level
from ...core.symbols import Symbol, recording, symbol_of, topological
from ...errors import StepsError
from ...ir.naming import tagged
from ...rules.dtypes import known
from ...runtime.kinds import is_a
from ...values.tracked import below
from .program import ArrayValue, Operand, Program, replay
from .record import Recorder, argument

INDEX = Aval.of((), np.dtype(np.int64))


class Joined:
    """Base class of loops and choices, which have several results: those requested are concatenated
    in one flat array, the value of the op."""

    @property
    def avals(self) -> list[Aval]:
        """The shapes and dtypes of the results."""
        raise NotImplementedError

    @property
    def shown(self) -> range:
        """The results that users see."""
        raise NotImplementedError

    def parts(self, flat: ArrayValue, outs: Sequence[int]) -> list[ArrayValue]:
        """Split a flat array into the results `outs`."""
        results, at, avals = [], 0, self.avals
        for k in outs:
            part = flat if len(outs) == 1 else flat[at : at + avals[k].size]
            at += avals[k].size
            part = np.reshape(part, avals[k].shape)
            results.append(part if part.dtype == avals[k].dtype else part.astype(avals[k].dtype))
        return results

    def joined(self, outs: Sequence[int]) -> Aval:
        """Return the shape and dtype of the flat array of the results `outs`."""
        avals = [self.avals[k] for k in outs]
        return Aval.of((sum(a.size for a in avals),), np.result_type(*(a.dtype for a in avals)))


class Body(Joined):
    """A recorded step, with its number of iterations and direction.

    `spans` are lengths for checkpointing, each a divisor of the one before. A reverse pass keeps
    the state at the start of each span of the first length. It recomputes the other states span by
    span, with the remaining lengths within a span. Without spans it keeps the states of all steps.

    With an `ending`, a body may run less than n times. If it is "counted", its first constant is
    the number of iterations. If it "stops", the last two states are the number of steps made and
    whether there is a next one; StepsError with the message `too_long` is raised if there is a
    next one after n steps.
    """

    def __init__(
        self, name: str, program: Program, n: int, counts: tuple, reverse: bool = False,
        spans: Sequence[int] = (), ending: str = "", too_long: str = "",
    ):  # fmt: skip
        self.name, self.program, self.n, self.reverse = name, program, n, reverse
        self.constants, self.states, self.xs = counts
        self.spans = tuple(length for length in spans if 1 < length < n)
        self.ending, self.too_long = ending, too_long
        self.kept = 0  # the number of the last ys that are residuals for the pullback
        self.lowered: Any = None  # a cache of the lowering

    @property
    def stops(self) -> bool:
        return self.ending == "stops"

    @property
    def counted(self) -> bool:
        return self.ending == "counted"

    @property
    def avals(self) -> list[Aval]:
        """The shapes and dtypes of the results: the state, the ys, the states of all steps, the
        states at the starts of spans, the residuals."""
        every = [output.aval for output in self.program.outputs]
        states, ys = every[: self.states], every[self.states :]
        marks = -(-self.n // self.spans[0]) if self.spans else 0
        stacked = [Aval.of((self.n, *y.shape), y.dtype) for y in ys]
        seen = len(ys) - self.kept
        return [
            *states,
            *stacked[:seen],
            *(Aval.of((self.n + 1, *s.shape), s.dtype) for s in states),
            *(Aval.of((marks, *s.shape), s.dtype) for s in states if marks),
            *stacked[seen:],
        ]

    @property
    def ys(self) -> int:
        return len(self.program.outputs) - self.states

    @property
    def shown(self) -> range:
        return range(self.states + self.ys - self.kept)

    @property
    def program_ys(self) -> list[Aval]:
        """The shapes and dtypes of the ys of a step."""
        return [output.aval for output in self.program.outputs[self.states :]]

    def outs(self, kind: str) -> Sequence[int]:
        """Return the positions among the results of "state", "y", "states" or "marks"."""
        s, ys = self.states, self.ys - self.kept
        end = s + ys + (2 * s if self.spans else s)
        if kind == "y":
            return [*range(s, s + ys), *range(end, end + self.kept)]
        first = {"state": 0, "states": s + ys, "marks": s + ys + s}[kind]
        return range(first, first + s if kind != "marks" else end)

    def key(self, k: int) -> tuple[str, int]:
        """Return the kind of a result, and its number among those of that kind."""
        kind = next(x for x in ("state", "y", "states", "marks") if k in self.outs(x))
        return kind, self.outs(kind).index(k)

    def steps(self, args: Sequence, result: Callable[[int], Operand]) -> Operand | None:
        """Return the number of iterations, None if it is n; `result(k)` returns a result."""
        if self.stops:
            return result(self.states - 2)
        return args[0] if self.counted else None

    def without_unread_xs(self) -> list[int]:
        """Drop the xs that the step does not read; return the positions of the others."""
        first = 1 + self.constants + self.states
        needed = set(topological([*self.program.outputs, *self.program.checked]))
        read = [k for k in range(self.xs) if self.program.inputs[first + k] in needed]
        inputs = (*self.program.inputs[:first], *(self.program.inputs[first + k] for k in read))
        self.program, self.xs = dataclasses.replace(self.program, inputs=inputs), len(read)
        return read

    def keep(self, values: Sequence[Operand], checked: Sequence[Symbol]) -> list[int]:
        """Add values of the step to the ys, as residuals, and ops to the checked ones; return the
        numbers of the ys."""
        builder, outputs = self.program.inputs[0].builder, [*self.program.outputs]
        assert isinstance(builder, BodyRecorder)
        numbers = []
        for value in map(builder.output, values):
            ys = outputs[self.states :]
            places = [k for k, y in enumerate(ys) if y is value]
            numbers.append(places[0] if places else len(ys))
            if not places:
                outputs.append(value)
        self.kept += len(outputs) - len(self.program.outputs)
        every = tuple(dict.fromkeys([*self.program.checked, *checked]))
        self.program = dataclasses.replace(self.program, outputs=tuple(outputs), checked=every)
        return numbers

    def part(self, n: int) -> "Body":
        """Return a loop over n of the steps, whose first constant is the number of the first."""
        with new_level() as level:
            recorder = BodyRecorder(level)
            i, start = recorder.input(INDEX, weak=True), recorder.input(INDEX, weak=True)
            rest = [recorder.input(x.aval, x.weak) for x in self.program.inputs[1:]]
            results = replay(self.program, [recorder.handed(i) + start, *rest], recorder)
            outputs = tuple(map(recorder.output, results))
        checked = tuple(recorder.checked)
        program = Program(self.name, (i, start, *rest), (), outputs, list, checked=checked)
        counts = (self.constants + 1, self.states, self.xs)
        return Body(f"{self.name}_part", program, n, counts, spans=self.spans[1:])

    def evaluate(self, args: Sequence, outs: Sequence[int]) -> np.ndarray:
        """Run the loop in plain Python: the reference for the compiled one."""
        c, s = self.constants, self.states
        avals = [symbol.aval for symbol in self.program.inputs[1:]]
        constants = args[:c]
        state = [np.asarray(x, a.dtype) for x, a in zip(args[c : c + s], avals[c:], strict=False)]
        states, ys = [state], []
        n = int(constants[0]) if self.counted else self.n
        for i in range(n - 1, -1, -1) if self.reverse else range(n):
            if self.stops and not state[-1]:
                break
            results = self.program.interpret(i, *constants, *state, *(x[i] for x in args[c + s :]))
            state = results[:s]
            states.append(state)
            ys.append(results[s:])
        if self.stops and state[-1]:
            raise StepsError(self.too_long)
        if self.reverse:
            states, ys = states[::-1], ys[::-1]
        # The results of steps that were not made are never read.
        missing = self.n - len(ys)
        states += [[np.zeros_like(x) for x in state]] * missing
        ys += [[np.zeros(y.shape, y.dtype) for y in self.program_ys]] * missing
        stacked, seen = _stacked(ys, self.ys), self.ys - self.kept
        every = [*state, *stacked[:seen], *_stacked(states, s)]
        if self.spans:
            every += _stacked(states[: self.n : self.spans[0]], s)
        every += stacked[seen:]
        aval = self.joined(outs)
        flat = [np.reshape(every[k], -1) for k in outs if self.avals[k].size]
        return np.concatenate([np.zeros(0, aval.dtype), *flat]).astype(aval.dtype, copy=False)


class BodyRecorder(Recorder):
    """A recorder for loop bodies: arrays from outside of the loop become inputs of the step."""

    is_step = True

    def __init__(self, level: int):
        super().__init__(level)
        if recording.recorder is not None:  # arrays that shape the step shape the whole program
            self.fixed = recording.recorder.fixed

    def apply(self, primitive: Primitive, args: Sequence, params: dict) -> Any:
        return super().apply(primitive, [self.lift(arg) for arg in args], params)

    def lift(self, x: Operand) -> Operand:
        """Return the input for an array from outside; return anything else unchanged."""
        x = symbol_of(x)
        if not is_a(x, np.ndarray) and not (isinstance(x, Array) and x.level < self.level):
            return x
        return self.captured.symbol_for(x, self._new_capture)

    def _new_capture(self, array: Any) -> Symbol:
        aval = array.aval if isinstance(array, Array) else Aval.of(array.shape, array.dtype)
        return self.input(aval, isinstance(array, Symbol) and array.weak)

    def output(self, x: Operand) -> Symbol:
        """Return a result of the step as a symbol."""
        x = self.lift(below(x, self.level))
        if isinstance(x, Symbol):
            return symbol_of(x)
        assert not isinstance(x, (Array, np.ndarray))
        number: Any = x
        return self.full(number, Aval.of((), np.asarray(x).dtype))


def recorded(
    f: Callable, name: str, n: int, state: Sequence, xs: Sequence, reverse: bool = False,
    spans: Sequence[int] = (), ending: str = "", count: Operand | None = None, too_long: str = "",
) -> tuple[Body, list]:  # fmt: skip
    """The body of a step `f(recorder, i, state, xs)`, which gives the flat state and ys, and the
    arrays from outside that it uses; with a `count` it is a body that is counted."""
    with new_level(None, name, f) as level:
        recorder = BodyRecorder(level)
        if count is not None:
            ending = "counted"
            recorder.lift(count if isinstance(count, Array) else np.asarray(count))
        i = recorder.input(INDEX, weak=True)
        states = [recorder.input(leaf_aval(x)) for x in state]
        slices = [recorder.input(Aval.of(a.shape[1:], a.dtype)) for a in map(leaf_aval, xs)]
        own = [recorder.handed(x) for x in states]
        rows = [argument(recorder, x, f"{name} (a row of xs)") for x in slices]
        with inside_body(level):
            outputs = tuple(recorder.output(x) for x in f(recorder, recorder.handed(i), own, rows))
    lifted = recorder.captured.pairs()
    inputs = (i, *(symbol for symbol, _ in lifted), *states, *slices)
    program = Program(name, inputs, (), outputs, list, checked=tuple(recorder.checked))
    body = Body(
        name,
        program,
        tagged(n),
        (len(lifted), len(states), len(slices)),
        reverse,
        spans,
        ending,
        too_long,
    )
    return body, [x for _, x in lifted]


def leaf_aval(x: Operand) -> Aval:
    """Return the shape and dtype of a leaf in a program."""
    if is_a(x, (float, int)):
        x = np.asarray(x)
    return Aval.of(x.shape, known(x.dtype))


def _stacked(rows: list[list], count: int) -> list[np.ndarray]:
    return [np.asarray([row[k] for row in rows]) for k in range(count)]
