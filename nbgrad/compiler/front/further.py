"""Functions of NumPy whose definitions in Numba cannot be read: places, views, facts of types."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .algebra import exchanged
from .array_table import axis_of, dtype_from, function_row, known_of
from .arrays import in_memory, is_array, shape_of
from .complex_numbers import is_complex
from .elementwise import dtype_of_elements
from .emit import FunctionBuilder
from .scalars import SCALARS
from .selection import part, places_of
from .syntax import Unsupported
from .values import DOUBLE, INT, Array, Known, Lazy, Number, Value, dtype_of
from .views import flattened_array, transposed

__all__ = ["vector_norm"]


def _read(emit: FunctionBuilder, function: Callable, *operands: Value) -> Value:
    from .calls import call  # which calls these

    return call(emit, function, [in_memory(emit, x) for x in operands])


# -- places ---------------------------------------------------------------------------------------


@function_row(np.flatnonzero)
def flatnonzero(emit: FunctionBuilder, a: Value) -> Value:
    return places_of(emit, flattened_array(emit, a))


@function_row(np.nonzero)
def nonzero(emit: FunctionBuilder, a: Value) -> Value:
    if len(shape_of(a)) != 1:
        raise Unsupported("np.nonzero of an array with several axes: use a loop")
    return (places_of(emit, a),)


@function_row(np.take)
def take(emit: FunctionBuilder, a: Value, indices: Value, axis: "Value | None" = None) -> Value:
    if axis_of(axis, len(shape_of(a))) not in (None, 0):
        raise Unsupported("np.take along another axis than the first: use a[:, indices]")
    whole = a if axis is not None else flattened_array(emit, a)
    if not is_array(indices):
        from .elements import element

        return element(emit, in_memory(emit, whole), indices)
    return part(emit, whole, indices)  # pyright: ignore


def distinct(a):
    """np.unique of an array with one axis."""
    ordered = np.sort(a)
    n = ordered.size
    count = 0
    for i in range(n):
        if i == 0 or ordered[i] != ordered[i - 1]:
            ordered[count] = ordered[i]
            count += 1
    return ordered[:count]


@function_row(np.unique)
def unique(emit: FunctionBuilder, ar: Value) -> Value:
    return _read(emit, distinct, flattened_array(emit, ar))


# -- views ----------------------------------------------------------------------------------------


@function_row(np.swapaxes)
def swapaxes(emit: FunctionBuilder, a: Value, axis1: Value, axis2: Value) -> Value:
    rank = len(shape_of(a))
    order, i, j = list(range(rank)), axis_of(axis1, rank), axis_of(axis2, rank)
    if i is None or j is None:
        raise Unsupported("np.swapaxes without an axis")
    order[i], order[j] = j, i
    return transposed(emit, a, order)


@function_row(np.real, np.conj, np.conjugate)
def real(emit: FunctionBuilder, val: Value) -> Value:
    return val


@function_row(np.imag)
def imag(emit: FunctionBuilder, val: Value) -> Value:
    dtype = dtype_of_elements(emit, val)
    zero = emit.cast(Known(0), dtype)
    return Lazy(shape_of(val), dtype, lambda _: zero, cheap=True) if is_array(val) else zero


# -- norms of vectors, as Numba has them ----------------------------------------------------------


def norm_1(a):
    total = 0.0
    for x in a:
        total += abs(x)
    return total


def norm_0(a):
    total = 0.0
    for x in a:
        if x != 0.0:
            total += 1.0
    return total


def norm_max(a):
    best = abs(a[0])
    for x in a:
        if abs(x) > best:
            best = abs(x)
    return best


def norm_min(a):
    best = abs(a[0])
    for x in a:
        if abs(x) < best:
            best = abs(x)
    return best


def norm_of_order(a, order):
    total = 0.0
    for x in a:
        total += abs(x) ** order
    return total ** (1.0 / order)


_NORMS = {1: norm_1, 0: norm_0, math.inf: norm_max, -math.inf: norm_min}


def vector_norm(emit: FunctionBuilder, a: Value, order: float) -> Value:
    """A norm of an array with one axis; the one of order 2 is not among them."""
    if order in _NORMS:
        return _read(emit, _NORMS[order], a)
    return _read(emit, norm_of_order, a, Known(order))


# -- linear algebra -------------------------------------------------------------------------------


def sign_and_logarithm(a):
    """The sign of the determinant, and the logarithm of its absolute value, from pivots."""
    n = a.shape[0]
    factors = a.copy()
    sign = 1.0
    total = 0.0
    for k in range(n):
        pivot = exchanged(factors, k)
        if pivot != k:
            sign = -sign
        if factors[k, k] == 0.0:
            sign = 0.0
            total = -np.inf
            break
        if factors[k, k] < 0.0:
            sign = -sign
        total += math.log(abs(factors[k, k]))
        for i in range(k + 1, n):
            ratio = factors[i, k] / factors[k, k]
            for j in range(k + 1, n):
                factors[i, j] -= ratio * factors[k, j]
    return sign, total


@function_row(np.linalg.slogdet)
def slogdet(emit: FunctionBuilder, a: Value) -> Value:
    return _read(emit, sign_and_logarithm, a)


# -- facts ----------------------------------------------------------------------------------------


@function_row(np.iinfo)
def iinfo(emit: FunctionBuilder, dtype: Value) -> Value:
    return Known(np.iinfo(dtype_from(dtype, INT)))


@function_row(np.finfo)
def finfo(emit: FunctionBuilder, dtype: Value) -> Value:
    return Known(np.finfo(dtype_from(dtype, DOUBLE)))


_CLASSES = {"f": (float, np.floating), "i": (int, np.integer), "u": (int, np.integer),
            "b": (bool, int, np.bool_)}  # fmt: skip


def _is_instance(emit: FunctionBuilder, value: Value, kinds: Value) -> Value:
    """isinstance of a number, an array or a tuple."""
    wanted = known_of(kinds, "a class")
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    if isinstance(value, (Array, Lazy)):
        own: tuple[Any, ...] = (np.ndarray,)
    elif is_complex(value):
        own = (complex, np.complexfloating, emit.dtype(value).type)
    elif isinstance(value, tuple):
        own = (tuple,)
    elif isinstance(value, Number) or (isinstance(value, Known) and value.is_number):
        dtype = value.dtype if isinstance(value, Number) else dtype_of(value.value)
        own = (*_CLASSES[dtype.kind], dtype.type)
    else:
        own = (type(getattr(value, "value", None)),)
    return Known(any(kind in own for kind in wanted))


SCALARS[isinstance] = _is_instance
