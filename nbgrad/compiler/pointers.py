"""Pointers, which kernels of compiled programs take in place of arrays.

In plain Python a flat array stands for a pointer, so programs run with Numba disabled.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from .instruction import instruction
from .kernel import device

__all__ = [
    "Overlap",
    "address",
    "at_b1",
    "at_f4",
    "at_f8",
    "at_i1",
    "at_i2",
    "at_i4",
    "at_i8",
    "at_u1",
    "at_u2",
    "at_u4",
    "at_u8",
    "b1",
    "clear",
    "f4",
    "f8",
    "fetch",
    "hidden",
    "highest",
    "i1",
    "i2",
    "i4",
    "i8",
    "lowest",
    "move",
    "pointer",
    "scratch",
    "shift",
    "spoil",
    "u1",
    "u2",
    "u4",
    "u8",
]  # fmt: skip


class Overlap(ValueError):
    """A result that shares memory with an argument or another result."""


@instruction
def pointer(array):
    """The first element of an array, which must be contiguous. It does not keep the array alive."""
    return array.reshape(-1).view(np.uint8 if array.dtype == bool else array.dtype)


@instruction
def shift(pointer, count):
    """The pointer `count` elements further."""
    return pointer[count:]


@instruction
def address(array):
    """The address of the first element of an array, or that of a pointer, as an integer."""
    return array.ctypes.data


def _at(dtype: Any) -> Callable:
    """A pointer to elements of a dtype, from an address."""

    @instruction(row=("at", np.dtype(dtype)))
    def at(place):
        return np.ctypeslib.as_array((dtype * 1).from_address(place))

    at.__name__ = f"at_{np.dtype(dtype).str[1:]}"
    return at


at_f8, at_f4 = _at(ctypes.c_double), _at(ctypes.c_float)
at_i8, at_u8 = _at(ctypes.c_int64), _at(ctypes.c_uint64)
at_i4, at_u4 = _at(ctypes.c_int32), _at(ctypes.c_uint32)
at_i2, at_u2 = _at(ctypes.c_int16), _at(ctypes.c_uint16)
at_i1, at_u1 = _at(ctypes.c_int8), _at(ctypes.c_uint8)
at_b1 = at_u1


@device
def move(to, source, count):
    """Copy `count` elements."""
    for i in range(count):
        to[i] = source[i]


@device
def clear(to, count):
    """Set `count` elements to zero."""
    for i in range(count):
        to[i] = 0


@device
def spoil(to, count):
    """Set `count` elements to nan."""
    for i in range(count):
        to[i] = np.nan


def _part(dtype: Any) -> Callable:
    """A pointer to elements of a dtype, `offset` bytes into scratch."""

    @instruction(row=("part", np.dtype(dtype)))
    def part(work, offset):
        return work[offset : len(work) // 8 * 8].view(dtype)

    return part


f8, f4 = _part(np.float64), _part(np.float32)
i8, u8 = _part(np.int64), _part(np.uint64)
i4, u4 = _part(np.int32), _part(np.uint32)
i2, u2 = _part(np.int16), _part(np.uint16)
i1, u1 = _part(np.int8), _part(np.uint8)
b1 = u1


@instruction
def scratch(size):
    """`size` bytes (a literal) on the stack, aligned for vectors."""
    return np.empty(size, np.uint8)


@instruction
def fetch(array, start, count):
    """Ask memory for elements of an array that are read soon: the processor guesses which of a row,
    and not that of the next. There may be none from `start` on."""


@instruction
def hidden(x):
    """`x`, which LLVM cannot see: a short inner loop of known length is unrolled before it is
    vectorised, and then vectors run across its rows, element by element (30 times slower); and the
    largest of what is -inf in places becomes one under a condition, which has no vectors."""
    return x


@instruction(row=("extreme", "maximum"))
def highest(x, y):
    """The larger of two; nan where one is nan. It vectorises in a reduction."""
    return np.maximum(x, y)


@instruction(row=("extreme", "minimum"))
def lowest(x, y):
    """The smaller of two, as `highest`."""
    return np.minimum(x, y)
