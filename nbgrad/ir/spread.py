"""Loops of independent rounds, which run in pieces on several threads."""

from dataclasses import dataclass
from typing import Any

from .statements import Address, For, Operand

__all__ = ["MOST_PIECES", "Spread"]

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
    inside belong to the piece.
    """

    loop: For
    count: Operand
    piece: str
    sums: tuple[str, ...] = ()
    shared: tuple[tuple[str, Address, Operand], ...] = ()
    before: tuple[Any, ...] = ()
    after: tuple[Any, ...] = ()
