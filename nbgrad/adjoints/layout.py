"""Nests of loops whose part of the record has a size that is known before they run.

Such a nest reserves one block. A round of a loop has `width` words: those of its body, and then
those of all rounds of each loop inside.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..ir.affine import Affine, variable
from ..ir.statements import Call, For, Literal, Operand, Position
from .build import BOOL, DOUBLE, INT, copy, literal, operation
from .tree import Body, Branch, Loop, Segment, bodies

__all__ = ["Nest", "Nests"]

_MOST = 1 << 56  # words: more than any machine has


class Nests:
    """The nests of a tree; `words` are the numbers of words of segments, and of bodies at their
    ends. Loops that are not `is_passed` record nothing, a `fused` loop each round for itself."""

    def __init__(
        self, top: Body, words: Mapping[Any, int], is_passed: Callable[[Loop | Branch], bool],
        fused: Loop | None = None,
    ):  # fmt: skip
        self.words, self.is_passed, self._fused = words, is_passed, fused
        self.offsets: dict[Any, int] = {}  # of segments and ends of bodies, in the words of a round
        self.own: dict[Loop, int] = {}
        self.inner: dict[Loop, list[Loop]] = {}
        self.roots: set[Loop] = set()
        self._find(top)

    def _find(self, body: Body) -> None:
        for item in body.items:
            if isinstance(item, Loop):
                is_nest = item is not self._fused and self._has_size(item, self._defined(item))
                if is_nest and self._is_recording(item):
                    self.roots.add(item)
                    self._lay_out(item)
                else:
                    self._find(item.body)
            elif isinstance(item, Branch):
                self._find(item.then)
                self._find(item.otherwise)

    @staticmethod
    def _defined(loop: Loop) -> set[Any]:
        found = {loop.statement.axis} if isinstance(loop.statement, For) else set()
        for body in bodies(loop.body):
            found |= set(body.defined)
            found |= {x.statement.axis for x in _loops(body) if isinstance(x.statement, For)}
        return found

    def _has_size(self, loop: Loop, changing: set[Any]) -> bool:
        statement = loop.statement
        if not isinstance(statement, For) or statement.checkpoint or loop.leave is not None:
            return False
        return all(
            self._has_size(each, changing)
            and each.statement.start not in changing
            and each.statement.stop not in changing
            for each in _loops(loop.body)
            if self.is_passed(each)
        )

    def records(self, loop: Loop, place: Any = None) -> bool:
        """Whether the rounds of a loop record words, or numbers of rounds of loops inside, and have
        no place for them."""
        if place is not None:
            return False
        inside = [x for body in bodies(loop.body) for x in body.items if isinstance(x, Loop)]
        counted = any(
            not isinstance(x.statement, For) or x.leave is not None
            for x in inside if self.is_passed(x)
        )  # fmt: skip
        return counted or self._is_recording(loop)

    def _is_recording(self, loop: Loop) -> bool:
        return any(
            self.words[body] or any(self.words.get(item) for item in body.items)
            for body in bodies(loop.body)
        )

    def _lay_out(self, loop: Loop) -> None:
        self.own[loop] = self._place(loop.body, 0)
        self.inner[loop] = [each for each in _loops(loop.body) if self._is_recording(each)]
        for each in self.inner[loop]:
            self._lay_out(each)

    def _place(self, body: Body, count: int) -> int:
        """Place the words of a body, and of the branches in it, from `count` on."""
        for item in body.items:
            if isinstance(item, Segment):
                self.offsets[item] = count
                count += self.words[item]
            elif isinstance(item, Branch):
                count = self._place(item.otherwise, self._place(item.then, count))
        self.offsets[body] = count
        return count + self.words[body]


def _loops(body: Body) -> Iterator[Loop]:
    """The loops in a body and in its branches, but not those in these loops."""
    for item in body.items:
        if isinstance(item, Loop):
            yield item
        elif isinstance(item, Branch):
            yield from _loops(item.then)
            yield from _loops(item.otherwise)


class Nest:
    """The sizes of a nest as operands; `made` receives the statements that compute them."""

    def __init__(
        self, nests: Nests, root: Loop, new: Callable[..., str], value: Callable[[str], str],
        made: list[Any],
    ):  # fmt: skip
        self._nests, self._new, self._value, self._made = nests, new, value, made
        self.widths: dict[Loop, Operand] = {}
        self.starts: dict[Loop, Affine] = {}  # of loops, in the words of a round of that around
        self.rounds: Operand | None = None  # of the root
        self.total = self._size(root)

    def _size(self, loop: Loop) -> Operand:
        """The number of words of all rounds of a loop."""
        width = Affine(self._nests.own[loop], ())
        for each in self._nests.inner[loop]:
            self.starts[each] = width
            width = _affine(self._number(width.plus(_affine(self._size(each)))))
        self.widths[loop] = self._number(width)
        self.rounds = self._rounds(loop)
        return self._times(self.rounds, self.widths[loop])

    def round(self, loop: Loop, axis: str, start: Operand | int, made: list[Any]) -> Affine:
        """The place of the words of a round, behind the start of the loop's."""
        width = self.widths[loop]
        first = Literal(start, INT) if isinstance(start, int) else start
        index = _affine(axis).plus(_affine(first).times(-1))
        if isinstance(width, Literal):
            return index.times(int(width.number))
        number, product = self._new("round"), self._new("place")
        made += [Position(number, index), operation(product, "multiply", (number, width), INT)]
        return variable(product)

    def _number(self, at: Affine) -> Operand:
        """The value of a sum; LLVM sees a number, as it compares sums of many terms for seconds."""
        if not at.terms:
            return literal(at.const, INT)
        first: Any = at.terms[0][0]
        if at == variable(first):
            return first
        total, name = self._new("width"), self._new("width")
        self._made += [Position(total, at), Call("hidden", (total,), (name,), (INT,))]
        return name

    def _times(self, x: Operand, y: Operand) -> Operand:
        """The product of two numbers; `_MOST` if it is larger, as it may exceed all integers."""
        if isinstance(x, Literal) and isinstance(y, Literal):
            return literal(min(x.number * y.number, _MOST), INT)
        product, size, exceeds = self._new("size"), self._new("size"), self._new("exceeds", BOOL)
        first, second, about = (self._new("about", DOUBLE) for _ in range(3))
        self._made += [
            operation(product, "multiply", (x, y), INT),
            copy(first, x, DOUBLE),
            copy(second, y, DOUBLE),
            operation(about, "multiply", (first, second), DOUBLE),
            operation(exceeds, "greater", (about, literal(_MOST, DOUBLE)), BOOL, DOUBLE),
            operation(size, "select", (exceeds, literal(_MOST, INT), product), INT),
        ]
        return size

    def _rounds(self, loop: Loop) -> Operand:
        bounds = loop.statement.start, loop.statement.stop
        if all(isinstance(x, int) for x in bounds):
            return literal(max(bounds[1] - bounds[0], 0), INT)
        start, stop = (literal(x, INT) if isinstance(x, int) else self._value(x) for x in bounds)
        count, runs, rounds = self._new("count"), self._new("runs", BOOL), self._new("rounds")
        self._made += [
            operation(count, "subtract", (stop, start), INT),
            operation(runs, "less", (start, stop), BOOL, INT),
            operation(rounds, "select", (runs, count, literal(0, INT)), INT),
        ]
        return rounds


def _affine(x: Operand) -> Affine:
    return Affine(int(x.number), ()) if isinstance(x, Literal) else variable(x)
