"""How many pieces a loop is worth: by its work, never by the number of threads.

The work is a number of operations, computed before the loop runs.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..ir.spread import MOST_PIECES
from ..ir.statements import Assign, Call, For, Load, Operand, Store, While
from ..ir.walk import walk
from .build import BOOL, INT, literal, operation
from .positions import Positions
from .tree import Body, Branch, Loop, Segment

__all__ = ["Work", "are_short", "operand_of", "rounds_of_block"]

# Operations, some half a nanosecond each, in loops that are worth the few microseconds in which
# threads wake, and in a piece. 2 to the power of _SHIFT operations are a piece.
_LARGE, _SHIFT = 150_000, 14
# Buffers of pieces have together at most one element for so many operations.
_SHARE = 32
_GUESS = 16  # rounds of a loop whose number is not known
_CALL = 20  # operations of a function such as exp
_SHORT = 40  # operations of a round that is worth storing a result


class Work:
    """Writes the statements that compute numbers of pieces. `new(hint, dtype)` gives new names.
    `known(x, loop)` is the value of a bound of a loop where the statements stand; None if it is
    not known there."""

    def __init__(
        self, positions: Positions, new: Callable[..., str],
        known: Callable[[Any, Loop], Operand | int | None],
    ):  # fmt: skip
        self._positions, self._new, self._known = positions, new, known

    def pieces(
        self, loop: Loop, factor: int, sizes: Sequence[Operand], made: list[Any],
        limit: int = MOST_PIECES,
    ) -> Operand:  # fmt: skip
        """The number of pieces, at most `limit`; 1 for a loop that is too short for threads. A
        round takes `factor` times the operations of the loop; `sizes` are those of the buffers that
        a piece has."""
        rounds = self.rounds(loop, made)
        work = self._of(loop.body, loop, rounds, made)
        work = self.operation("multiply", work, literal(factor, INT), made)
        total = self.operation("multiply", work, rounds, made)
        count = self.operation("right_shift", total, literal(_SHIFT, INT), made)
        if sizes:
            most: Operand = literal(1, INT)
            for size in sizes:
                most = self.operation("add", most, size, made)
            most = self.operation("multiply", most, literal(_SHARE, INT), made)
            most = self.operation("floor_quotient", total, most, made)
            count = self.operation("minimum", count, most, made)
        count = self.operation("minimum", count, rounds, made)
        count = self.operation("minimum", count, literal(limit, INT), made)
        is_large, several = self._new("large", BOOL), self._new("several", BOOL)
        both, found = self._new("spread", BOOL), self._new("pieces")
        made += [
            operation(is_large, "greater_equal", (total, literal(_LARGE, INT)), BOOL, INT),
            operation(several, "greater", (count, literal(1, INT)), BOOL, INT),
            operation(both, "and", (is_large, several), BOOL),
            operation(found, "select", (both, count, literal(1, INT)), INT),
        ]
        return found

    def rounds(self, loop: Loop, made: list[Any]) -> Operand:
        """The number of rounds of a loop."""
        found = self._trips(loop, made)
        assert found is not None
        return found

    def operation(self, name: str, x: Operand, y: Operand, made: list[Any]) -> Operand:
        """A function of two integers."""
        if not isinstance(x, str) and not isinstance(y, str):
            return literal(_FOLDED[name](int(x.number), int(y.number)), INT)
        if (name, literal(1, INT)) in (("multiply", x), ("multiply", y)):
            return y if x == literal(1, INT) else x
        if (name, literal(0, INT)) in (("add", x), ("add", y)):
            return y if x == literal(0, INT) else x
        target = self._new("work")
        made.append(operation(target, name, (x, y), INT))
        return target

    def _of(self, body: Body, around: Loop, rounds: Operand, made: list[Any]) -> Operand:
        """The operations of a body; `around` is the loop that is cut, of so many rounds."""
        own, total = 0, literal(0, INT)
        for item in body.items:
            if isinstance(item, Segment):
                own += sum(map(_price, walk(item.statements)))
            elif isinstance(item, Branch):
                for part in (item.then, item.otherwise):
                    more = self._of(part, around, rounds, made)
                    total = self.operation("add", total, more, made)
            else:
                once = self._of(item.body, around, rounds, made)
                count = self._inner_trips(item, around, rounds, made)
                more = self.operation("multiply", once, count, made)
                total = self.operation("add", total, more, made)
        return self.operation("add", total, literal(own, INT), made)

    def _inner_trips(self, loop: Loop, around: Loop, rounds: Operand, made: list[Any]) -> Operand:
        """The rounds of a loop inside, or a guess."""
        if (known := self._trips(loop, made)) is not None:
            return known
        bounds = (getattr(loop.statement, x, None) for x in ("start", "stop"))
        forms = [self._positions.form(x) for x in bounds]
        if any(form is not None and around.statement.axis in form.terms for form in forms):
            return self.operation("right_shift", rounds, literal(1, INT), made)  # a triangle
        return literal(_GUESS, INT)

    def _trips(self, loop: Loop, made: list[Any]) -> Operand | None:
        """The number of rounds of a loop, if it is known."""
        statement = loop.statement
        if not isinstance(statement, For):
            return None
        start, stop = (self._known(x, loop) for x in (statement.start, statement.stop))
        if start is None or stop is None:
            return None
        count = self.operation("subtract", operand_of(stop), operand_of(start), made)
        return self.operation("maximum", count, literal(0, INT), made)


def _price(statement: Any) -> int:
    """The number of operations of a statement."""
    if isinstance(statement, Assign):
        return max(statement.body.price, 1)
    if isinstance(statement, Call):
        return _CALL
    return 1 if isinstance(statement, (Load, Store)) else 0


def are_short(statements: Sequence[Any]) -> bool:
    """Whether a round of these statements, without loops, is too short to store a result."""
    return sum(map(_price, statements)) < _SHORT


def rounds_of_block(loop: Loop) -> int:
    """How many rounds are long enough for that."""
    inside = walk(loop.statement.body)
    if any(isinstance(each, (For, While)) for each in inside):
        return 1
    return max(1, _SHORT // max(1, sum(map(_price, inside))))


def operand_of(bound: Operand | int) -> Operand:
    """The bound of a loop as an operand."""
    return literal(bound, INT) if isinstance(bound, int) else bound


_FOLDED: dict[str, Callable[[int, int], int]] = {
    "add": int.__add__, "subtract": int.__sub__, "multiply": int.__mul__, "maximum": max,
    "minimum": min, "right_shift": int.__rshift__, "floor_quotient": int.__floordiv__,
}  # fmt: skip
