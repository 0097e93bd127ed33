"""Complex numbers while a function is read: pairs of real numbers. Parts that are known to be 0 are
not computed with."""

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import complex_functions, dtypes
from .syntax import Unsupported
from .values import (
    BOOL,
    COMPLEX,
    COMPLEX_SINGLE,
    DOUBLE,
    SINGLE,
    Complex,
    Known,
    Value,
    part_dtype,
)

if TYPE_CHECKING:
    from .emit import FunctionBuilder

__all__ = [
    "called_on_parts", "complex_dtype", "complex_operation", "is_complex", "parts_of", "selected",
]  # fmt: skip

_MOST_FACTORS = 100  # a larger constant exponent is a number at run time


def is_complex(value: object) -> bool:
    """Whether a value is a complex number."""
    if isinstance(value, Known):
        return value.is_complex
    return isinstance(value, Complex)


def complex_dtype(emit: "FunctionBuilder", value: Value) -> np.dtype:
    """The dtype of a complex number."""
    if isinstance(value, Known):
        return COMPLEX_SINGLE if type(value.value) is np.complex64 else COMPLEX
    return COMPLEX_SINGLE if emit.common(value) == SINGLE else COMPLEX  # pyright: ignore


def parts_of(emit: "FunctionBuilder", value: Value, dtype: np.dtype) -> Complex:
    """A number as a complex one with parts of a dtype."""
    if isinstance(value, Known) and (value.is_complex or value.is_number):
        kind = float if dtype == DOUBLE else dtype.type
        number = complex(value.value)
        return Complex((Known(kind(number.real)), Known(kind(number.imag))))
    parts = value if isinstance(value, Complex) else (value, Known(0))
    return Complex(_cast(emit, part, dtype) for part in parts)


def _cast(emit: "FunctionBuilder", part: Value, dtype: np.dtype) -> Value:
    if isinstance(part, Known):
        return Known(float(part.value) if dtype == DOUBLE else dtype.type(part.value))
    return emit.cast(part, dtype)


def selected(
    emit: "FunctionBuilder", test: Value, x: Value, y: Value, dtype: np.dtype
) -> Any:  # fmt: skip
    """x if test else y, both of a dtype."""
    if dtype.kind == "c":
        part = part_dtype(dtype)
        both = zip(emit.cast(x, dtype), emit.cast(y, dtype), strict=True)
        return Complex(selected(emit, test, a, b, part) for a, b in both)
    both = [emit.cast(each, dtype) for each in (x, y)]
    return emit.applied("select", [emit.truth(test), *both], dtype)


# -- operators ------------------------------------------------------------------------------------


def complex_operation(
    emit: "FunctionBuilder", function: Callable, operands: Sequence[Value]
) -> Value:
    """An operator of numbers of which one is complex."""
    if function is operator.not_:
        return emit.operation(operator.not_, emit.truth(operands[0]))
    if function is operator.pow:
        return _power(emit, *operands)
    row = _ROWS.get(function)
    if row is None:
        if function in dtypes.COMPARISONS:
            raise Unsupported(
                "the order of complex numbers, which have none: compare abs(z), z.real or z.imag"
            )
        raise Unsupported(f"{function.__name__.strip('_')} of complex numbers")
    return row(emit, *_alike(emit, operands))


def _alike(emit: "FunctionBuilder", operands: Sequence[Value]) -> list[Complex]:
    """Numbers as complex ones with parts of one dtype."""
    kinds = [_part(emit, x) for x in operands]
    dtype = kinds[0]
    for each in kinds[1:]:
        dtype = dtypes.operand_dtypes(operator.add, dtype, each)[0]
    return [parts_of(emit, x, dtype) for x in operands]


def _part(emit: "FunctionBuilder", value: Value) -> np.dtype:
    dtype = emit.dtype(value)
    return part_dtype(dtype) if dtype.kind == "c" else dtype


def _is_zero(x: Value) -> bool:
    return isinstance(x, Known) and x.value == 0


def _plus(emit: "FunctionBuilder", x: Value, y: Value) -> Value:
    if _is_zero(y):
        return x
    return y if _is_zero(x) else emit.operation(operator.add, x, y)


def _minus(emit: "FunctionBuilder", x: Value, y: Value) -> Value:
    if _is_zero(y):
        return x
    if _is_zero(x):
        return emit.operation(operator.neg, y)
    return emit.operation(operator.sub, x, y)


def _times(emit: "FunctionBuilder", x: Value, y: Value) -> Value:
    if _is_zero(x) or _is_zero(y):
        return x if _is_zero(x) else y
    for one, other in ((x, y), (y, x)):
        if isinstance(one, Known) and one.value == 1:
            return other
    return emit.operation(operator.mul, x, y)


def _add(emit: "FunctionBuilder", x: Complex, y: Complex) -> Value:
    return Complex(_plus(emit, a, b) for a, b in zip(x, y, strict=True))


def _subtract(emit: "FunctionBuilder", x: Complex, y: Complex) -> Value:
    return Complex(_minus(emit, a, b) for a, b in zip(x, y, strict=True))


def _multiply(emit: "FunctionBuilder", x: Complex, y: Complex) -> Value:
    (a, b), (c, d) = x, y
    real = _minus(emit, _times(emit, a, c), _times(emit, b, d))
    return Complex((real, _plus(emit, _times(emit, a, d), _times(emit, b, c))))


def _divide(emit: "FunctionBuilder", x: Complex, y: Complex) -> Value:
    if _is_zero(y[1]):
        return Complex(emit.operation(operator.truediv, a, y[0]) for a in x)
    return called_on_parts(emit, complex_functions.quotient, [x, y])


def _negative(emit: "FunctionBuilder", x: Complex) -> Value:
    return Complex(emit.operation(operator.neg, a) for a in x)


def _equal(emit: "FunctionBuilder", x: Complex, y: Complex) -> Value:
    real, imag = (
        emit.truth(emit.operation(operator.eq, a, b)) for a, b in zip(x, y, strict=True)
    )  # fmt: skip
    return emit.applied("and", [real, imag], BOOL)


_ROWS: dict[Callable, Callable[..., Value]] = {
    operator.add: _add, operator.sub: _subtract, operator.mul: _multiply,
    operator.truediv: _divide, operator.neg: _negative, operator.pos: lambda emit, x: x,
    operator.eq: _equal,
    operator.ne: lambda emit, x, y: emit.operation(operator.not_, _equal(emit, x, y)),
}  # fmt: skip


def _power(emit: "FunctionBuilder", x: Value, y: Value) -> Value:
    """x ** y: a whole exponent by products, any other one by the logarithm."""
    if isinstance(y, Known) and isinstance(y.value, int) and abs(y.value) <= _MOST_FACTORS:
        return _constant_power(emit, x, y.value)
    if not is_complex(y) and emit.dtype(y).kind in "iu":
        (base,) = _alike(emit, [x])
        return called_on_parts(emit, complex_functions.whole_power, [base], [emit.typed(y)])
    return called_on_parts(emit, complex_functions.power, _alike(emit, [x, y]))


def _constant_power(emit: "FunctionBuilder", x: Value, exponent: int) -> Value:
    (base,) = _alike(emit, [x])
    dtype = emit.dtype(base)
    result, whole = parts_of(emit, Known(1), part_dtype(dtype)), abs(exponent)
    while whole:
        if whole & 1:
            result = _multiply(emit, result, base)  # pyright: ignore
        whole >>= 1
        if whole:
            base = _multiply(emit, base, base)  # pyright: ignore
    if exponent < 0:
        return emit.operation(operator.truediv, parts_of(emit, Known(1), part_dtype(dtype)), result)
    return result


# -- functions that are written in Python ---------------------------------------------------------


def called_on_parts(
    emit: "FunctionBuilder", function: Any, numbers: Sequence[Complex], others: Sequence[Any] = ()
) -> Any:
    """The result of a function of the parts of complex numbers, and of other ones: a number, or the
    parts of a complex one, in the dtype of the parts."""
    from .calls import called  # which calls operators
    from .functions import entry_of

    dtype = part_dtype(emit.dtype(numbers[0]))
    given = [emit.cast(part, dtype) for x in numbers for part in x] + list(others)
    found: Any = called(emit, entry_of(function, tuple(map(emit.dtype, given))), given)
    if isinstance(found, tuple):
        return Complex(emit.cast(part, dtype) for part in found)
    return found if emit.dtype(found) == BOOL else emit.cast(found, dtype)
