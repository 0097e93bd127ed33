"""What expressions are while a function is compiled: numbers at run time, and what is known."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.np import numpy_support

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

_INTS = (1 << 63, 1 << 64)


Number: TypeAlias = "bool | int | float | np.number | np.bool_"


def kind_of_number(number: Number) -> Any:
    """The type that Numba gives a constant."""
    if isinstance(number, np.generic):
        return numpy_support.from_dtype(number.dtype)  # pyright: ignore
    if isinstance(number, bool):
        return types.boolean
    if isinstance(number, int):
        return types.int64 if -_INTS[0] <= number < _INTS[0] else types.uint64
    return types.float64


def constant(number: Any, kind: Any) -> Any:
    """The LLVM constant of a number in a type. Raises Unsupported where Numba has to convert."""
    if isinstance(number, np.generic):
        number = number.item()
    if kind == types.float64:
        return ir.Constant(ir.DoubleType(), float(number))
    if kind == types.float32:
        with np.errstate(over="ignore"):
            return ir.Constant(ir.FloatType(), float(np.float32(number)))
    if isinstance(kind, types.Boolean) and isinstance(number, bool):
        return ir.Constant(ir.IntType(1), int(number))
    if kind in types.integer_domain and isinstance(number, int):
        return ir.Constant(ir.IntType(kind.bitwidth), int(number))
    raise Unsupported(f"{number} as {kind}")


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
