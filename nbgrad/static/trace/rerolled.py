"""`rerolled`: the steps of a Python loop in a recorded program become a loop again.

A Python loop is recorded step by step, and so is its pullback; compile time grows with the steps.
If many rounds apply the same equations to the results of the round before, to constants and to
values of their own, they become the steps of a `loop`. Nothing is assumed: all equations are
compared.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.primitive import new_level
from ...core.symbols import Symbol, symbol_of, topological
from ...ir.naming import naming
from .alike import PIECES, Alike, Before, Fixed, Inner, alike, form
from .body import BodyRecorder, recorded
from .loop_row import run_loop
from .periods import ROUNDS, Run, runs
from .program import Program
from .record import Recorder

# Runs are loops if they have so many equations together; fewer are faster one after another, and
# take about two seconds to compile.
_MOST = 3000


class _Mismatch(Exception):
    """An equation of the new program has another shape or dtype."""


def rerolled(program: Program) -> Program:
    """Return the program with loops for repeated equations."""
    roots = [*program.outputs, *program.checked]
    builder = next((x.builder for x in roots if isinstance(x, Symbol)), None)
    if not isinstance(builder, Recorder) or naming() is not None:
        return program
    order = _ordered(builder, roots)
    steps = _steps(order) if len(order) > _MOST else []
    if sum(step.run.stop - step.run.start for step in steps) <= _MOST:
        return program
    try:
        with new_level(builder.level):  # which ended with the recorded function
            rolled = _Rolled(builder, order, steps, program)
            outputs = [*map(rolled.value, program.outputs)]
            checked = [*map(rolled.value, rolled.checked)]
    except _Mismatch:
        return program
    return replace(program, outputs=tuple(outputs), checked=tuple(checked))


def _ordered(builder: Recorder, outputs: Sequence[Any]) -> list[Symbol]:
    """Return the equations that are needed, in the order in which they were recorded."""
    needed = set(topological(outputs))
    return [x for x in builder.symbols() if x in needed]


def _steps(order: Sequence[Symbol]) -> list[Alike]:
    """Return runs of rounds that do the same, which do not overlap, in order."""
    places = {x: k for k, x in enumerate(order)}
    found: list[Alike] = []
    for run in runs([form(x) for x in order]):
        if not any(run.start < x.run.stop and x.run.start < run.stop for x in found):
            found += _parts(order, places, run)
    return sorted(found, key=lambda step: step.run.start)


def _parts(order: Sequence[Symbol], places: dict[Symbol, int], run: Run) -> list[Alike]:
    """Return parts of a run whose rounds do the same, such as a loop and its pullback."""
    found: list[Alike] = []
    start, tries = run.start, 0
    # Rounds may begin elsewhere, and the first ones may use what no round made.
    while (rounds := (run.stop - start) // run.length) >= ROUNDS and tries <= 2 * run.length:
        step = alike(order, places, Run(start, rounds, run.length))
        if isinstance(step, int) and step >= ROUNDS:
            step = alike(order, places, Run(start, step, run.length))
        if isinstance(step, Alike):
            found.append(step)
        start, tries = (step.run.stop, 0) if isinstance(step, Alike) else (start + 1, tries + 1)
    return found


class _Rolled:
    """The new program: the values of old equations, and the stacked ones of loops."""

    def __init__(
        self, builder: Recorder, order: Sequence[Symbol], steps: Sequence[Alike], program: Program
    ):
        self.builder, self.order = builder, order
        self.values: dict[Symbol, Any] = {}
        self.round_of: dict[Symbol, tuple[int, int, int]] = {}  # step, round, offset
        for k, step in enumerate(steps):
            start, rounds, length = step.run
            for at in range(start, start + rounds * length):
                self.round_of[order[at]] = (k, *divmod(at - start, length))
        self.stacked: dict[tuple[int, int], Any] = {}
        # A loop checks all of its rounds if one of them is needed.
        ends = {x for step in steps for x in order[step.run.stop - step.run.length : step.run.stop]}
        self.checked = [x for x in program.checked if x not in self.round_of or x in ends]
        self.wanted = self._wanted([*program.outputs, *self.checked])
        at = 0
        for k, step in enumerate(steps):
            self._straight(order[at : step.run.start])
            self._loop(k, step)
            at = step.run.stop
        self._straight(order[at:])

    def _wanted(self, roots: Sequence) -> dict[tuple[int, int], set[int]]:
        """Return the rounds in which equations of loops are used outside of their loop."""
        wanted: dict[tuple[int, int], set[int]] = {}
        used = [(None, x) for x in roots if isinstance(x, Symbol)]
        for equation in self.order:
            mine = self.round_of.get(equation)
            k = None if mine is None else mine[0]
            used += [(k, x) for x in equation.args if isinstance(x, Symbol)]
        for k, x in used:
            place = self.round_of.get(x)
            if place is not None and place[0] != k:
                wanted.setdefault((place[0], place[2]), set()).add(place[1])
        return wanted

    def value(self, x: Any) -> Any:
        """Return the new value of an old one."""
        if not isinstance(x, Symbol):
            return x
        found = self.values.get(x)
        if found is None:
            place = self.round_of.get(x)
            found = x
            if place is not None:
                k, number, offset = place
                found = symbol_of(self.stacked[k, offset][number])
                self._require_same(found, x)
            self.values[x] = found
        return found

    def _require_same(self, new: Any, old: Symbol) -> None:
        if not isinstance(new, Symbol) or new.aval != old.aval:
            raise _Mismatch

    def _straight(self, equations: Iterable[Symbol]) -> None:
        """Record equations that are in no loop."""
        for old in equations:
            args = [self.value(x) for x in old.args]
            if all(x is y for x, y in zip(args, old.args, strict=True)):
                continue
            assert old.primitive is not None
            new = symbol_of(self.builder.apply(old.primitive, args, old.params))
            self._require_same(new, old)
            new.line, new.weak = new.line or old.line, old.weak
            self.values[old] = new

    def _loop(self, k: int, step: Alike) -> None:
        """Record the loop of a run."""
        rounds, length = step.run.rounds, step.run.length
        wanted = {j: self.wanted[k, j] for j in range(length) if (k, j) in self.wanted}
        last = [j for j, used in wanted.items() if used == {rounds - 1}]
        states = list(dict.fromkeys([*step.start, *last]))
        ys = [j for j in wanted if j not in last]
        start = [
            self.value(step.start[j]) if j in step.start
            else self.builder.full(0.0, step.equations[j].aval)
            for j in states
        ]  # fmt: skip
        xs = [self._slices(values) for values in step.xs]

        def operand(where: Any, made: list, before: list, slices: list) -> Any:
            if isinstance(where, Inner):
                return made[where.offset]
            if isinstance(where, Before):
                return before[states.index(where.offset)]
            return self.value(where.value) if isinstance(where, Fixed) else slices[where.number]

        def body(recorder: BodyRecorder, i: Symbol, before: list, slices: list) -> list:
            made: list[Any] = []
            for j, arguments in enumerate(step.arguments):
                operands = [operand(where, made, before, slices) for where in arguments]
                made.append(self._recorded(recorder, step, j, operands, i))
            return [made[j] for j in [*states, *ys]]

        traced, lifted = recorded(body, "step", rounds, start, xs)
        results = [symbol_of(x) for x in run_loop(traced, [*lifted, *start, *xs])]
        for j, result in zip(states, results, strict=False):
            old = self.order[step.run.stop - length + j]
            self._require_same(result, old)
            self.values[old] = result
        for j, result in zip(ys, results[len(states) :], strict=True):
            self.stacked[k, j] = result

    def _recorded(
        self, recorder: BodyRecorder, step: Alike, j: int, operands: list, i: Symbol
    ) -> Symbol:
        """Record an equation of the step, with positions that move."""
        equation, moving = step.equations[j], step.moving.get(j)
        primitive, params = equation.primitive, equation.params
        assert primitive is not None
        if moving is not None:
            assert primitive.at is not None
            primitive, params = primitive.at, {**params, "index": moving.index}
            places = zip(moving.first, moving.steps, strict=True)
            operands = [*operands, *(symbol_of(i * by + first) for first, by in places)]
        new = symbol_of(recorder.apply(primitive, operands, params))
        self._require_same(new, equation)
        new.line = new.line or equation.line
        return new

    def _slices(self, values: Sequence[Symbol]) -> Any:
        """Return values of all rounds as one array."""
        pieces: list[Any] = []
        at = 0
        while at < len(values):
            pieces.append(self._piece(values, at))
            at += pieces[-1].shape[0]
            if len(pieces) > PIECES:
                raise _Mismatch
        return symbol_of(pieces[0] if len(pieces) == 1 else np.concatenate(pieces))

    def _piece(self, values: Sequence[Symbol], at: int) -> Any:
        """Return values from round `at` on that stand one after another in a stacked array, at
        least one of them."""
        places = [self.round_of.get(x) for x in values[at : at + 2]]
        one, two = places[0], places[-1]
        if one is None or (one[0], one[2]) not in self.stacked:
            return self.value(values[at])[None]
        k, first, offset = one
        by = two[1] - first if len(places) == 2 and two is not None else 0
        count = 1
        if by in (1, -1):
            while at + count < len(values) and self.round_of.get(values[at + count]) == (
                k, first + by * count, offset
            ):  # fmt: skip
                count += 1
        array = self.stacked[k, offset]
        if count == 1 or by == 1:
            return array[first : first + count]
        return array[first - count + 1 : first + 1][::-1]
