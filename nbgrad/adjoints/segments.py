"""Loops with checkpoints, as loops over segments of rounds.

The reverse pass keeps the state before some segments only, and runs a segment again to record it:
see `checkpoints.py`. A loop of n rounds has

- "sqrt": about sqrt(n) segments of as many rounds, and the state before each of them;
- "equal": as many segments as `snapshots` says, and the state before each of them;
- "kept": one segment, whose record is kept unless the whole record then has more words than
  `snapshots` says; only without it, the segment runs again;
- "binomial": segments of about 2 n**(1/4) rounds, and as many states. The schedule of A. Griewank
  and A. Walther (Algorithm 799: Revolve, ACM Transactions on Mathematical Software 26, 2000) runs
  a segment at most three times before it is recorded.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..ir.statements import Break, For, If, Operand
from ..ir.walk import with_inner
from .build import BOOL, DOUBLE, INT, Names, copy, literal, operation

__all__ = ["segmented"]

_ONE = literal(1, INT)


def segmented(body: Sequence[Any], names: Names) -> list[Any]:
    """The statements with two loops for each loop with checkpoints: one over segments, and one over
    the rounds of a segment. The first keeps the mark; its `snapshots` are how many states are kept
    at once, None for one before each segment."""
    made: list[Any] = []
    for each in body:
        each = with_inner(each, lambda body: tuple(segmented(body, names)))
        if isinstance(each, For) and each.checkpoint:
            made += _Segments(names).of(each)
        else:
            made.append(each)
    return made


class _Segments:
    def __init__(self, names: Names):
        self._names = names
        self._made: list[Any] = []

    def of(self, loop: For) -> list[Any]:
        assert loop.start == 0
        assert not any(isinstance(x, If) and Break() in x.then for x in loop.body)
        rounds = literal(loop.stop, INT) if isinstance(loop.stop, int) else loop.stop
        size = self._size(loop, self._at_least_one(rounds))
        count = self._quotient(rounds, size)
        segment, low = self._names.new("segment"), self._names.new("low")
        end, is_last, high = (self._names.new(x) for x in ("end", "is_last", "high"))
        inner = replace(loop, start=low, stop=high, checkpoint="", snapshots=None)
        body = (
            operation(low, "multiply", (segment, size), INT),
            operation(end, "add", (low, size), INT),
            operation(is_last, "less", (rounds, end), BOOL, INT),
            operation(high, "select", (is_last, rounds, end), INT),
            inner,
        )
        kept = {"binomial": size, "kept": loop.snapshots}.get(loop.checkpoint)
        outer = replace(loop, axis=segment, stop=count, body=body, snapshots=kept)
        return [*self._made, outer]

    def _size(self, loop: For, rounds: Operand) -> Operand:
        """The number of rounds of a segment."""
        if loop.checkpoint == "kept":
            return rounds
        if loop.checkpoint == "equal":
            assert loop.snapshots is not None
            return self._quotient(rounds, self._at_least_one(loop.snapshots))
        root = self._add("sqrt", copy(self._names.new("n"), rounds, DOUBLE), dtype=DOUBLE)
        if loop.checkpoint == "binomial":
            root = self._add("sqrt", root, dtype=DOUBLE)
            root = self._add("multiply", root, literal(2, DOUBLE), dtype=DOUBLE)
        whole = self._add("np.ceil", root, dtype=DOUBLE)
        size = self._names.new("size")
        self._made.append(copy(size, whole, INT))
        return size

    def _at_least_one(self, x: Operand) -> Operand:
        none = self._names.new("none")
        self._made.append(operation(none, "less", (x, _ONE), BOOL, INT))
        return self._add("select", none, _ONE, x)

    def _quotient(self, x: Operand, y: Operand) -> Operand:
        """The quotient, rounded up."""
        more = self._add("add", x, self._add("subtract", y, _ONE))
        return self._add("floor_quotient", more, y)

    def _add(self, name: str, *operands: Any, dtype: np.dtype = INT) -> str:
        """A new statement, behind those among its operands; the name of its value."""
        target = self._names.new("size")
        given = []
        for x in operands:
            if not isinstance(x, str) and hasattr(x, "target"):
                self._made.append(x)
                x = x.target
            given.append(x)
        self._made.append(operation(target, name, given, dtype))
        return target
