"""The dtypes of operations on numbers, as Numba infers them."""

import operator
from collections.abc import Callable

import numpy as np

from .syntax import Unsupported
from .values import BOOL, DOUBLE, INT, SINGLE, UINT

__all__ = [
    "COMPARISONS", "NAMES", "SHIFTS", "common", "integer", "of_ufunc", "operand_dtypes",
]  # fmt: skip

NAMES: dict[Callable, str] = {
    operator.add: "add", operator.sub: "subtract", operator.mul: "multiply",
    operator.truediv: "divide", operator.floordiv: "floor_quotient", operator.mod: "modulo",
    operator.pow: "power_of", operator.and_: "and", operator.or_: "or", operator.xor: "xor",
    operator.lshift: "left_shift", operator.rshift: "right_shift", operator.lt: "less",
    operator.le: "less_equal", operator.gt: "greater", operator.ge: "greater_equal",
    operator.eq: "equal", operator.ne: "not_equal", operator.neg: "negative",
    operator.invert: "invert",
}  # fmt: skip
"""The functions of scalar code that operators stand for."""
COMPARISONS = {
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
}  # fmt: skip
SHIFTS = {operator.lshift, operator.rshift}
_OF_SINGLE = {SINGLE, *map(np.dtype, (np.bool_, np.int8, np.int16, np.uint8))}
_BITS = {operator.and_, operator.or_, operator.xor}


def integer(*dtypes: np.dtype) -> np.dtype:
    """The dtype of arithmetic on integers and bools: 64 bits, unsigned where all are."""
    return UINT if all(dtype.kind == "u" for dtype in dtypes) else INT


def _floating(*dtypes: np.dtype) -> np.dtype:
    """The dtype of arithmetic with a float: float32 takes in integers of up to 16 bits with a sign,
    and of 8 bits without."""
    return SINGLE if _OF_SINGLE.issuperset(dtypes) else DOUBLE


def common(x: np.dtype, y: np.dtype) -> np.dtype:
    """The dtype that two values of one variable have."""
    return x if x == y else np.result_type(x, y)


def of_ufunc(*dtypes: np.dtype) -> np.dtype:
    """The dtype that a ufunc computes with: an integer takes that of the floats beside it."""
    return np.result_type(*([x for x in dtypes if x.kind in "fc"] or dtypes))


def operand_dtypes(function: Callable, x: np.dtype, y: np.dtype) -> tuple[np.dtype, np.dtype]:
    """The dtype that both operands of an operator are converted to, and that of the result."""
    floats = "f" in (x.kind, y.kind)
    if function in COMPARISONS:
        if x == y:
            return x, BOOL
        signs = {x.kind, y.kind} == {"i", "u"} and UINT in (x, y)
        return (_floating(x, y) if floats else DOUBLE if signs else _whole(x, y)), BOOL
    if function in _BITS or function in SHIFTS:
        if floats:
            raise Unsupported(f"{NAMES[function]} of floats")
        if function in SHIFTS:
            dtype = integer(x)
        else:
            dtype = BOOL if x == y == BOOL else integer(x, y)
    elif function is operator.pow and floats:
        dtype = DOUBLE if DOUBLE in (x, y) or x.kind != "f" else SINGLE
    elif floats:
        dtype = DOUBLE if x == y == DOUBLE else _floating(x, y)
    else:
        dtype = DOUBLE if function is operator.truediv else integer(x, y)
    return dtype, dtype


def _whole(x: np.dtype, y: np.dtype) -> np.dtype:
    return UINT if UINT in (x, y) else INT
