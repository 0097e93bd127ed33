"""Joint reversal of an outermost loop: its independent rounds run forward and then backward each.

So the record is that of one round, and what a round makes is still there. The cotangents of the
sums of the loop must be known before it runs: the statements behind the loop that compute them are
put in front of it, which is possible if they read nothing that the loop computes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..ir.affine import ZERO, variable
from ..ir.statements import Assign, Call, If, Load, Position, Store, Variable
from ..ir.walk import walk
from .build import copy, defined_names, literal, names_of, renamed
from .gather import Gather
from .halves import BORDER
from .layout import Nests
from .rounds import Rounds
from .sweeps import Sweeps
from .to_record import Plan
from .tree import Body, Branch, Loop, Segment, bodies

__all__ = ["Fused", "fusible"]


def fusible(top: Body, plan: Plan, rounds: Rounds, shadow: Callable[[Any], Any]) -> Loop | None:
    """The loop that `Fused` may fuse: the last loop, if only straight code follows."""
    for i, item in enumerate(top.items):
        loop = _last_loop(item)
        if loop is None or loop not in rounds.loops or not plan.is_passed(loop):
            continue
        after = top.items[i + 1 :]
        if not all(isinstance(x, Segment) for x in after):
            continue
        inside = [x for body in bodies(loop.body) for x in _statements(body.items)]
        made = {getattr(x, "target", None) for x in inside if not isinstance(x, Store)}
        stored = {x.buffer for x in inside if isinstance(x, Store)} - made
        restored = {x.buffer for x in inside if isinstance(x, Store) and id(x) in plan.written}
        shadows = {shadow(buffer) for buffer in stored}
        behind = _statements(after)
        adjoints = walk([x for segment in after for x in segment.adjoint])
        if restored & stored or any(isinstance(x, Store) for x in behind):
            continue
        if any(isinstance(x, Store) and x.buffer in shadows for x in adjoints):
            continue
        return loop
    return None


def _last_loop(item: Any) -> Loop | None:
    """The loop that an item is, or that a branch ends with which has no other one."""
    if isinstance(item, Loop):
        return item
    if not isinstance(item, Branch) or item.otherwise.items or item.then.recorded:
        return None
    *others, last = item.then.items or [None]
    return _last_loop(last) if all(isinstance(x, Segment) for x in others) else None


def _statements(items: Sequence[Any]) -> list[Any]:
    return [each for item in items for each in walk(getattr(item, "statements", ()))]


class Fused(Sweeps):
    """`Sweeps` that fuse a loop."""

    def both(self, start: Sequence[Any], gather: Gather) -> list[Any]:
        """Both sweeps, with `BORDER` between them if no loop is fused; `start` are the statements
        that set the cotangents of the results."""
        loop, items = self._fused, self._top.items
        if loop is not None and (self._pieces.loops[loop].makes or self._nests.records(loop)):
            place = next(i for i, item in enumerate(items) if _last_loop(item) is loop)
            behind = [*self._items(items[place + 1 :], None), *start]
            behind += self._items_back(self._top, items[place + 1 :], None)
            if (first := self._cotangents(loop, behind)) is not None:
                self._nests = Nests(self._top, self._nests.words, self._plan.is_passed, loop)
                made = [*self._items(items[:place], None), *first]
                made += self._both_ways(items[place], gather)
                zeros = [self._pieces.shadow(name) for name in self._pieces.loops[loop].sums]
                made += [
                    copy(x, literal(0, self._dtypes[x]), self._dtypes[x])
                    for x in zeros if x in self._pieces.bars
                ]  # fmt: skip
                before = self._items_back(self._top, items[:place], None)
                gather.axes |= self.axes
                return [*made, *behind, *gather.inside(before)]
        made = self.forward()
        backward = self.backward()
        gather.axes |= self.axes
        return [*made, *self._record.measured(), BORDER, *start, *gather.of(backward)]

    def _both_ways(self, item: Any, gather: Gather) -> list[Any]:
        """An item that is the loop, or a branch that ends with it, forward and backward."""
        if isinstance(item, Branch):
            body = item.then
            *before, last = body.items
            then = [
                *self._items(before, None), *self._values_back(body, None),
                *self._both_ways(last, gather), *self._items_back(body, before, None),
            ]  # fmt: skip
            return [If(item.condition, tuple(then))]
        statement = item.statement
        again = Position(self._again(statement.axis), variable(statement.axis))
        self._together = item.body
        self._record.loop = 0  # each round has a record of its own: steps would be inside
        forward = self._forward(item.body, None)
        backward = self._backward(item.body, None)
        gather.axes |= self.axes
        whole = replace(statement, body=(*forward, again, *gather.inside(backward)))
        return self._pieces.fused(item, whole, lambda name: name)

    def _cotangents(self, loop: Loop, behind: Sequence[Any]) -> list[Any] | None:
        """The statements that compute the cotangents of the sums of the loop beforehand, of those
        behind it; None if they read what the loop computes."""
        known = self._pieces.loops[loop]
        bars: list[str] = [self._pieces.shadow(name) for name in known.sums]
        wanted = [x for x in bars if x in self._pieces.bars]
        needed, taken = set(wanted), set()
        while True:
            more = [x for x in behind if id(x) not in taken and needed & set(defined_names([x]))]
            if not more:
                break
            for each in more:
                taken.add(id(each))
                needed |= {name for x in walk([each]) for name in names_of(x)}
        chosen = [x for x in behind if id(x) in taken]
        stored = {x.buffer for x in walk([loop.statement]) if isinstance(x, Store)}
        for each in walk(chosen):
            is_plain = isinstance(each, (Assign, Position, If))
            is_plain |= isinstance(each, Load) and each.buffer not in stored
            is_plain |= isinstance(each, Call) and not each.pointers
            if not is_plain:
                return None
        if needed & (known.inside | set(known.sums)):
            return None
        names = defined_names(chosen)
        own = {name: self._new(name, self._dtypes[name]) for name in names}
        made: list[Any] = []
        for name in names:
            if name in self._pieces.bars or name in self._pieces.variables:
                dtype = self._dtypes[name]
                self.declared.append(Variable(own[name], literal(0, dtype), dtype))
                made.append(copy(own[name], name, self._dtypes[name]))

        def value(name: str) -> str:
            return own.get(name, name)

        made += [renamed(x, value, lambda buffer: (buffer, ZERO), value) for x in chosen]
        return [*made, *(copy(x, value(x), self._dtypes[x]) for x in wanted)]
