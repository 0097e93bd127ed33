"""`joined`: loops that compute the same states become one.

The derivatives of a loop are loops of their own, which compute its states again: the Hessian of a
scan runs the primal beside the tangents, and the cotangents beside their tangents. Loops of equal
length that do not read each other's results, and that have an equal state, run as one.
"""

from collections.abc import Sequence
from typing import Any

from ...core.keys import static_key
from ...core.primitive import new_level
from ...core.symbols import Symbol, topological
from ..trace.body import INDEX, Body, BodyRecorder
from ..trace.program import Program, replay
from .looped import Looped, argument_key, arguments_in


def joined(loops: Sequence[Looped]) -> list[Looped]:
    """The loops, with those as one that have an equal state."""
    found: list[Looped] = []
    waiting = list(loops)
    while waiting:
        loop = waiting.pop(0)
        for at, other in enumerate(found):
            every = [*found, loop, *waiting]
            if _may_join(other, loop) and not _reads(other, loop, every):
                both = _together(other, loop)
                if both is not None:
                    found[at] = both
                    break
        else:
            found.append(loop)
    return found


def _may_join(a: Looped, b: Looped) -> bool:
    """Whether two loops run alike and begin with an equal state."""
    return _course(a) == _course(b) and bool(
        {*_starts(a)[: _moving(a.body)]} & {*_starts(b)[: _moving(b.body)]}
    )


def _course(loop: Looped) -> tuple:
    """How a loop runs."""
    body = loop.body
    count = argument_key(loop.args[0]) if body.counted else None
    spans = tuple(map(static_key, body.spans))
    return static_key(body.n), body.reverse, spans, body.ending, body.too_long, count


def _starts(loop: Looped) -> list[tuple]:
    """For each state, what it begins with."""
    c, s = loop.body.constants, loop.body.states
    inputs = loop.body.program.inputs[1 + c :]
    return [
        (argument_key(x), symbol.shape, symbol.dtype, symbol.weak)
        for x, symbol in zip(loop.args[c : c + s], inputs, strict=False)
    ]


def _moving(body: Body) -> int:
    """How many states there are besides the two that say when the loop ends."""
    return body.states - 2 * body.stops


def _reads(a: Looped, b: Looped, loops: Sequence[Looped]) -> bool:
    """Whether one of two loops depends on the results of the other."""
    args = arguments_in(loops)
    for one, other in ((a, b), (b, a)):
        before = topological(one.args, args_of=args)
        if any(symbol in other.wanted for symbol in before):
            return True
    return False


def _together(a: Looped, b: Looped) -> Looped | None:
    """One loop for both; None where no state of `b` is one of `a`."""
    starts = [*_starts(a), *_starts(b)]
    classes = [starts.index(start) for start in starts]
    step = _Step(a, b, classes)
    while True:
        ends = [id(x) for x in step.outputs]
        pairs = list(zip(classes, ends, strict=True))
        refined = [pairs.index(pair) for pair in pairs]
        if refined == classes:
            break
        classes = refined
        step = _Step(a, b, classes)
    s = a.body.states
    shared = [k for k, at in enumerate(classes) if k >= s > at and step.moves(at)]
    ends_alike = not a.body.stops or classes[-2:] == [s - 2, s - 1]
    return step.loop() if shared and ends_alike else None


class _Step:
    """The steps of two loops as one, with one input for all states of a class. `outputs` are the
    new states of both."""

    def __init__(self, a: Looped, b: Looped, classes: Sequence[int]):
        self.a, self.b, self.classes = a, b, classes
        with new_level() as level:
            self.recorder = recorder = BodyRecorder(level)
            self.i = recorder.input(INDEX, weak=True)
            self.constants: dict[Any, tuple[Symbol, Any]] = {}
            self.xs: dict[Any, tuple[Symbol, Any]] = {}
            self.states: dict[int, Symbol] = {}
            ends = [self._outputs(a, 0), self._outputs(b, a.body.states)]
        self.outputs = [x for end in ends for x in end[0]]
        self.ys = [end[1] for end in ends]

    def _outputs(self, loop: Looped, first: int) -> tuple[list[Symbol], list[Symbol]]:
        """The new states and the ys of a loop, whose states are the ones from `first`."""
        body, inputs = loop.body, loop.body.program.inputs[1:]
        c, s = body.constants, body.states
        given = []
        for k, (x, symbol) in enumerate(zip(loop.args, inputs, strict=True)):
            if c <= k < c + s:
                at = self.classes[first + k - c]
                if at not in self.states:
                    self.states[at] = self.recorder.input(symbol.aval, symbol.weak)
                given.append(self.states[at])
                continue
            known = self.constants if k < c else self.xs
            key = argument_key(x), symbol.shape, symbol.dtype, symbol.weak
            if key not in known:
                known[key] = self.recorder.input(symbol.aval, symbol.weak), x
            given.append(known[key][0])
        results = replay(body.program, [self.i, *given], self.recorder)
        outputs = list(map(self.recorder.output, results))
        return outputs[:s], outputs[s:]

    def moves(self, state: int) -> bool:
        """Whether a step changes a state, and it is more than a counter."""
        before = self.states[self.classes[state]]
        is_counter = before.shape == () and before.dtype.kind != "f"
        return self.outputs[state] is not before and not is_counter

    def loop(self) -> Looped:
        """The joined loop."""
        a, s = self.a.body, self.a.body.states
        starts = [
            loop.args[loop.body.constants + k]
            for loop in (self.a, self.b)
            for k in range(loop.body.states)
        ]
        order = sorted(self.states, key=lambda k: (a.stops and s - 2 <= k < s, k))
        number = [order.index(k) for k in self.classes]
        ys = {y: k for k, y in enumerate(dict.fromkeys([*self.ys[0], *self.ys[1]]))}
        inputs = [
            *(x for x, _ in self.constants.values()),
            *(self.states[k] for k in order),
            *(x for x, _ in self.xs.values()),
        ]
        args = [
            *(x for _, x in self.constants.values()),
            *(starts[k] for k in order),
            *(x for _, x in self.xs.values()),
        ]
        outputs = (*(self.outputs[k] for k in order), *ys)
        checked = tuple(self.recorder.checked)
        program = Program(a.name, (self.i, *inputs), (), outputs, list, checked=checked)
        counts = (len(self.constants), len(order), len(self.xs))
        body = Body(a.name, program, a.n, counts, a.reverse, a.spans, a.ending, a.too_long)
        one = self.a.numbered(body, args, number[:s], [ys[y] for y in self.ys[0]])
        two = self.b.numbered(body, args, number[s:], [ys[y] for y in self.ys[1]])
        return Looped(body, tuple(args), one.wanted | two.wanted)
