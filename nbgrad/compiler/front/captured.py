"""Arrays that a function takes from outside: its elements are read at each call."""

from dataclasses import replace
from typing import Any

import numpy as np

from ...ir.statements import Literal, PointTo
from .emit import FunctionBuilder
from .nested import Held
from .syntax import Unsupported
from .values import INT, Array, Known, Number, Value, named_tuple, part_dtype

__all__ = ["outer_value"]


def outer_value(emit: FunctionBuilder, value: Any) -> Value:
    """The value of a name from outside of a function; a function that is defined inside of another
    has values. An array is read where it is: the function keeps it, and sees what is written to it
    later."""
    if isinstance(value, Held):
        return value.value
    if isinstance(value, tuple) and _has_array(value):
        parts = [outer_value(emit, x) for x in value]
        return named_tuple(type(value))(parts) if hasattr(value, "_fields") else tuple(parts)
    if not isinstance(value, np.ndarray) or not value.ndim:
        return Known(value)
    if value.dtype.kind not in "fiubc" or not value.dtype.isnative:
        raise Unsupported(f"an array of {value.dtype} from outside of the function")
    size = value.itemsize
    if any(step % size for step in value.strides) or not value.flags.aligned:
        raise Unsupported("an array from outside of the function that is not aligned")
    emit.held.append(value)
    if value.dtype.kind == "c":
        return _planes_of(emit, value)
    place = emit.pointing(_number(value.ctypes.data), value.dtype)
    shape = tuple(_number(n) for n in value.shape)
    if value.flags.c_contiguous:
        return Array(place, shape, None, False)
    return Array(place, shape, tuple(_number(step // size) for step in value.strides), False)


def _has_array(value: tuple) -> bool:
    return any(_has_array(x) if isinstance(x, tuple) else isinstance(x, np.ndarray) for x in value)


def _planes_of(emit: FunctionBuilder, value: np.ndarray) -> Array:
    """An array of complex numbers: its parts are every other float of its memory."""
    part = part_dtype(value.dtype)
    place = emit.pointing(_number(value.ctypes.data), part)
    there = Literal(value.ctypes.data + part.itemsize, INT)
    emit.add(PointTo(f"{place.buffer}.imag", there, part))
    strides = tuple(_number(step // part.itemsize) for step in value.strides)
    shape = tuple(_number(n) for n in value.shape)
    return Array(replace(place, dtype=value.dtype), shape, strides, False)


def _number(value: int) -> Number:
    return Number(Literal(value, INT), INT, value >= 0)
