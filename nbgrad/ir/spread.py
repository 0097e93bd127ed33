"""Loops of independent rounds, which run in pieces on several threads."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

from .statements import Address, Call, For, New, Operand, Store

__all__ = ["MOST_PIECES", "Spread", "written"]

MOST_PIECES = 64
"""The largest number of pieces of a `Spread`."""


@dataclass(frozen=True)
class Spread:
    """The rounds of a loop in `count` pieces of neighbouring rounds, from 1 to MOST_PIECES, which
    threads run in any order, or at once.

    A piece runs `before`, its rounds, and `after`; `piece` is its number there. It has its own
    variables, which start with the values that they have before the loop, and keep those behind it.
    But variables of `sums` start at 0 in each piece, and what they are at its end is added to them,
    in the order of the pieces. So are elements of `shared`: a buffer of the piece, to which it only
    adds, the place of the elements that it stands for, and their number. Buffers that are made
    inside belong to the piece. With `from_end`, rounds are counted from the last one. If a piece
    raises an exception, `at_error` runs when all have ended, and the function ends with it.
    """

    loop: For
    count: Operand
    piece: str
    sums: tuple[str, ...] = ()
    shared: tuple[tuple[str, Address, Operand], ...] = ()
    before: tuple[Any, ...] = ()
    after: tuple[Any, ...] = ()
    at_error: tuple[Any, ...] = ()
    from_end: bool = False

    def changed(self, change: Callable[[Any], Any], start: Any, stop: Any) -> "Spread":
        """The same with other operands and addresses from outside of its bodies."""
        loop = replace(self.loop, start=start, stop=stop)
        shared = tuple((name, change(address), change(size)) for name, address, size in self.shared)
        return replace(self, loop=loop, count=change(self.count), shared=shared)


def written(statement: Any) -> tuple[Hashable, ...]:
    """The buffers whose elements a statement itself may write."""
    match statement:
        case Store(buffer=buffer) | New(target=buffer):
            return (buffer,)
        case Call(pointers=pointers):
            return tuple(pointer.buffer for pointer in pointers)
        case Spread(shared=shared):
            return tuple(address.buffer for _, address, _ in shared)
    return ()
