"""Loops of few rounds, whose number is known, as their rounds one after the other.

Loops over the coordinates of a point are such. Written out, their subscripts are constants, what
they sum up stays in registers, and the loop around is an innermost one, which LLVM may vectorise.
"""

from collections.abc import Collection, Sequence
from typing import Any

from ..ir.affine import ZERO
from ..ir.statements import (
    Accumulate,
    Assign,
    Call,
    For,
    If,
    Literal,
    Load,
    Operand,
    Position,
    Store,
)
from ..ir.walk import inner, walk, with_inner
from .build import INT, Names, defined_names, literal, renamed

__all__ = ["unrolled"]

_MOST_ROUNDS = 4
_MOST_STATEMENTS = 256
_PLAIN = (Accumulate, Assign, Call, If, Load, Position, Store)


def unrolled(body: Sequence[Any], variables: Collection[str], names: Names) -> list[Any]:
    """The statements without loops of few rounds; those around them are tried, too. A product stays
    the nest that it is: its call reads all elements from memory."""
    made: list[Any] = []
    for each in body:
        if inner(each) and not getattr(each, "call", None):
            each = with_inner(each, lambda part: tuple(unrolled(part, variables, names)))
        rounds = _rounds(each)
        if rounds is None:
            made.append(each)
        for i in rounds or ():
            made += _round(each, i, variables, names)
    return made


def _rounds(loop: Any) -> range | None:
    """The values of the variable of a loop to be written out; None for other statements."""
    if not isinstance(loop, For) or loop.checkpoint or loop.parallel or loop.call:
        return None
    start, stop, step = (_integer(x) for x in (loop.start, loop.stop, loop.step))
    inside = walk(loop.body)
    if start is None or stop is None or step is None:
        return None
    rounds = range(start, stop, step)
    is_short = len(rounds) <= _MOST_ROUNDS and len(rounds) * len(inside) <= _MOST_STATEMENTS
    return rounds if is_short and all(isinstance(x, _PLAIN) for x in inside) else None


def _integer(bound: Any) -> int | None:
    bound = bound.number if isinstance(bound, Literal) else bound
    return bound if isinstance(bound, int) else None


def _round(loop: For, i: int, variables: Collection[str], names: Names) -> list[Any]:
    """The statements of a round, with names of their own."""
    own: dict[str, Operand] = {
        name: names.new(name) for name in defined_names(loop.body) if name not in variables
    }

    def value(name: str) -> Operand:
        return literal(i, INT) if name == loop.axis else own.get(name, name)

    def defined(name: str) -> Any:
        return own.get(name, name)

    return [renamed(each, value, lambda buffer: (buffer, ZERO), defined) for each in loop.body]
