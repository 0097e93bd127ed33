"""Operators and functions of NumPy that are applied to each element of arrays."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import dtypes
from .arrays import broadcast, lazy
from .emit import FunctionBuilder
from .syntax import Unsupported
from .values import BOOL, DOUBLE, Array, Complex, Known, Lazy, Number, Value, part_dtype

__all__ = [
    "applied_by_call", "array_operation", "dtype_of_elements", "each_element", "loop_dtype",
]  # fmt: skip

_ARITHMETIC = {
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.pow,
}  # fmt: skip


def array_operation(emit: FunctionBuilder, function: Callable, operands: Sequence[Value]) -> Value:
    """An operator of arrays."""
    if function is operator.matmul:
        from .calls import call  # which uses operators
        from .complex_calls import has_complex
        from .products import matmul

        if any(map(has_complex, operands)):
            return call(emit, function, operands)
        return matmul(emit, *operands)
    if function is operator.not_:
        raise Unsupported("the truth of an array: use np.any or np.all")
    dtype = dtypes.of_ufunc(*(dtype_of_elements(emit, x) for x in operands))
    is_quotient = function is operator.truediv and dtype.kind in "fc"
    if function not in _ARITHMETIC and not is_quotient:
        return each_element(emit, lambda *xs: emit.operation(function, *xs), operands)
    if function in (operator.floordiv, operator.mod) and dtype == BOOL:
        dtype = np.dtype(np.int8)
    is_power = function is operator.pow and isinstance(operands[1], Known)

    def element(*xs: Value) -> Value:
        if dtype.kind == "f" and not is_power:
            xs = tuple(emit.cast(x, dtype) for x in xs)
        elif dtype.kind == "f":
            xs = emit.cast(xs[0], dtype), xs[1]
        return emit.cast(emit.operation(function, *xs), dtype)

    return each_element(emit, element, operands)


def loop_dtype(emit: FunctionBuilder, operands: Sequence[Value]) -> np.dtype:
    """The dtype that NumPy computes with."""
    dtype = np.result_type(*(dtype_of_elements(emit, x) for x in operands))
    return DOUBLE if dtype.kind == "f" and dtype.itemsize < 4 else dtype


def dtype_of_elements(emit: FunctionBuilder, value: Value) -> np.dtype:
    """The dtype of the elements of an array, or of a number."""
    if isinstance(value, Lazy):
        return value.dtype
    if isinstance(value, Array):
        return value.place.dtype
    return emit.dtype(value)


def each_element(
    emit: FunctionBuilder, compute: Callable[..., Value], operands: Sequence[Value]
) -> Lazy:
    """The array of the results of `compute` for the elements of arrays that are broadcast."""
    shape, values = broadcast(emit, [lazy(emit, x) for x in operands])

    def element(indices: Sequence[Value]) -> Value:
        return compute(*(value.element(indices) for value in values))

    with emit.block():  # of which only the dtype is used
        found = compute(*(_any_of(x, v) for x, v in zip(operands, values, strict=True)))
    sources = tuple(each for value in values for each in value.sources)
    return Lazy(shape, emit.dtype(found), element, sources)


def _any_of(operand: Value, value: Lazy) -> Value:
    """A number of the dtype of an array."""
    if isinstance(operand, Known):
        return operand
    if value.dtype.kind == "c":
        return Complex([Number("?", part_dtype(value.dtype))] * 2)
    return Number("?", value.dtype)


def applied_by_call(emit: FunctionBuilder, function: Any, operands: Sequence[Value]) -> Value:
    """A function of numbers, for each element."""
    from .calls import call  # which calls functions of arrays

    return each_element(emit, lambda *xs: call(emit, function, xs), operands)
