"""Calls of functions with complex numbers or arrays among the arguments."""

import cmath
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from . import complex_functions as functions
from .arrays import in_memory, is_array, lazy
from .complex_numbers import called_on_parts, is_complex, parts_of
from .elementwise import each_element
from .emit import FunctionBuilder
from .syntax import Unsupported
from .values import (
    COMPLEX,
    COMPLEX_SINGLE,
    DOUBLE,
    SINGLE,
    Array,
    Complex,
    Known,
    Lazy,
    Method,
    Value,
    part_dtype,
    planes,
)

__all__ = ["complex_call", "has_complex", "part_of"]

ROWS: dict[Any, Callable[..., Value]] = {}
"""The writers of calls with complex numbers; arrays are arguments element by element."""


def has_complex(value: Value) -> bool:
    """Whether a value is a complex number or array, or a tuple with one."""
    if isinstance(value, Array):
        return value.place.dtype.kind == "c"
    if isinstance(value, Lazy):
        return value.dtype.kind == "c"
    if isinstance(value, tuple) and not isinstance(value, Complex):
        return any(map(has_complex, value))
    return is_complex(value)


def complex_call(
    emit: FunctionBuilder, function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> "Value | None":
    """The result of a call; None for a function that takes complex arrays like other ones, and for
    one without complex arguments. Raises Unsupported for functions without a meaning for them."""
    if isinstance(function, Method):
        operands = [function.holder, *operands]
        function = getattr(np, function.name, function.name)
    try:
        row = ROWS.get(function)
    except TypeError:  # not hashable
        return None
    of_pairs = row is not None and function in _OF_PAIRS
    if not of_pairs and not any(map(has_complex, [*operands, *named.values()])):
        return None
    if row is None:
        label = getattr(function, "__name__", str(function))
        is_numpys = str(getattr(function, "__module__", "")).startswith(("numpy", "math", "cmath"))
        if label in _LIKE_OTHERS or not (is_numpys or isinstance(function, np.ufunc)):
            return None
        raise Unsupported(f"{label} of complex numbers")
    if named:
        raise Unsupported(f"{function.__name__} of complex numbers with keywords")
    if any(map(is_array, operands)) and function not in _OF_ARRAYS:
        return each_element(emit, partial(row, emit), operands)
    return row(emit, *operands)


_LIKE_OTHERS = frozenset(
    "zeros ones full empty zeros_like ones_like full_like empty_like copy ascontiguousarray "
    "asfortranarray astype array asarray fill item add subtract multiply divide true_divide "
    "negative positive equal not_equal square where sum mean prod trace outer concatenate stack "
    "vstack hstack column_stack flip flipud fliplr diff roll transpose reshape flatten ravel "
    "expand_dims tril triu diag take swapaxes broadcast_to nonzero flatnonzero count_nonzero any "
    "all cumsum cumprod solve inv det complex complex64 complex128 bool len sum range enumerate "
    "zip reversed isinstance type tuple list add sub mul truediv pow neg pos eq ne kron size shape "
    "logical_not logical_and logical_or fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 "
    "fftn ifftn rfftn irfftn fftshift ifftshift split array_split vsplit hsplit squeeze diagonal "
    "broadcast_arrays sliding_window_view repeat tile".split()
)
"""Functions of NumPy that are the same for complex arguments."""


# -- functions of numbers -------------------------------------------------------------------------


def _part_of_numbers(emit: FunctionBuilder, value: Value) -> Complex:
    if is_complex(value):
        return parts_of(emit, value, part_dtype(emit.dtype(value)))
    dtype = emit.dtype(value)
    return parts_of(emit, value, SINGLE if dtype == SINGLE else DOUBLE)


def _written(function: Callable, emit: FunctionBuilder, *operands: Value) -> Value:
    """A function that is written in Python."""
    return called_on_parts(emit, function, [_part_of_numbers(emit, x) for x in operands])


_OF_PAIRS = {cmath.rect, cmath.polar, complex}
"""Functions with complex results for real arguments, too."""
for _names, _function in {
    "exp": functions.exp, "log10": functions.log10, "sqrt": functions.sqrt, "sin": functions.sin,
    "cos": functions.cos, "tan": functions.tan, "sinh": functions.sinh, "cosh": functions.cosh,
    "tanh": functions.tanh, "asin arcsin": functions.asin, "acos arccos": functions.acos,
    "atan arctan": functions.atan, "asinh arcsinh": functions.asinh,
    "acosh arccosh": functions.acosh, "atanh arctanh": functions.atanh,
    "isnan": functions.is_nan, "isinf": functions.is_inf, "isfinite": functions.is_finite,
    "phase angle": functions.angle, "absolute": functions.modulus, "log": functions.log,
    "log1p": functions.log1p, "log2": functions.log2, "expm1": functions.expm1,
    "reciprocal": functions.reciprocal, "sign": functions.sign,
}.items():  # fmt: skip
    for _name in _names.split():
        for _module in (cmath, np):
            if hasattr(_module, _name) and not (_name == "sign" and np.__version__ < "2"):
                ROWS[getattr(_module, _name)] = partial(_written, _function)
                if _module is cmath:
                    _OF_PAIRS.add(getattr(_module, _name))
ROWS[abs] = ROWS[np.absolute]


def _logarithm(emit: FunctionBuilder, x: Value, *base: Value) -> Value:
    """cmath.log, of a base as well."""
    found = _written(functions.log, emit, x)
    for each in base:
        found = emit.operation(operator.truediv, found, _written(functions.log, emit, each))
    return found


def _polar(emit: FunctionBuilder, x: Value) -> Value:
    return _written(functions.modulus, emit, x), _written(functions.angle, emit, x)


def _rect(emit: FunctionBuilder, r: Value, phi: Value) -> Value:
    from .scalars import SCALARS

    radius, angle = emit.settled(emit.cast(r, DOUBLE)), emit.settled(emit.cast(phi, DOUBLE))
    parts = (SCALARS[f](emit, angle) for f in (np.cos, np.sin))
    return Complex(emit.operation(operator.mul, radius, x) for x in parts)


def _made(emit: FunctionBuilder, *operands: Value) -> Value:
    """complex(x) and complex(x, y)"""
    if not operands:
        return Known(0j)
    if len(operands) == 1 and is_complex(operands[0]):
        return operands[0]
    if not any(map(is_complex, operands)):
        is_single = all(not isinstance(x, Known) and emit.dtype(x) == SINGLE for x in operands)
        dtype = SINGLE if is_single else DOUBLE
        parts = [emit.cast(x, dtype) for x in operands]
        return Complex((parts[0], parts[1] if len(parts) > 1 else Known(dtype.type(0.0))))
    if len(operands) != 2:
        raise Unsupported(f"complex of {len(operands)} arguments")
    x, y = operands[0], operands[1]
    return emit.operation(operator.add, x, emit.operation(operator.mul, y, Known(1j)))


def _power(emit: FunctionBuilder, x: Value, y: Value) -> Value:
    return emit.operation(operator.pow, x, y)


ROWS |= {
    cmath.log: _logarithm, cmath.polar: _polar, cmath.rect: _rect, complex: _made,
    np.power: _power, pow: _power,
}  # fmt: skip


# -- parts ----------------------------------------------------------------------------------------


def part_of(emit: FunctionBuilder, value: Value, place: int) -> Value:
    """The real (0) or the imaginary part (1) of a number or an array; that of an array in memory is
    a view."""
    if isinstance(value, Array):
        if value.place.dtype.kind == "c":
            return Array(planes(value.place)[place], value.shape, value.strides, value.mutable)
        if place == 0:
            return value
    if is_array(value):
        inner = lazy(emit, value)
        if inner.dtype.kind == "c":
            dtype = part_dtype(inner.dtype)
            return Lazy(
                inner.shape, dtype,
                lambda at: emit.cast(inner.element(at)[place], dtype),  # pyright: ignore
                inner.sources, inner.cheap,
            )  # fmt: skip
        zero = emit.cast(Known(0), inner.dtype)
        return inner if place == 0 else Lazy(inner.shape, inner.dtype, lambda _: zero, cheap=True)
    if is_complex(value):
        part = _part_of_numbers(emit, value)[place]
        return part if isinstance(part, Known) else emit.settled(part)
    return value if place == 0 else emit.cast(Known(0), emit.dtype(value))


def _conjugate(emit: FunctionBuilder, x: Value) -> Value:
    real, imag = _part_of_numbers(emit, x)
    return Complex((real, emit.operation(operator.neg, imag)))


ROWS |= {
    np.real: lambda emit, x: part_of(emit, x, 0), np.imag: lambda emit, x: part_of(emit, x, 1),
    np.conjugate: _conjugate,
}  # fmt: skip


# -- products -------------------------------------------------------------------------------------


def _matmul(emit: FunctionBuilder, x: Value, y: Value) -> Value:
    """x @ y by products of the parts."""
    from .products import matmul

    if not (is_array(x) and is_array(y)):
        return emit.operation(operator.mul, x, y)
    (a, b), (c, d) = (_parts_in_memory(emit, each) for each in (x, y))
    pairs = [[(a, c)], []]
    if b is not None and d is not None:
        pairs[0].append((b, d))
    if d is not None:
        pairs[1].append((a, d))
    if b is not None:
        pairs[1].append((b, c))
    sides = []
    for each, combine in zip(pairs, (operator.sub, operator.add), strict=True):
        found = [matmul(emit, *pair) for pair in each]
        sides.append(found[0] if len(found) == 1 else emit.operation(combine, *found))
    real, imag = sides
    if not is_array(real):
        return Complex((real, imag))
    return _joined(emit, real, imag)


def _parts_in_memory(emit: FunctionBuilder, value: Value) -> "tuple[Value, Value | None]":
    value = in_memory(emit, value)
    if not has_complex(value):
        return value, None
    return part_of(emit, value, 0), part_of(emit, value, 1)


def _joined(emit: FunctionBuilder, real: Value, imag: Value) -> Lazy:
    """The complex array of its parts."""
    x, y = lazy(emit, real), lazy(emit, imag)
    dtype = COMPLEX_SINGLE if np.result_type(x.dtype, y.dtype) == SINGLE else COMPLEX
    part = part_dtype(dtype)
    return Lazy(
        x.shape, dtype,
        lambda at: Complex(emit.cast(each.element(at), part) for each in (x, y)),
        (*x.sources, *y.sources), x.cheap and y.cheap,
    )  # fmt: skip


def _inner(emit: FunctionBuilder, a: Value, b: Value) -> Value:
    if len(lazy(emit, a).shape) != 1 or len(lazy(emit, b).shape) != 1:
        raise Unsupported("np.vdot or np.inner of more than one axis")
    return _matmul(emit, a, b)


def _vdot(emit: FunctionBuilder, a: Value, b: Value) -> Value:
    left = each_element(emit, partial(_conjugate, emit), [a]) if has_complex(a) else a
    return _inner(emit, left, b)


def _norm(emit: FunctionBuilder, x: Value, *order: Value) -> Value:
    """A norm of the moduli, which is that of x but for those by singular values."""
    from .calls import call

    if order and len(lazy(emit, x).shape) != 1:
        raise Unsupported("np.linalg.norm of this order of complex matrices")
    moduli = each_element(emit, partial(_written, functions.modulus, emit), [x])
    return call(emit, np.linalg.norm, [in_memory(emit, moduli), *order])


ROWS |= {
    np.matmul: _matmul, np.dot: _matmul, operator.matmul: _matmul, np.inner: _inner,
    np.vdot: _vdot, np.linalg.norm: _norm,
}  # fmt: skip
_OF_ARRAYS = {
    np.real, np.imag, np.matmul, np.dot, operator.matmul, np.inner, np.vdot, np.linalg.norm,
}  # fmt: skip
