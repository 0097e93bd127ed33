"""What expressions are while a function is compiled: numbers at run time, and what is known."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba.core import types

from ..numba_api import numpy_support
from .syntax import Unsupported


@dataclass(frozen=True, eq=False)
class Typed:
    """A value at run time: its Numba type, and the LLVM value of that type."""

    kind: Any
    ir: Any


@dataclass(frozen=True, eq=False)
class Known:
    """What is known at compile time: a number, a function, a module, a dtype, a type."""

    value: Any

    @property
    def is_number(self) -> bool:
        """Whether it is a constant of Python's or NumPy's."""
        return isinstance(self.value, (bool, int, float, np.number, np.bool_))

    @property
    def is_python_number(self) -> bool:
        """Whether it is a constant of Python's, which computes with them as Numba does."""
        return isinstance(self.value, (bool, int, float)) and not isinstance(self.value, np.generic)


Value: TypeAlias = "Typed | Known | tuple[Value, ...]"

_EXACT = 2**53  # integers up to here are floats


def is_int64(number: int) -> bool:
    """Whether an integer is one of 64 bits with a sign."""
    return -(2**63) <= number < 2**63


Number: TypeAlias = "bool | int | float | np.number | np.bool_"


def kind_of_number(number: Number) -> Any:
    """The type that Numba gives a constant."""
    if isinstance(number, np.generic):
        return numpy_support.from_dtype(number.dtype)  # pyright: ignore
    if isinstance(number, bool):
        return types.boolean
    if isinstance(number, int):
        return types.int64 if is_int64(number) else types.uint64
    return types.float64


def constant(number: Any, kind: Any) -> Any:
    """The LLVM constant of a number in a type. Raises Unsupported where Numba has to convert."""
    if isinstance(number, np.generic):
        number = number.item()
    if kind == types.float64:
        return ir.Constant(ir.DoubleType(), float(number))
    if kind == types.float32 and not (isinstance(number, int) and abs(number) > _EXACT):
        with np.errstate(over="ignore"):
            return ir.Constant(ir.FloatType(), float(np.float32(number)))
    if isinstance(kind, types.Boolean) and isinstance(number, bool):
        return ir.Constant(ir.IntType(1), int(number))
    if (
        kind in types.integer_domain
        and isinstance(number, int)
        and kind.minval <= number <= kind.maxval
    ):
        return ir.Constant(ir.IntType(kind.bitwidth), int(number))
    raise Unsupported(f"{number} as {kind}")


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


def folded(function: Callable, numbers: list[Any]) -> Any:
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


_FLOATS: dict[Callable, str] = {
    operator.add: "fadd", operator.sub: "fsub", operator.mul: "fmul", operator.truediv: "fdiv",
}  # fmt: skip
_INTEGERS: dict[Callable, str] = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul",
}  # fmt: skip
_COMPARED: dict[Callable, str] = {
    operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "==",
    operator.ne: "!=",
}  # fmt: skip
_JOINED: dict[Callable, str] = {
    operator.and_: "and_", operator.or_: "or_", operator.xor: "xor",
}  # fmt: skip
SIMPLE = {*_FLOATS, *_COMPARED}
"""Operations that take an integer beside a float64 as a float64."""


def simple_operation(builder: ir.IRBuilder, function: Callable, x: Typed, y: Typed) -> Typed | None:
    """An operation on two numbers of one type as the instruction that Numba takes; None for
    others."""
    kind = x.kind
    if kind in (types.float64, types.float32):
        if function in _FLOATS:
            return Typed(kind, getattr(builder, _FLOATS[function])(x.ir, y.ir))
        if function is operator.ne:
            return Typed(types.boolean, builder.fcmp_unordered("!=", x.ir, y.ir))
        if function in _COMPARED:
            compared = builder.fcmp_ordered(_COMPARED[function], x.ir, y.ir)
            return Typed(types.boolean, compared)
    elif kind == types.int64:
        if function in _INTEGERS:
            return Typed(kind, getattr(builder, _INTEGERS[function])(x.ir, y.ir))
        if function in _COMPARED:
            return Typed(types.boolean, builder.icmp_signed(_COMPARED[function], x.ir, y.ir))
    elif kind == types.boolean and function in _JOINED:
        return Typed(kind, getattr(builder, _JOINED[function])(x.ir, y.ir))
    return None
