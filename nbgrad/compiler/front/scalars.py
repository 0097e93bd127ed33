"""Functions of Python, `math` and NumPy of numbers, with the types that Numba gives them."""

import builtins
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from . import dtypes, operators, written
from .elements import attribute
from .emit import FunctionBuilder
from .functions import entry_of
from .syntax import Unsupported
from .tuples import is_tuple
from .values import BOOL, DOUBLE, INT, SINGLE, Known, Number, Value, members

__all__ = ["SCALARS", "scalar_arguments"]

Row = Callable[..., Value]
SCALARS: dict[Any, Row] = {}
"""What to write for a call of a function."""
_SHORT = {np.dtype(code) for code in ("?", "i1", "u1", "i2", "u2")}


def scalar_arguments(
    function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> Sequence[Value]:
    """The arguments of a function of numbers, which has few names for them."""
    if not named:
        return operands
    name = getattr(function, "__name__", str(function))
    if function in (round, np.round, np.around) and set(named) <= {"ndigits", "decimals"}:
        return [*operands, *named.values()]
    raise Unsupported(f"a call of {name} with the argument {next(iter(named))}")


def floats(
    emit: FunctionBuilder, operands: Sequence[Value], short: np.dtype = DOUBLE
) -> list[Number]:
    """Numbers as floats of one dtype; integers of up to 16 bits as `short`."""
    dtype = emit.dtype(operands[0])
    for operand in operands[1:]:
        dtype = dtypes.operand_dtypes(operator.add, dtype, emit.dtype(operand))[0]
    if dtype.kind != "f":
        dtype = short if all(emit.dtype(x) in _SHORT for x in operands) else DOUBLE
    return [emit.cast(operand, dtype) for operand in operands]


def _arity(name: str, operands: Sequence[Value], count: int) -> None:
    if len(operands) != count:
        raise Unsupported(f"{name} of {len(operands)} arguments")


# -- functions that scalar code or the C library has ----------------------------------------------


def _applied(
    name: str, count: int, short: np.dtype, emit: FunctionBuilder, *operands: Value
) -> Value:
    _arity(name, operands, count)
    given = floats(emit, operands, short)
    return emit.applied(name, given, BOOL if name in _GIVE_BOOLS else given[0].dtype)


def _library(
    name: str, count: int, short: np.dtype, emit: FunctionBuilder, *operands: Value
) -> Value:
    _arity(name, operands, count)
    given = floats(emit, operands, short)
    return emit.call(f"libm {name}", [x.operand for x in given], [given[0].dtype])[0]


_GIVE_BOOLS = {"np.isfinite", "np.signbit"}
_BINARY = {"atan2", "hypot", "pow", "np.copysign", "np.fmod", "copysign", "fmod"}
for _module, _short, _names in (
    (math, DOUBLE, "acos acosh asin asinh atan atan2 atanh cos cosh erf erfc exp expm1 gamma hypot "
                   "lgamma log log10 log1p log2 sin sinh tan tanh exp2"),
    (np, SINGLE, "arccos=acos arccosh=acosh arcsin=asin arcsinh=asinh arctan=atan arctan2=atan2 "
                 "arctanh=atanh cos cosh exp expm1 hypot log log10 log1p log2 sin sinh tan tanh "
                 "exp2 cbrt"),
):  # fmt: skip
    for _each in _names.split():
        _own, _, _label = _each.partition("=")
        _label = _label or _own
        if hasattr(_module, _own):
            SCALARS[getattr(_module, _own)] = partial(
                _library, _label, 2 if _label in _BINARY else 1, _short
            )
for _module, _short, _names in (
    (math, DOUBLE, "sqrt copysign=np.copysign fmod=np.fmod isfinite=np.isfinite fabs=abs"),
    (np, SINGLE, "sqrt copysign=np.copysign isfinite=np.isfinite signbit=np.signbit floor=np.floor "
                 "ceil=np.ceil trunc=np.trunc rint=np.rint fabs=abs"),
):  # fmt: skip
    for _each in _names.split():
        _own, _, _label = _each.partition("=")
        _label = _label or _own
        SCALARS[getattr(_module, _own)] = partial(
            _applied, _label, 2 if _label in _BINARY else 1, _short
        )


# -- functions that keep integers -----------------------------------------------------------------


def _kept(name: str, emit: FunctionBuilder, x: Value) -> Value:
    """abs and sign: the result has the dtype of the argument."""
    number = emit.typed(x)
    if number.dtype == BOOL:
        number = emit.cast(number, INT)
    return emit.applied(name, [number], number.dtype)


SCALARS[abs] = SCALARS[np.abs] = partial(_kept, "abs")
SCALARS[np.sign] = partial(_kept, "np.sign")


def _whole(name: str, emit: FunctionBuilder, x: Value) -> Value:
    """math.floor, ceil and trunc, which return integers."""
    return emit.cast(emit.applied(name, [emit.cast(x, DOUBLE)], DOUBLE), INT)


for _name in ("floor", "ceil", "trunc"):
    SCALARS[getattr(math, _name)] = partial(_whole, f"np.{_name}")


def _remainder(name: str, emit: FunctionBuilder, *operands: Value) -> Value:
    """np.fmod or np.remainder, which keep the dtype of integers."""
    _arity(name, operands, 2)
    dtype = emit.common(operands)
    dtype = np.dtype(np.int8) if dtype == BOOL else dtype
    both = [emit.cast(operand, dtype) for operand in operands]
    if dtype.kind == "f" and name == "modulo":
        return _written(operators.modulo, emit, *both)
    return emit.applied(name, both, dtype)


SCALARS[np.fmod] = partial(_remainder, "np.fmod")
SCALARS[np.remainder] = partial(_remainder, "modulo")


def _extreme(name: str, emit: FunctionBuilder, *operands: Value) -> Value:
    """np.maximum and its like."""
    _arity(name, operands, 2)
    dtype = emit.common(operands)
    both = [emit.cast(operand, dtype) for operand in operands]
    better = "greater_equal" if name in ("maximum", "fmax") else "less_equal"
    x, y = both
    found = emit.applied("select", [emit.applied(better, both, BOOL), x, y], dtype)
    if dtype.kind != "f":
        return found
    tested = y if name in ("fmax", "fmin") else x  # of nan and another, fmax has the other
    is_nan = emit.applied("not_equal", [tested, tested], BOOL)
    return emit.applied("select", [is_nan, x, found], dtype)


for _name in ("maximum", "minimum", "fmax", "fmin"):
    SCALARS[getattr(np, _name)] = partial(_extreme, _name)


# -- tests ----------------------------------------------------------------------------------------


def _is_nan(emit: FunctionBuilder, x: Value) -> Value:
    (number,) = floats(emit, [x])
    return emit.applied("not_equal", [number, number], BOOL)


def _is_inf(emit: FunctionBuilder, x: Value) -> Value:
    (number,) = floats(emit, [x])
    size = emit.applied("abs", [number], number.dtype)
    return emit.applied("equal", [size, emit.cast(Known(math.inf), size.dtype)], BOOL)


for _module in (math, np):
    SCALARS |= {_module.isnan: _is_nan, _module.isinf: _is_inf}


# -- operators ------------------------------------------------------------------------------------


def _operator(function: Callable, emit: FunctionBuilder, *operands: Value) -> Value:
    return emit.operation(function, *operands)


for _name in ("add sub mul truediv floordiv mod pow neg pos lt le gt ge eq ne and_ or_ xor invert "
              "lshift rshift not_").split():  # fmt: skip
    SCALARS[getattr(operator, _name)] = partial(_operator, getattr(operator, _name))


def _ufunc(function: Callable, emit: FunctionBuilder, *operands: Value) -> Value:
    """A ufunc for an operator: its operands have one dtype, also that of its result."""
    dtype = emit.common(operands)
    if dtype == BOOL or (function is operator.truediv and dtype.kind != "f"):
        raise Unsupported(f"a ufunc of {dtype}: use the operator")
    numbers = [emit.cast(operand, dtype) for operand in operands]
    return emit.cast(emit.operation(function, *numbers), dtype)


def _compared(function: Callable, emit: FunctionBuilder, *operands: Value) -> Value:
    dtype = emit.common(operands)
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
    """np.power and math.pow of floats, by the C library."""
    if emit.dtype(x).kind != "f" and emit.dtype(y).kind != "f":
        raise Unsupported("a power of integers by this function: use x ** y")
    return _library("pow", 2, DOUBLE, emit, x, y)


def _math_power(emit: FunctionBuilder, x: Value, y: Value) -> Value:
    if emit.dtype(y).kind != "f" and emit.dtype(x).kind == "f":
        return emit.operation(operator.pow, x, y)
    return _library("pow", 2, DOUBLE, emit, x, y)


SCALARS |= {np.power: _power, np.float_power: partial(_library, "pow", 2, DOUBLE),
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

    given = floats(emit, operands)
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
        return emit.cast(called(emit, entry, [number, emit.cast(*digits, INT)]), number.dtype)
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
SCALARS[np.sinc] = partial(_written, written.sinc)
SCALARS[np.logaddexp] = partial(_written, written.logaddexp)
SCALARS[np.logaddexp2] = partial(_written, written.logaddexp2)


# -- several values -------------------------------------------------------------------------------


def _pair(emit: FunctionBuilder, x: Value, y: Value) -> Value:
    """divmod"""
    return emit.operation(operator.floordiv, x, y), emit.operation(operator.mod, x, y)


def _smallest(function: Callable, emit: FunctionBuilder, *operands: Value) -> Value:
    """min and max, of several values or of a tuple."""
    if len(operands) == 1 and is_tuple(operands[0]):
        operands = members(operands[0])
        if len(operands) == 1:
            return operands[0]
    return emit.extreme(function, operands)


def _sum(emit: FunctionBuilder, values: Value, start: Value = Known(0)) -> Value:  # noqa: B008
    if not is_tuple(values):
        raise Unsupported("sum of a value that is not a tuple")
    return reduce(partial(emit.operation, operator.add), members(values), start)


def _length(emit: FunctionBuilder, value: Value) -> Value:
    if is_tuple(value):
        return Known(len(members(value)))
    return members(attribute(emit, value, "shape"))[0]


def _logical(name: str, emit: FunctionBuilder, *operands: Value) -> Value:
    return emit.applied(name, [emit.truth(operand) for operand in operands], BOOL)


SCALARS |= {
    divmod: _pair, sum: _sum, len: _length,
    builtins.min: partial(_smallest, builtins.min), builtins.max: partial(_smallest, builtins.max),
    np.logical_and: partial(_logical, "and"), np.logical_or: partial(_logical, "or"),
    np.logical_xor: partial(_logical, "xor"), np.logical_not: partial(_logical, "invert"),
}  # fmt: skip
