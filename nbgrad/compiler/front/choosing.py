"""Functions of NumPy that are applied to each element, or to numbers, and np.where."""

import operator
from collections.abc import Callable, Sequence

import numpy as np

from .array_table import function_row, known_of
from .arrays import is_array
from .complex_numbers import selected
from .elementwise import dtype_of_elements, each_element, loop_dtype
from .emit import FunctionBuilder
from .scalars import SCALARS
from .values import BOOL, KNOWN_0, Known, Value

__all__ = ["where"]

_OPERATORS = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul,
    np.divide: operator.truediv, np.floor_divide: operator.floordiv, np.negative: operator.neg,
    np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt,
    np.greater_equal: operator.ge, np.equal: operator.eq, np.not_equal: operator.ne,
    np.bitwise_and: operator.and_, np.bitwise_or: operator.or_, np.bitwise_xor: operator.xor,
    np.invert: operator.invert,
}  # fmt: skip


def _operator(function: np.ufunc, own: Callable) -> None:
    def row(emit: FunctionBuilder, *operands: Value) -> Value:
        return emit.operation(own, *operands)

    function_row(function)(row)


for _function, _own in _OPERATORS.items():
    _operator(_function, _own)


def _each(emit: FunctionBuilder, compute: Callable, operands: Sequence[Value]) -> Value:
    """A function of numbers for numbers, or for each element."""
    if any(map(is_array, operands)):
        return each_element(emit, compute, operands)
    return compute(*operands)


@function_row(np.logical_and)
def logical_and(emit: FunctionBuilder, x1: Value, x2: Value) -> Value:
    return _each(
        emit, lambda x, y: emit.applied("and", [emit.truth(x), emit.truth(y)], BOOL), [x1, x2]
    )


@function_row(np.logical_or)
def logical_or(emit: FunctionBuilder, x1: Value, x2: Value) -> Value:
    return _each(
        emit, lambda x, y: emit.applied("or", [emit.truth(x), emit.truth(y)], BOOL), [x1, x2]
    )


@function_row(np.logical_not)
def logical_not(emit: FunctionBuilder, x: Value) -> Value:
    return _each(emit, lambda each: emit.operation(operator.not_, each), [x])


@function_row(np.square)
def square(emit: FunctionBuilder, x: Value) -> Value:
    return _each(emit, lambda each: emit.operation(operator.mul, each, each), [x])


@function_row(np.reciprocal)
def reciprocal(emit: FunctionBuilder, x: Value) -> Value:
    return emit.operation(operator.truediv, Known(1), x)


@function_row(np.where)
def where(
    emit: FunctionBuilder, condition: Value, x: "Value | None" = None, y: "Value | None" = None
) -> Value:
    if x is None or y is None:
        from .calls import call  # which calls these

        return call(emit, np.nonzero, [condition])
    dtype = loop_dtype(emit, [x, y])

    def chosen(c: Value, a: Value, b: Value) -> Value:
        return selected(emit, c, a, b, dtype)

    return _each(emit, chosen, [condition, x, y])


def _larger(emit: FunctionBuilder, x: Value, y: Value) -> Value:
    return _each(emit, lambda a, b: SCALARS[np.maximum](emit, a, b), [x, y])


def _smaller(emit: FunctionBuilder, x: Value, y: Value) -> Value:
    return _each(emit, lambda a, b: SCALARS[np.minimum](emit, a, b), [x, y])


@function_row(np.clip)
def clip(emit: FunctionBuilder, a: Value, a_min: Value, a_max: Value) -> Value:
    found = a
    if known_of(a_min if isinstance(a_min, Known) else KNOWN_0, "a bound") is not None:
        found = _larger(emit, found, a_min)
    if known_of(a_max if isinstance(a_max, Known) else KNOWN_0, "a bound") is not None:
        found = _smaller(emit, found, a_max)
    if not is_array(a):
        return found
    dtype = dtype_of_elements(emit, a)
    return _each(emit, lambda x: emit.cast(x, dtype), [found])
