"""Infinities that LLVM does not see, where the largest or the least number is sought.

LLVM turns the largest of numbers that are chosen between an element and -inf into one that is
compared under a condition, for which there are no vectors. Of a number that it does not know, it
makes vectors.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .reductions import MAXIMUM, MINIMUM
from .scalar import NAMES, Apply, Number, arg, arguments, ordered, replaced
from .statements import (
    Accumulate,
    Assign,
    Chunks,
    For,
    Guarded,
    Literal,
    Operand,
    Pieces,
    Statement,
    Store,
    Variable,
    statements,
)

_Names = dict[tuple[float, np.dtype], str]


def with_hidden_infinities(code: Sequence[Statement]) -> Sequence[Statement]:
    """The statements of a kernel, with names for the infinities that are chosen from."""
    if any(isinstance(s, Pieces) for s in code):
        return [
            replace(s, part=replace(s.part, body=tuple(with_hidden_infinities(s.part.body))))
            if isinstance(s, Pieces) else s for s in code
        ]  # fmt: skip
    extremes = (MAXIMUM, MINIMUM)
    if not any(
        isinstance(s, (Accumulate, Store)) and s.kind in extremes
        for s, _ in statements(tuple(code))
    ):
        return code
    names: _Names = {}
    veiled = [_veiled(statement, names) for statement in code]
    begins = [
        Variable(name, Literal(number, dtype), hidden=True)
        for (number, dtype), name in names.items()
    ]
    return [*begins, *veiled] if names else code


def _veiled(statement: Statement, names: _Names) -> Statement:
    if isinstance(statement, Assign):
        return _let(statement, names)
    if isinstance(statement, (For, Guarded)):
        return replace(statement, body=tuple(_veiled(s, names) for s in statement.body))
    if isinstance(statement, Chunks):
        loop = _veiled(statement.loop, names)
        assert isinstance(loop, For)
        return replace(statement, loop=loop)
    return statement


def _let(let: Assign, names: _Names) -> Assign:
    parts = ordered(let.body)
    if not any(isinstance(e, Apply) and e.function.name == "select" for e in parts):
        return let
    operands = [_named(x, names) for x in let.operands]
    body, taken = let.body, arguments(let.body)
    infinities = [e for e in parts if isinstance(e, Number) and _is_infinite(e.value)]
    free = [name for name in NAMES[len(operands) :] if name not in taken]
    for infinity, name in zip(infinities, free, strict=False):
        body = replaced(body, {infinity: arg(name)})
        operands.append(_named(Literal(infinity.value, let.inner), names))
    return replace(let, body=body, operands=tuple(operands))


def _named(operand: Operand, names: _Names) -> Operand:
    if isinstance(operand, str) or not _is_infinite(operand.number):
        return operand
    key = (float(operand.number), operand.dtype)
    return names.setdefault(key, f"infinity{len(names)}")


def _is_infinite(number: object) -> bool:
    return isinstance(number, float) and math.isinf(number)


__all__ = ["with_hidden_infinities"]
