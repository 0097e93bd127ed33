"""Loops over short rows, such as the coordinates of points, with a version for rows of one length.

The subscripts `x[j, 0]` and `x[j, 1]` suggest that a row has two elements. A loop over j then has a
version in which the row has this length, which is chosen at run time. LLVM loads and stores whole
rows in it and vectorises it, which it does not for a distance of rows that it does not know.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..ir.affine import ZERO
from ..ir.spread import Spread
from ..ir.statements import (
    Accumulate,
    Assign,
    Break,
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
from .build import BOOL, INT, defined_names, literal, names_of, operation, renamed
from .positions import Access, Positions

__all__ = ["RowLengths", "row_lengths"]


def row_lengths(
    statements: Iterable[Any], positions: Positions, shapes: Mapping[Any, Sequence[str]]
) -> dict[str, int]:
    """The numbers of elements that rows seem to have, by the names of the lengths: those of arrays
    whose last subscript is a constant wherever elements are read or written."""
    found: dict[str, int] = {}
    others: set[str] = set()
    for each in statements:
        shape = shapes.get(each.buffer, ()) if isinstance(each, (Load, Store)) else ()
        if len(shape) < 2:
            continue
        last = positions.subscripts(Access(each.buffer, each.at, ()))[-1]
        if last is None or last.terms:
            others.add(shape[-1])
        else:
            found[shape[-1]] = max(found.get(shape[-1], 0), last.const + 1)
    return {name: n for name, n in found.items() if n > 1 and name not in others}


_PLAIN = (Accumulate, Assign, Break, Call, If, Load, Position, Store)


class RowLengths:
    """Writes the versions. `lengths` are those of rows, by name, and `new(hint, dtype)` gives new
    names."""

    def __init__(
        self, lengths: Mapping[str, int], dtypes: Mapping[str, np.dtype], new: Callable[..., str],
        variables: Collection[str],
    ):  # fmt: skip
        self._lengths, self._dtypes, self._new = lengths, dtypes, new
        self._variables = variables

    def of(self, statements: Sequence[Any]) -> list[Any]:
        """The statements with two versions of innermost loops that step from row to row."""
        if not self._lengths:
            return list(statements)
        made: list[Any] = []
        for each in statements:
            if isinstance(each, Spread):
                loop = replace(each.loop, body=tuple(self.of(each.loop.body)))
                made.append(replace(each, loop=loop))
            elif isinstance(each, For) and all(isinstance(x, _PLAIN) for x in walk(each.body)):
                made += self._versions(each)
            elif inner(each):
                made.append(with_inner(each, lambda body: tuple(self.of(body))))
            else:
                made.append(each)
        return made

    def _versions(self, loop: For) -> list[Any]:
        """A loop with a version for rows of the lengths whose names it reads."""
        read = {name for each in walk(loop.body) for name in names_of(each)}
        made: list[Any] = []
        is_short: Any = None
        for name in sorted(self._lengths.keys() & read):
            flag = self._new("short", BOOL)
            made.append(operation(flag, "equal", (name, self._literal(name)), BOOL, INT))
            if is_short is not None:
                both = self._new("short", BOOL)
                made.append(operation(both, "and", (is_short, flag), BOOL))
                flag = both
            is_short = flag
        return [*made, If(is_short, (self._short(loop),), (loop,))] if made else [loop]

    def _short(self, loop: For) -> For:
        """The version of a loop, with names of its own."""
        own = {
            name: self._new(name, self._dtypes.get(name, INT))
            for name in defined_names([loop]) if name not in self._variables
        }  # fmt: skip

        def value(name: str) -> Operand:
            return self._literal(name) if name in self._lengths else own.get(name, name)

        return renamed(loop, value, lambda buffer: (buffer, ZERO), lambda name: own.get(name, name))

    def _literal(self, name: str) -> Literal:
        return literal(self._lengths[name], INT)
