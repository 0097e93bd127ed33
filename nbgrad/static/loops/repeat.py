"""The steps of a loop in the core that runs it."""

from typing import TYPE_CHECKING, Any

from ...compiler.pointers import clear
from ...ir.affine import Affine, affine_of
from ...ir.core import CoreStep, Device, Repeat
from ...ir.scalar import parse
from ...ir.sizes import is_dynamic
from ...ir.statements import Address, Assign, Call, If, Literal, Load, Operand, Store, Variable
from ..lower.buffered import Scan
from ..lower.step import LoweredStep
from ..lower.values import BOOL, INT, Value
from ..schedule.buffers import place_of
from ..schedule.fuse import Single
from .nested import Writer

if TYPE_CHECKING:
    from .build import CoreBuilder

_BOTH, _OTHER = parse("x & y"), parse("1 - x")
_QUOTIENT, _DIVIDES = parse("x // y"), parse("x % y == 0")
_ZERO, _ONE = Literal(0, INT), Literal(1, INT)


def write_loop(outer: "CoreBuilder", single: Single) -> None:
    """Add the loop to the core that runs it, and the core of its step to what is compiled."""
    loop = single.value
    assert isinstance(loop, Scan)
    _Writer(outer, loop, single).write()


class _Writer(Writer):
    def __init__(self, outer: "CoreBuilder", loop: Scan, single: Single):
        super().__init__(outer, single)
        self.loop, (self.plan,) = loop, single.inner
        self.step: LoweredStep = loop.step
        self.each = outer.fresh()
        self.before: list[Any] = []  # of the loop
        self.first: list[Any] = []  # in a step, before its call
        self.span = outer.fresh() if self.has("marks") else ""
        self.marks: list[Any] = []  # in a step where a span begins
        self.then: list[Any] = []  # after that
        self.after: list[Any] = []
        self.arguments: list[Address | Operand] = [self.each]
        self.targets: list[Address] = []
        self.returned: list[str] = []
        # How many steps are made: a number of the program, where it ends by itself.
        self.names = {k: outer.fresh() for k in range(self.step.states)}
        self.count: Operand = Literal(self.step.n, INT)
        if self.step.ending == "counted":
            self.count = outer.operand(loop.args[0])
        elif self.step.ending:
            self.count = self.names[self.step.states - 2]

    def write(self) -> None:
        outer, step, loop = self.outer, self.step, self.loop
        core = outer.inner(self.plan)
        states, end = step.constants + step.states, step.constants + step.states + step.xs
        self.arguments += map(self.held, loop.args[: step.constants])
        for k in range(step.states):
            self._state(k, loop.args[step.constants + k])
        self._keep_marks()
        self.arguments += map(self._slice, loop.args[states:end])
        self.arguments += map(self.held, loop.args[end:])
        for k, value in enumerate(step.outputs[step.states :]):
            self._result(k, value)
        for k in range(len(step.graph.checks)):
            self._check(k)
        if core.takes_scratch:
            self.targets.append(outer.pointer(self.items["work", 0]))
        enter = Call(core, (*self.arguments, *self.targets), tuple(self.returned))
        lines = (loop.line,) if loop.line else ()
        body = tuple(CoreStep(s, lines) for s in [*self.first, enter, *self.then])
        count = self.count if step.ending == "counted" else None
        going = self.names[step.states - 1] if step.ending == "stops" else ""
        repeat = Repeat(self.each, step.n, step.reverse, body, count, going)
        for statement in [*self.before, repeat, *self.after]:
            outer.add(statement, lines)

    def _slice(self, value: Value) -> Address | Operand:
        """The part of stacked values that belongs to a step."""
        source, start = place_of(value, self.outer.policy)
        size = value.size // max(self.step.n, 1)
        at = affine_of(start, {self.each: size})
        if len(value.shape) > 1:
            return self.outer.pointer(source, at)
        name = self.outer.fresh()
        storage = self.outer.plan.memory.storage(source)
        self.first.append(Load(name, storage, at, value.dtype))
        return name

    def _keep_marks(self) -> None:
        """Store the state at the beginning of a span of steps."""
        if self.marks:
            begins, length = self.outer.fresh(), Literal(self.step.span, INT)
            self.first.append(Assign(begins, _DIVIDES, (self.each, length), BOOL, INT))
            self.first.append(Assign(self.span, _QUOTIENT, (self.each, length), INT, INT))
            self.first.append(If(begins, tuple(map(CoreStep, self.marks))))

    def _state(self, k: int, start: Value) -> None:
        value = self.step.outputs[k]
        states, final = self.items.get(("states", k)), self.items.get(("state", k))
        if value.shape == ():
            self._number(k, start, value, states, final)
        elif k in self.plan.memory.updated:
            assert final is not None
            place, given = self.outer.pointer(final), self.held(start)
            if given != place:
                self.copy(given, place, value.size, self.before)
            self.arguments.append(place)
        else:
            self._array(start, value, states or self.items["pair", k], states is not None, final)
        if ("marks", k) in self.items:
            marks, now = self.items["marks", k], self.arguments[-1]
            at = affine_of(0, {self.span: value.size})
            if isinstance(now, Address):
                self.copy(now, self.outer.pointer(marks, at), value.size, self.marks)
            else:
                place = self.outer.plan.memory.storage(marks)
                self.marks.append(Store(place, at, now, value.dtype))

    def _number(self, k: int, start: Value, value: Value, states, final) -> None:
        """A state that is a number: a variable of the loop."""
        name = self.names[k]
        self.before.append(Variable(name, self.outer.operand(start)))
        self.arguments.append(name)
        self.returned.append(name)
        if states is not None:
            storage = self.outer.plan.memory.storage(states)
            at = self._step_at(1, self.step.reverse)
            self.first.append(Store(storage, at, name, value.dtype))
            last = Affine(0, ()) if self.step.reverse else self._at(self.count, 1)
            self.after.insert(0, Store(storage, last, name, value.dtype))
        if final is not None:
            self.outer.known[final] = name

    def _array(self, start: Value, value: Value, room: Value, all_steps: bool, final) -> None:
        """A state with a place for each step, or with two places in turn."""
        size, reverse = value.size, self.step.reverse
        ends: tuple[Operand, Operand]
        if all_steps:
            read, write = self._step_at(size, reverse), self._step_at(size, not reverse)
            ends = (self.count, _ZERO) if reverse else (_ZERO, self.count)
        else:
            bit, other = self.outer.fresh(), self.outer.fresh()
            self.first.append(Assign(bit, _BOTH, (self.each, _ONE), INT, INT))
            self.first.append(Assign(other, _OTHER, (bit,), INT, INT))
            read, write = affine_of(0, {bit: size}), affine_of(0, {other: size})
            ends = (self._bit(True), _ONE) if reverse else (_ZERO, self._bit(False))
        begin, done = (self._at(end, size) for end in ends)
        self.copy(self.held(start), self.outer.pointer(room, begin), size, self.before)
        self.arguments.append(self.outer.pointer(room, read))
        self.targets.append(self.outer.pointer(room, write))
        if final is not None:
            from_ = self.outer.pointer(room, done)
            self.copy(from_, self.outer.pointer(final), size, self.after)

    @staticmethod
    def _at(place: Operand, size: int) -> Affine:
        """The offset of one of several places of equal size."""
        if isinstance(place, Literal):
            return Affine(_whole(place.number) * size, ())
        return affine_of(0, {place: size})

    def _bit(self, other: bool) -> Operand:
        """Which of two places that are taken in turn is the last one, or the other one."""
        if isinstance(self.count, Literal) and not is_dynamic(self.count.number):
            return Literal((int(self.count.number) + other) & 1, INT)
        where = self.before if other else self.after
        bit = self.outer.fresh()
        where.append(Assign(bit, _BOTH, (self.count, _ONE), INT, INT))
        if other:
            where.append(Assign(other_bit := self.outer.fresh(), _OTHER, (bit,), INT, INT))
            bit = other_bit
        return bit

    def _step_at(self, size: int, next_one: bool) -> Affine:
        return affine_of(size if next_one else 0, {self.each: size})

    def _result(self, k: int, value: Value) -> None:
        item = self.items.get(("y", k))
        if item is not None and self.step.ending:  # a later step may not be made
            whole = self.outer.pointer(item)
            size = Literal(item.size, INT)
            self.before.append(Call(Device(clear, (item.size,)), (whole, size)))
        if value.shape == ():
            name = self.outer.fresh()
            self.returned.append(name)
            if item is not None:
                storage = self.outer.plan.memory.storage(item)
                at = affine_of(0, {self.each: 1})
                self.then.append(Store(storage, at, name, value.dtype))
        elif item is not None:
            at = affine_of(0, {self.each: value.size})
            self.targets.append(self.outer.pointer(item, at))
        else:
            room = self.items["unread", self.step.states + k]
            self.targets.append(self.outer.pointer(room))

    def _check(self, k: int) -> None:
        name, ok = self.outer.fresh(), self.outer.fresh()
        self.before.append(Variable(ok, Literal(True, BOOL)))
        self.then.append(Assign(ok, _BOTH, (ok, name), BOOL, BOOL))
        self.returned.append(name)
        if ("check", k) in self.items:
            self.outer.known[self.items["check", k]] = ok


def _whole(number: Any) -> int:
    """An integer, which keeps its formula where it is known at run time."""
    return number if isinstance(number, int) else int(number)
