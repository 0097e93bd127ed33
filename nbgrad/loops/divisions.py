"""Divisions of integers that raise ZeroDivisionError, as in functions that Numba compiles."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..adjoints.build import BOOL, Names, literal, operation
from ..ir.scalar import Apply
from ..ir.statements import Assign, Call, Function, If, Literal, Raise
from ..ir.walk import inner, with_inner
from .status import names_in

__all__ = ["with_checked_divisions"]

_DIVISIONS = {"floor_quotient", "modulo"}


def with_checked_divisions(function: Function) -> Function:
    """The function, which raises where it, or one that it calls, divides an integer by zero. Floats
    give inf or nan."""
    names = Names(names_in(function))
    known: dict[int, Function] = {}

    def checked(one: Function) -> Function:
        if id(one) not in known:
            known[id(one)] = replace(one, body=body(one.body))
        return known[id(one)]

    def body(statements: Sequence[Any]) -> tuple:
        made: list[Any] = []
        for each in statements:
            if isinstance(each, Call) and isinstance(each.function, Function):
                each = replace(each, function=checked(each.function))
            elif isinstance(each, Assign) and _divides(each):
                divisor, is_zero = each.operands[1], names.new("is_zero")
                zero = literal(0, each.inner)
                made.append(operation(is_zero, "equal", (divisor, zero), BOOL, each.inner))
                made.append(If(is_zero, (Raise("ZeroDivisionError", "division by zero"),)))
            made.append(with_inner(each, body) if inner(each) else each)
        return tuple(made)

    return checked(function)


def _divides(each: Assign) -> bool:
    """Whether a statement divides integers by a number that may be zero."""
    if not isinstance(each.body, Apply) or each.dtype.kind not in "iu":
        return False
    if each.body.function.name not in _DIVISIONS:
        return False
    divisor = each.operands[-1]
    return not (isinstance(divisor, Literal) and divisor.number)
