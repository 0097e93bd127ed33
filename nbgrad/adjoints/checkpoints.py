"""Loops of which the reverse pass keeps few states, and whose rounds it runs again.

Such a loop records nothing in the forward pass. Before a round, its state may be copied to the
record: a snapshot. The state is what the loop changes, and what its statements read and other loops
may have changed: whole buffers that it writes to, and variables. The backward pass of a round
restores the last snapshot, runs the rounds up to this one, runs this one once more with its record,
and reverses it; that of the first round restores the state before the loop, too. All else that the rounds read is needed by the backward pass: see `plan.py`.

With `snapshots` on the loop, so many are kept at once, at distances that double as few rounds as
possible; else there is one before each round.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import NoRuleError
from ..ir.affine import ZERO, Affine, affine_of, variable
from ..ir.statements import (
    Break,
    Call,
    For,
    If,
    Literal,
    Load,
    New,
    Operand,
    PointTo,
    Position,
    Store,
    Variable,
    While,
)
from ..ir.walk import inner, walk, with_inner
from .build import BOOL, INT, copy, defined_names, literal, names_of, operation, renamed
from .record import Block, Record
from .tree import Body, Loop, bodies

__all__ = ["Checkpoints", "State", "states"]

_ZERO, _ONE, _NONE = literal(0, INT), literal(1, INT), literal(-1, INT)


@dataclass(frozen=True)
class State:
    """Variables, and buffers with the numbers whose product is how many elements they have."""

    variables: tuple[str, ...]
    buffers: Mapping[Any, tuple[Operand, ...]]


def states(
    top: Body, variables: Sequence[str], lengths: Mapping[Any, Sequence[str] | None]
) -> dict[Loop, State]:
    """The state of each loop with checkpoints. `lengths` are those of the arrays among the
    parameters; None where they do not tell the number of elements."""
    sizes: dict[Any, Any] = dict(lengths)
    loops = [
        item for body in bodies(top) for item in body.items
        if isinstance(item, Loop) and getattr(item.statement, "checkpoint", "")
    ]  # fmt: skip
    return {loop: _state(loop, variables, sizes | _made(top)) for loop in loops}


def _made(top: Body) -> dict[Any, tuple[Operand, ...]]:
    """The buffers that are made, and how many elements they have."""
    found: dict[Any, tuple[Operand, ...]] = {}
    for body in bodies(top):
        for item in body.items:
            for each in walk(getattr(item, "statements", ())):
                if isinstance(each, New):
                    found[each.target] = (each.count,)
    return found


def _state(loop: Loop, variables: Sequence[str], sizes: Mapping[Any, Any]) -> State:
    inside = walk(loop.statement.body)
    own = {each.target for each in inside if isinstance(each, New)}
    written: list[Any] = []
    for each in inside:
        if isinstance(each, Store):
            written.append(each.buffer)
        elif isinstance(each, Call):
            written += [x.buffer for x in each.pointers]
        elif isinstance(each, PointTo):
            raise NoRuleError(
                "nbgrad.steps: the loop uses an array that may be one of several: loop over range"
            )
    buffers = {}
    for buffer in dict.fromkeys(written):
        if buffer in own:
            continue
        if sizes.get(buffer) is None:
            raise NoRuleError(
                f"nbgrad.steps: the loop writes to {buffer}, which is not contiguous, or has no axis: "
                "pass a contiguous copy with one axis or more, or loop over range"
            )
        buffers[buffer] = tuple(sizes[buffer])
    used = {name for each in inside for name in (*names_of(each), *defined_names([each]))}
    return State(tuple(name for name in variables if name in used), buffers)


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

    def forward(self, loop: Loop) -> list[Any]:
        """The loop, with snapshots."""
        statement, made, first = loop.statement, [], []
        state = _Layout(self, self._states[loop], lambda name: name)
        if statement.snapshots is None:
            block = self._record.reserve(state.sized(first), first)
            state.save(block, first)
        else:
            held, upcoming = self._held[loop] = self._variable("held"), self._variable("upcoming")
            width, total = self._slots(state, statement.snapshots, made)
            block = self._record.reserve(total, made)
            made += [copy(held, _ZERO, INT), copy(upcoming, _ZERO, INT)]
            last = statement.stop
            first += self._visit(loop, state, block, width, statement.axis, last, statement.snapshots)
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
        state = _Layout(self, self._states[loop], self._again)
        is_first = self._value("equal", here, _operand(start), made=body, dtype=BOOL)
        last: list[Any] = []
        end: list[Any] = []
        if statement.snapshots is None:
            words = state.sized(body)
            base = variable(self._value("subtract", self._record.used(body), words, made=body))
            state.restore(self._record.block(base, body), body)
            body += [*self._run_again(loop, replay), *reverse]
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
            body += [*self._run_again(loop, replay), *reverse]
            state.restore(self._record.block(base.shifted(2), last), last)
            self._record.release(total, end)
        body.append(If(is_first, tuple(last)))
        return [*made, For(axis, start, stop, tuple(body)), *end]

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

    # -- few snapshots ----------------------------------------------------------------------------

    def _slots(self, state: "_Layout", count: Operand, made: list[Any]) -> tuple[str, str]:
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
        self, loop: Loop, state: "_Layout", block: Block, width: str, here: str, end: Any,
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
        self, loop: Loop, state: "_Layout", block: Block, width: str, here: str, slots: Operand
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

    def _variable(self, hint: str) -> str:
        name = self._new(hint)
        self.declared.append(Variable(name, _ZERO, INT))
        return name

    def _read(self, name: str, made: list[Any]) -> str:
        value = self._new(name)
        made.append(copy(value, name, INT))
        return value

    def _value(self, name: str, *operands: Any, made: list[Any], dtype: np.dtype = INT) -> str:
        target = self._new(name)
        self._dtypes[target] = dtype
        made.append(operation(target, name, operands, dtype, INT))
        return target


class _Layout:
    """The words of a snapshot; `value` gives the numbers of its sizes."""

    def __init__(self, of: Checkpoints, state: State, value: Callable[[str], str]):
        self._of, self._state, self._value = of, state, value

    def sized(self, made: list[Any]) -> Operand:
        """How many words it has."""
        words = Affine(len(self._state.variables), ())
        self._sizes: list[Any] = []
        for factors in self._state.buffers.values():
            size: Any = _ONE
            for x in factors:
                x = self._value(x) if isinstance(x, str) else x
                size = x if size == _ONE else self._of._value("multiply", size, x, made=made)
            self._sizes.append(size.number if isinstance(size, Literal) else size)
            words = words.plus(_affine(self._sizes[-1]))
        name = self._of._new("state")
        made.append(Position(name, words))
        return name

    def save(self, block: Block, made: list[Any]) -> None:
        """Copy the state to words of the record."""
        of, record = self._of, self._of._record
        for name in self._state.variables:
            value = of._new(name, of._dtypes[name])
            made.append(copy(value, name, of._dtypes[name]))
            made += record.write(block, 0, value, of._dtypes[name])
            block = block.shifted(Affine(1, ()))
        for buffer, size in zip(self._state.buffers, self._sizes, strict=True):
            axis, dtype = of._new("each"), of._buffers[buffer]
            value = of._new("element", dtype)
            load = Load(value, buffer, variable(axis), dtype)
            write = record.write(block.shifted(variable(axis)), 0, value, dtype)
            made.append(For(axis, 0, size, (load, *write)))
            block = block.shifted(_affine(size))

    def restore(self, block: Block, made: list[Any]) -> None:
        """Set the state to words of the record."""
        of, record = self._of, self._of._record
        for name in self._state.variables:
            value = of._new(name, of._dtypes[name])
            made += record.read(block, 0, value, of._dtypes[name])
            made.append(copy(name, value, of._dtypes[name]))
            block = block.shifted(Affine(1, ()))
        for buffer, size in zip(self._state.buffers, self._sizes, strict=True):
            axis, dtype = of._new("each"), of._buffers[buffer]
            value = of._new("element", dtype)
            read = record.read(block.shifted(variable(axis)), 0, value, dtype)
            made.append(For(axis, 0, size, (*read, Store(buffer, variable(axis), value, dtype))))
            block = block.shifted(_affine(size))


def _operand(x: Any) -> Operand:
    return literal(x, INT) if isinstance(x, int) else x


def _affine(x: Any) -> Affine:
    return Affine(x, ()) if isinstance(x, int) else variable(x)


def _without_new(statements: Sequence[Any]) -> list[Any]:
    return [
        with_inner(x, lambda body: tuple(_without_new(body))) if inner(x) else x
        for x in statements if not isinstance(x, New)
    ]  # fmt: skip
