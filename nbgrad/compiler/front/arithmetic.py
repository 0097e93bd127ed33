"""Operators as functions, powers, and functions of several values, with Numba's types."""

import builtins
import math
import operator
from collections.abc import Callable
from functools import partial, reduce

import numpy as np

from . import dtypes, operators, written
from .arrays import is_array, shape_of
from .elements import attribute
from .emit import FunctionBuilder
from .functions import entry_of
from .scalars import SCALARS, arity, floats, library
from .syntax import Unsupported
from .tuples import is_tuple
from .values import BOOL, DOUBLE, INT, SINGLE, Known, Value, members

# -- operators ------------------------------------------------------------------------------------


def _operator(function: Callable, emit: FunctionBuilder, *operands: Value) -> Value:
    return emit.operation(function, *operands)


for _name in ("add sub mul truediv floordiv mod pow neg pos lt le gt ge eq ne and_ or_ xor invert "
              "lshift rshift not_").split():  # fmt: skip
    SCALARS[getattr(operator, _name)] = partial(_operator, getattr(operator, _name))


def _ufunc(function: Callable, emit: FunctionBuilder, *operands: Value) -> Value:
    """A ufunc for an operator: its operands have one dtype, also that of its result."""
    dtype = dtypes.of_ufunc(*map(emit.dtype, operands))
    if dtype == BOOL or (function is operator.truediv and dtype.kind != "f"):
        raise Unsupported(f"a ufunc of {dtype}: use the operator")
    numbers = [emit.cast(operand, dtype) for operand in operands]
    return emit.cast(emit.operation(function, *numbers), dtype)


def _compared(function: Callable, emit: FunctionBuilder, *operands: Value) -> Value:
    dtype = dtypes.of_ufunc(*map(emit.dtype, operands))
    return emit.operation(function, *(emit.cast(operand, dtype) for operand in operands))


_UFUNCS = (
    "add subtract=sub multiply=mul divide=truediv floor_divide=floordiv negative=neg positive=pos"
)
for _each in _UFUNCS.split():
    _own, _, _label = _each.partition("=")
    SCALARS[getattr(np, _own)] = partial(_ufunc, getattr(operator, _label or _own))
for _each in "less=lt less_equal=le greater=gt greater_equal=ge equal=eq not_equal=ne".split():
    _own, _, _label = _each.partition("=")
    SCALARS[getattr(np, _own)] = partial(_compared, getattr(operator, _label))


def _power(emit: FunctionBuilder, x: Value, y: Value) -> Value:
    """np.power of floats, by the C library."""
    if emit.dtype(x).kind != "f" and emit.dtype(y).kind != "f":
        raise Unsupported("a power of integers by this function: use x ** y")
    return library("pow", 2, SINGLE, emit, x, y)


def _math_power(emit: FunctionBuilder, x: Value, y: Value) -> Value:
    if emit.dtype(y).kind != "f" and emit.dtype(x).kind == "f":
        return emit.operation(operator.pow, emit.cast(x, DOUBLE), y)
    return library("pow", 2, DOUBLE, emit, x, y)


def _float_power(emit: FunctionBuilder, x: Value, y: Value) -> Value:
    return library("pow", 2, DOUBLE, emit, emit.cast(x, DOUBLE), emit.cast(y, DOUBLE))


SCALARS |= {np.power: _power, np.float_power: _float_power,
            math.pow: _math_power, pow: partial(_operator, operator.pow)}  # fmt: skip


def _squared(emit: FunctionBuilder, x: Value) -> Value:
    number = emit.typed(x)
    return emit.applied("multiply", [number, number], number.dtype)


def _reciprocal(emit: FunctionBuilder, x: Value) -> Value:
    number = emit.typed(x)
    if number.dtype.kind != "f":
        raise Unsupported("np.reciprocal of an integer")
    return emit.applied("divide", [emit.cast(Known(1.0), number.dtype), number], number.dtype)


def _scaled(factor: float, short: np.dtype, emit: FunctionBuilder, x: Value) -> Value:
    (number,) = floats(emit, [x], short)
    return emit.applied("multiply", [number, emit.cast(Known(factor), number.dtype)], number.dtype)


SCALARS |= {
    np.square: _squared, np.reciprocal: _reciprocal,
    math.radians: partial(_scaled, math.pi / 180, DOUBLE),
    math.degrees: partial(_scaled, 180 / math.pi, DOUBLE),
    np.radians: partial(_scaled, math.pi / 180, SINGLE),
    np.degrees: partial(_scaled, 180 / math.pi, SINGLE),
    np.deg2rad: partial(_scaled, math.pi / 180, SINGLE),
    np.rad2deg: partial(_scaled, 180 / math.pi, SINGLE),
}  # fmt: skip


# -- functions that are written in Python ---------------------------------------------------------


def _written(function: Callable, emit: FunctionBuilder, *operands: Value) -> Value:
    from .calls import called  # which calls these

    given = floats(emit, operands, SINGLE)
    kinds = tuple(emit.dtype(x) for x in given)
    return emit.cast(called(emit, entry_of(function, kinds), given), kinds[0])


def _rounded(emit: FunctionBuilder, x: Value, *digits: Value) -> Value:
    """Python's round: an integer, or so many digits."""
    number = emit.typed(x)
    if digits and not (isinstance(digits[0], Known) and digits[0].value is None):
        from .calls import called  # which calls these

        if number.dtype.kind != "f":
            raise Unsupported("round of an integer to digits")
        kinds = number.dtype, INT
        entry = entry_of(written.rounded, kinds)
        return emit.cast(called(emit, entry, [number, emit.cast(digits[0], INT)]), number.dtype)
    if number.dtype.kind != "f":
        return emit.cast(number, INT)
    return emit.cast(emit.applied("np.rint", [number], number.dtype), INT)


def _around(emit: FunctionBuilder, x: Value, *digits: Value) -> Value:
    """np.round, whose result is a float."""
    number = emit.typed(x)
    if number.dtype.kind != "f":
        raise Unsupported("np.round of an integer")
    if not digits or (isinstance(digits[0], Known) and digits[0].value == 0):
        return emit.applied("np.rint", [number], number.dtype)
    return _rounded(emit, number, *digits)


SCALARS |= {round: _rounded, np.round: _around, np.around: _around}
SCALARS[np.sinc] = lambda emit, x: _written(written.sinc, emit, emit.cast(x, DOUBLE))
SCALARS[np.logaddexp] = partial(_written, written.logaddexp)
SCALARS[np.logaddexp2] = partial(_written, written.logaddexp2)


# -- several values -------------------------------------------------------------------------------


def _pair(emit: FunctionBuilder, x: Value, y: Value) -> Value:
    """divmod"""
    return emit.operation(operator.floordiv, x, y), emit.operation(operator.mod, x, y)


def _of_array(function: Callable, emit: FunctionBuilder, *operands: Value) -> Value:
    """A function of an array with one axis."""
    from .calls import call  # which calls these

    if len(shape_of(operands[0])) != 1:
        raise Unsupported(f"{function.__name__} of an array with several axes: use np.sum, np.max")
    return call(emit, function, operands)


def _smallest(function: Callable, emit: FunctionBuilder, *operands: Value) -> Value:
    """min and max, of several values, of a tuple or of an array."""
    if len(operands) == 1 and is_array(operands[0]):
        return _of_array(written.smallest if function is min else written.largest, emit, *operands)
    if len(operands) == 1 and is_tuple(operands[0]):
        operands = members(operands[0])
        if len(operands) == 1:
            return operands[0]
    return emit.extreme(function, operands)


def _sum(emit: FunctionBuilder, values: Value, start: Value = Known(0)) -> Value:  # noqa: B008
    if is_array(values):
        return _of_array(written.total, emit, values, start)
    if not is_tuple(values):
        raise Unsupported("sum of a value that is neither a tuple nor an array")
    return reduce(partial(emit.operation, operator.add), members(values), start)


def _length(emit: FunctionBuilder, value: Value) -> Value:
    if is_tuple(value):
        return Known(len(members(value)))
    return members(attribute(emit, value, "shape"))[0]


def _logical(name: str, emit: FunctionBuilder, *operands: Value) -> Value:
    return emit.applied(name, [emit.truth(operand) for operand in operands], BOOL)


def _type(emit: FunctionBuilder, x: Value) -> Value:
    """type(x), as in type(x)(0): the class that converts to the dtype of a number."""
    return Known(emit.dtype(x).type)


SCALARS |= {
    type: _type, divmod: _pair, sum: _sum, len: _length,
    builtins.min: partial(_smallest, builtins.min), builtins.max: partial(_smallest, builtins.max),
    np.logical_and: partial(_logical, "and"), np.logical_or: partial(_logical, "or"),
    np.logical_xor: partial(_logical, "xor"), np.logical_not: partial(_logical, "invert"),
}  # fmt: skip


# -- remainders -----------------------------------------------------------------------------------


def _remainder(name: str, emit: FunctionBuilder, *operands: Value) -> Value:
    """np.fmod or np.remainder, which keep the dtype of integers."""
    arity(name, operands, 2)
    dtype = dtypes.of_ufunc(*map(emit.dtype, operands))
    dtype = np.dtype(np.int8) if dtype == BOOL else dtype
    both = [emit.cast(operand, dtype) for operand in operands]
    if dtype.kind == "f" and name == "modulo":
        return _written(operators.modulo, emit, *both)
    return emit.applied(name, both, dtype)


SCALARS[np.fmod] = partial(_remainder, "np.fmod")
SCALARS[np.remainder] = partial(_remainder, "modulo")
