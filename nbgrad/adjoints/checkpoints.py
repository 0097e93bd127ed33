"""Loops of which the reverse pass keeps few states, and whose rounds it runs again.

Such a loop records nothing in the forward pass. Before a round, its state may be copied to the
record: a snapshot. The state is the variables that the loop uses, and the buffers that it writes
to. The backward pass of a round restores the last snapshot, runs the rounds up to this one, runs
this one once more with its record, and reverses it; that of the first round restores the state
before the loop, too. All else that the rounds read is needed by the backward pass: see `plan.py`.

With `snapshots` on the loop, so many are kept at once, at distances for which few rounds run again;
else there is one before each round.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..ir.affine import ZERO, Affine, affine_of, variable
from ..ir.statements import (
    Break,
    For,
    If,
    New,
    Operand,
    Position,
    Variable,
    While,
)
from ..ir.walk import inner, with_inner
from .build import BOOL, INT, copy, defined_names, literal, operation, renamed
from .record import Block, Record
from .states import Layout, State
from .tree import Loop

__all__ = ["Checkpoints"]

_ZERO, _ONE, _NONE = literal(0, INT), literal(1, INT), literal(-1, INT)


class Checkpoints:
    """Writes the sweeps of loops with checkpoints. `new`, `again` as in `Sweeps`."""

    def __init__(
        self, found: Mapping[Loop, State], dtypes: dict[str, np.dtype],
        buffers: Mapping[Any, np.dtype], new: Callable[..., str], again: Callable[[str], str],
        record: Record,
    ):  # fmt: skip
        self.declared: list[Variable] = []
        self._states, self._dtypes, self._buffers = found, dtypes, buffers
        self._new, self._again, self._record = new, again, record
        self._held: dict[Loop, tuple[str, str]] = {}
        self._large: dict[Loop, str] = {}

    def forward(self, loop: Loop, recording: Sequence[Any] = ()) -> list[Any]:
        """The loop, with snapshots; `recording` are the statements of a round with its record, of a
        loop that may keep it."""
        statement, made, first = loop.statement, [], []
        state = self._layout(self._states[loop], lambda name: name)
        if statement.checkpoint == "kept":
            body = self._kept(loop, state, recording)
            return [replace(statement, body=tuple(body), checkpoint="", snapshots=None)]
        if statement.snapshots is None:
            block = self._record.reserve(state.sized(first), first)
            state.save(block, first)
        else:
            held, upcoming = self._held[loop] = self._variable("held"), self._variable("upcoming")
            width, total = self._slots(state, statement.snapshots, made)
            block = self._record.reserve(total, made)
            made += [copy(held, _ZERO, INT), copy(upcoming, _ZERO, INT)]
            stop, slots = statement.stop, statement.snapshots
            first += self._visit(loop, state, block, width, statement.axis, stop, slots)
        plain = replace(statement, body=(*first, *statement.body), checkpoint="", snapshots=None)
        made.append(plain)
        if statement.snapshots is not None:
            made += self._record.write(block, 0, self._read(self._held[loop][0], made), INT)
        return made

    def backward(self, loop: Loop, replay: Sequence[Any], reverse: Sequence[Any]) -> list[Any]:
        """The loop backward: `replay` are the statements of a round with its record, `reverse`
        those of its backward pass."""
        statement, made = loop.statement, []
        start, stop = (self._given(x) for x in (statement.start, statement.stop))
        axis, here = self._new("back"), self._again(statement.axis)
        at = affine_of(-1, {axis: -1}).plus(_affine(start)).plus(_affine(stop))
        body: list[Any] = [Position(here, at)]
        state = self._layout(self._states[loop], self._again)
        if statement.checkpoint == "kept":
            body += self._kept_back(loop, state, self._run_again(loop, replay), reverse)
            return [*made, For(axis, start, stop, tuple(body))]
        is_first = self._value("equal", here, _operand(start), made=body, dtype=BOOL)
        last: list[Any] = []
        end: list[Any] = []
        if statement.snapshots is None:
            words = state.sized(body)
            base = variable(self._value("subtract", self._record.used(body), words, made=body))
            state.restore(self._record.block(base, body), body)
            body += [*self._record.counted(self._run_again(loop, replay)), *reverse]
            state.restore(self._record.release(words, body), last)
        else:
            slots = self._given(statement.snapshots)
            width, total = self._slots(state, slots, made)
            base = variable(self._value("subtract", self._record.used(made), total, made=made))
            count = self._new("count")
            made += self._record.read(self._record.block(base, made), 0, count, INT)
            made.append(copy(self._held[loop][0], count, INT))
            block = self._record.block(base, body)
            body += self._advanced(loop, state, block, width, here, slots)
            body += [*self._record.counted(self._run_again(loop, replay)), *reverse]
            state.restore(self._record.block(base.shifted(2), last), last)
            self._record.release(total, end)
        body.append(If(is_first, tuple(last)))
        return [*made, For(axis, start, stop, tuple(body)), *end]

    # -- a record that is kept while it is small --------------------------------------------------

    def _kept(self, loop: Loop, state: Layout, recording: Sequence[Any]) -> list[Any]:
        """A round with its record, which is released once that of the function is too large: from
        then on, and then for all rounds, the backward sweep runs them again. A copy of the state is
        in front of it, and behind it a word with its size."""
        made: list[Any] = []
        if loop not in self._large:
            self._large[loop] = self._variable("is_large", BOOL)
        is_large = self._large[loop]
        state.save(self._record.reserve(state.sized(made), made), made)
        begin = self._record.used(made)
        made += self._record.counted(recording)
        end = self._record.used(made)
        exceeds = self._value("greater", end, loop.statement.snapshots, made=made, dtype=BOOL)
        words = self._value("subtract", end, begin, made=made)
        made.append(If(exceeds, (copy(is_large, exceeds, BOOL),)))
        is_released = self._read(is_large, made, BOOL)
        rest = self._value("select", is_released, _ZERO, words, made=made)
        released: list[Any] = []
        self._record.release(words, released)
        made.append(If(is_released, tuple(released)))
        word = self._record.reserve(_ONE, made)
        return [*made, *self._record.write(word, 0, rest, INT)]

    def _kept_back(
        self, loop: Loop, state: Layout, replay: Sequence[Any], reverse: Sequence[Any]
    ) -> list[Any]:
        """The same round backward. The state before it is restored in the end."""
        made: list[Any] = []
        rest = self._new("rest")
        made += self._record.read(self._record.release(_ONE, made), 0, rest, INT)
        words = state.sized(made)
        again: list[Any] = []
        self._record.release(rest, again)
        base = variable(self._value("subtract", self._record.used(again), words, made=again))
        state.restore(self._record.block(base, again), again)
        made.append(If(self._read(self._large[loop], made, BOOL), (*again, *replay)))
        made += reverse
        state.restore(self._record.release(words, made), made)
        return made

    def _run_again(self, loop: Loop, statements: Sequence[Any], axis: str = "") -> list[Any]:
        """Statements of the forward pass, as statements of the backward pass with names of their
        own. Buffers that they make are there."""
        names = [x for x in defined_names(loop.statement.body) if x in self._dtypes]
        variables = set(self._states[loop].variables)
        own = {x: self._new(x, self._dtypes[x]) for x in names if x not in variables}
        if axis:
            own[loop.statement.axis] = axis

        def now(name: str) -> str:
            return own[name] if name in own else self._again(name)

        return [renamed(x, now, lambda buffer: (buffer, ZERO), now)
                for x in _without_new(statements)]  # fmt: skip

    def _layout(self, state: State, value: Callable[[str], str]) -> Layout:
        return Layout(state, value, self._new, self._dtypes, self._buffers, self._record)

    # -- few snapshots ----------------------------------------------------------------------------

    def _slots(self, state: Layout, count: Operand, made: list[Any]) -> tuple[str, str]:
        """The words of a snapshot with the number of its round; those of all, behind one that says
        how many there are."""
        width = self._value("add", state.sized(made), _ONE, made=made)
        every = self._value("multiply", width, count, made=made)
        return width, self._value("add", every, _ONE, made=made)

    def _slot(self, block: Block, count: str, width: str, made: list[Any]) -> Block:
        """The words of the snapshot behind so many others."""
        at = self._value("multiply", count, width, made=made)
        return block.shifted(variable(at).shifted(1))

    def _visit(
        self, loop: Loop, state: Layout, block: Block, width: str, here: str, end: Any,
        slots: Operand,
    ) -> list[Any]:  # fmt: skip
        """Save the state before round `here` if that is upcoming; the rounds before `end` are to
        run."""
        held, upcoming = self._held[loop]
        made: list[Any] = []
        is_here = self._value("equal", here, self._read(upcoming, made), made=made, dtype=BOOL)
        then: list[Any] = []
        count = self._read(held, then)
        slot = self._slot(block, count, width, then)
        then += self._record.write(slot, 0, here, INT)
        state.save(slot.shifted(Affine(1, ())), then)
        free = self._value("subtract", slots, count, made=then)
        then.append(copy(held, self._value("add", count, _ONE, made=then), INT))
        self._next(upcoming, here, end, free, then)
        return [*made, If(is_here, tuple(then))]

    def _advanced(
        self, loop: Loop, state: Layout, block: Block, width: str, here: str, slots: Operand
    ) -> list[Any]:
        """Restore the last snapshot, and run the rounds up to `here`."""
        held, upcoming = self._held[loop]
        made: list[Any] = []
        count = self._value("subtract", self._read(held, made), _ONE, made=made)
        slot = self._slot(block, count, width, made)
        before = self._new("before")
        made += self._record.read(slot, 0, before, INT)
        state.restore(slot.shifted(Affine(1, ())), made)
        is_last = self._value("equal", before, here, made=made, dtype=BOOL)
        end = self._value("add", here, _ONE, made=made)
        free = self._value("subtract", slots, count, made=made)
        more: list[Any] = []
        self._next(upcoming, before, end, free, more)
        axis = self._new("ahead")
        body = self._visit(loop, state, block, width, axis, end, slots)
        body += self._run_again(loop, loop.statement.body, axis)
        more.append(For(axis, before, here, tuple(body)))
        return [*made, If(is_last, (copy(held, count, INT),), tuple(more))]

    def _next(self, upcoming: str, here: str, end: Any, free: str, made: list[Any]) -> None:
        """Set the round before which the next snapshot is taken, where `free` are left for the
        rounds from `here` to `end`, with the one at `here`; -1 for none.

        With s snapshots, (s + r)! / (s! r!) rounds can be reversed so that none runs more than r
        times. The least such r for all rounds gives the distance.
        """
        several = self._value("greater", free, _ONE, made=made, dtype=BOOL)
        then: list[Any] = []
        repeats, reach, below = (self._variable(x) for x in ("repeats", "reach", "below"))
        rounds = self._value("subtract", _operand(end), here, made=then)
        then += [copy(repeats, _ZERO, INT), copy(reach, _ONE, INT), copy(below, _ZERO, INT)]
        body: list[Any] = []
        now = self._read(reach, body)
        enough = self._value("greater_equal", now, rounds, made=body, dtype=BOOL)
        body.append(If(enough, (Break(),)))
        more = self._value("add", self._read(repeats, body), _ONE, made=body)
        both = self._value("add", free, more, made=body)
        product = self._value("multiply", now, both, made=body)
        body += [
            copy(below, now, INT),
            copy(reach, self._value("floor_quotient", product, more, made=body), INT),
            copy(repeats, more, INT),
        ]
        then.append(While(tuple(body)))
        left = self._read(below, then)
        others = self._value("add", free, self._read(repeats, then), made=then)
        divisor = self._value("subtract", others, _ONE, made=then)
        product = self._value("multiply", left, free, made=then)
        right = self._value("floor_quotient", product, divisor, made=then)
        rest = self._value("subtract", rounds, right, made=then)
        smaller = self._value("less", rest, left, made=then, dtype=BOOL)
        distance = self._value("select", smaller, rest, left, made=then)
        then.append(copy(upcoming, self._value("add", here, distance, made=then), INT))
        made.append(If(several, tuple(then), (copy(upcoming, _NONE, INT),)))

    # -- small statements -------------------------------------------------------------------------

    def _given(self, x: Any) -> Any:
        return self._again(x) if isinstance(x, str) else x

    def _variable(self, hint: str, dtype: np.dtype = INT) -> str:
        name = self._new(hint, dtype)
        self.declared.append(Variable(name, literal(0, dtype), dtype))
        return name

    def _read(self, name: str, made: list[Any], dtype: np.dtype = INT) -> str:
        value = self._new(name, dtype)
        made.append(copy(value, name, dtype))
        return value

    def _value(self, name: str, *operands: Any, made: list[Any], dtype: np.dtype = INT) -> str:
        target = self._new(name)
        self._dtypes[target] = dtype
        made.append(operation(target, name, operands, dtype, INT))
        return target


def _operand(x: Any) -> Operand:
    return literal(x, INT) if isinstance(x, int) else x


def _affine(x: Any) -> Affine:
    return Affine(x, ()) if isinstance(x, int) else variable(x)


def _without_new(statements: Sequence[Any]) -> list[Any]:
    return [
        with_inner(x, lambda body: tuple(_without_new(body))) if inner(x) else x
        for x in statements if not isinstance(x, New)
    ]  # fmt: skip
