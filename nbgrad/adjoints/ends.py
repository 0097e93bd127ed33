"""Buffers that a loop with checkpoints makes again, as in `u = step(u)` or `a, b = b, a`.

A copy of the state has room for all elements of its buffers. How many those are is not known in the
program where a buffer is made in several places, so a variable holds it. The loop has the `ends` of
such buffers, and raises an error where one changes its length.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..ir.affine import variable
from ..ir.statements import Address, For, If, New, Raise, Variable
from ..ir.walk import walk, with_inner
from .build import BOOL, INT, Names, copy, literal, operation

__all__ = ["CHANGES", "with_ends"]

CHANGES = (
    "ValueError",
    "nbgrad.steps: an array changes its number of elements in the loop: loop over range",
)
"""The error for a buffer that has another length when it is made again."""


def with_ends(body: Sequence[Any], names: Names) -> tuple[list[Variable], list[Any]]:
    """Variables, and the statements with the ends of what loops with checkpoints make again."""
    news = [each for each in walk(body) if isinstance(each, New)]
    total, dtypes = Counter(x.target for x in news), {x.target: x.dtype for x in news}
    counts: dict[Any, str] = {}

    def made_again(loop: For) -> list[Any]:
        inside = Counter(x.target for x in walk(loop.body) if isinstance(x, New))
        return [x for x, count in inside.items() if count < total[x]]

    for loop in walk(body):
        if isinstance(loop, For) and loop.checkpoint:
            counts |= {x: names.new("count") for x in made_again(loop) if x not in counts}

    def change(body: Sequence[Any], ends: dict[Any, str]) -> tuple:
        made: list[Any] = []
        for each in body:
            if isinstance(each, For) and each.checkpoint:
                known = {x: names.new("length") for x in made_again(each)}
                made += [copy(length, counts[x], INT) for x, length in known.items()]
                found = [Address(x, variable(length), dtypes[x]) for x, length in known.items()]
                each = replace(each, body=change(each.body, {**ends, **known}), ends=tuple(found))
            else:
                each = with_inner(each, lambda body: change(body, ends))
            made.append(each)
            if isinstance(each, New) and each.target in counts:
                made.append(copy(counts[each.target], each.count, INT))
                if each.target in ends:
                    made += _compared(each, ends[each.target], names)
        return tuple(made)

    declared = [Variable(count, literal(0, INT), INT) for count in counts.values()]
    return declared, list(change(body, {}))


def _compared(new: New, length: str, names: Names) -> list[Any]:
    """Raise an error for a buffer of another length."""
    differs = names.new("differs")
    return [
        operation(differs, "not_equal", (new.count, length), BOOL, INT),
        If(differs, (Raise(*CHANGES),)),
    ]
