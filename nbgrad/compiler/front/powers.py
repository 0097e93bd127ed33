"""Powers with integers as exponents, and calls of operators that are written in Python."""

import operator
from collections.abc import Callable, Sequence

from . import calls, dtypes, operators, written
from .emit import FunctionBuilder
from .functions import entry_of
from .values import INT, UINT, Known, Number, Value

__all__ = ["called", "constant_power", "whole_power"]

_FAR = 0x10000  # larger exponents go through the C library


def called(emit: FunctionBuilder, function: Callable, operands: Sequence[Number]) -> Number:
    """A call of an operator that is written in Python."""
    entry = entry_of(function, tuple(operand.dtype for operand in operands))
    return emit.typed(calls.called(emit, entry, operands))


def whole_power(emit: FunctionBuilder, x: Number, y: Number) -> Value:
    """x ** y of a float and an integer, by products."""
    whole = emit.cast(y, INT if y.dtype.kind == "i" else UINT)
    return emit.cast(called(emit, written.power_of_whole, [x, whole]), x.dtype)


def constant_power(emit: FunctionBuilder, x: Value, exponent: int) -> Value:
    """x ** exponent, a constant, as products."""
    here = emit.typed(x)
    dtype = here.dtype if here.dtype.kind == "f" else dtypes.integer(here.dtype)
    if abs(exponent) > _FAR or (exponent < 0 and dtype.kind != "f"):
        y = emit.typed(Known(exponent))
        if dtype.kind == "f":
            return whole_power(emit, here, y)
        return called(emit, operators.whole_power, [emit.cast(x, INT), y])
    base: Value = emit.cast(x, dtype)
    result: Value | None = None
    whole = abs(exponent)
    while whole:
        if whole & 1:
            result = base if result is None else emit.operation(operator.mul, result, base)
        whole >>= 1
        if whole:
            base = emit.operation(operator.mul, base, base)
    one = emit.cast(Known(1), dtype)
    if result is None:
        return one
    if exponent < 0:
        return emit.applied("divide", [one, emit.cast(result, dtype)], dtype)
    return result
