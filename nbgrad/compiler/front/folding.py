"""Operations on constants at compile time."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import COMPARISONS
from .syntax import Unsupported
from .values import dtype_of

__all__ = ["constant_result", "is_int64"]

_EXACT = 2**53  # integers up to here are floats


def is_int64(number: int) -> bool:
    """Whether an integer is one of 64 bits with a sign."""
    return -(2**63) <= number < 2**63


# Operations on constants that give the same result in Python as in compiled code. All others, such
# as those on integers that compiled code rounds or wraps around, are left to run time.
_COMPARISONS = {
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.not_,
}  # fmt: skip
_OF_FLOATS = {
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.neg,
    operator.pos,
}
_OF_INTEGERS = _OF_FLOATS | {
    operator.floordiv, operator.mod, operator.and_, operator.or_, operator.xor, operator.invert,
}  # fmt: skip
_OF_BOOLS = {operator.and_, operator.or_, operator.xor}


def _folded(function: Callable, numbers: list[Any]) -> Any:
    """The result of an operation on constants of Python, or None where that is left to run time.
    Raises ArithmeticError."""
    kinds = set(map(type, numbers))
    if kinds == {int}:
        if not all(map(is_int64, numbers)):
            return None
        shifts = function in (operator.lshift, operator.rshift) and 0 <= numbers[1] < 63
        powers = function is operator.pow and 0 <= numbers[1] < 64
        if not (function in _OF_INTEGERS | _COMPARISONS or shifts or powers):
            return None
        if function is operator.truediv and max(map(abs, numbers)) > _EXACT:
            return None
        result = function(*numbers)
        return result if not isinstance(result, int) or is_int64(result) else None
    if kinds == {bool}:
        return function(*numbers) if function in _OF_BOOLS | _COMPARISONS else None
    if bool in kinds or any(type(x) is int and abs(x) > _EXACT for x in numbers):
        return None
    return function(*numbers) if function in _OF_FLOATS | _COMPARISONS else None


def constant_result(function: Callable, numbers: list) -> bool | int | float | None:
    """The result of an operation on constants; None for one that is left to run time.

    Raises Unsupported for a result that is no number, such as 1 / 0.
    """
    if any(isinstance(x, np.generic) for x in numbers):
        same = len({dtype_of(x) for x in numbers}) == 1
        return bool(function(*numbers)) if same and function in COMPARISONS else None
    try:
        return _folded(function, numbers)
    except ArithmeticError:
        raise Unsupported("a constant that is no number") from None
