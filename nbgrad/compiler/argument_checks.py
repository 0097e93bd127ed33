"""Checks of the arguments of compiled programs, each of all arrays at once."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from ..errors import IntegerOverflow
from .instruction import instruction
from .kernel import DISABLED
from .pointers import address

__all__ = [
    "addresses", "contiguous", "extent", "fits", "meet", "number", "require", "writable",
]  # fmt: skip

Shape: TypeAlias = tuple[str, tuple[int | str, ...]]
"""The name of the dtype of an array, and its lengths; a text stands for any."""


def described(shapes: Iterable[Shape]) -> str:
    """Arrays for people, such as "float64[2, 3], int64[n]"."""
    return ", ".join(f"{dtype}[{', '.join(map(str, shape))}]" for dtype, shape in shapes)


@instruction
def fits(shapes, *arrays):
    """Whether arrays have these shapes; another dtype does not compile."""
    return all(
        x.dtype == dtype
        and x.ndim == len(shape)
        and all(isinstance(n, str) or n == m for n, m in zip(shape, x.shape, strict=True))
        for (dtype, shape), x in zip(shapes, arrays, strict=True)
    )


@instruction
def extent(array, axis):
    """The length of an array along an axis."""
    return array.shape[axis]


@instruction
def require(holds, error, message):
    """Raise `error(message)`, which are constants, where a condition does not hold."""
    if not holds:
        raise error(message)


@instruction
def writable(*arrays):
    """Refuse read-only arrays for results, which do not compile."""
    if not all(x.flags.writeable for x in arrays):
        raise ValueError("a result is a read-only array")


@instruction
def meet(first, *arrays):
    """Whether any of the arrays from place `first` (a literal) on shares memory with another."""
    ends = [(x.ctypes.data, x.ctypes.data + x.nbytes) for x in arrays]
    pairs = ((ends[i], ends[j]) for j in range(first, len(ends)) for i in range(j))
    return any(x[0] < y[1] and y[0] < x[1] for x, y in pairs)


@instruction
def number(dtype, x, message=""):
    """A number in the dtype of this name: an integer may become a float, and no float an integer.
    IntegerOverflow with the `message`, where there is one, if that changes its value."""
    found = np.dtype(dtype).type(x)
    if message and found != x:
        raise IntegerOverflow(message)
    return found


@instruction
def addresses(*arrays):
    """A table on the stack: addresses of arrays and pointers, and numbers as they are."""
    return np.array([address(array) for array in arrays])


def _contiguous(typingctx: Any, array: Any) -> Any:
    """For code that Numba compiles: the array itself if its type is contiguous, else a copy."""
    # Arguments that are not arrays are passed on: the checks that follow refuse them.
    solid = not isinstance(array, types.Array) or array.layout == "C" or array.ndim == 0
    signature = (array if solid else array.copy(layout="C", readonly=False))(array)

    def codegen(context, builder, signature, args):
        if solid:
            context.nrt.incref(builder, array, args[0])
            return args[0]
        return context.compile_internal(builder, lambda array: array.copy(), signature, args)

    return signature, codegen


contiguous: Any = np.ascontiguousarray if DISABLED else intrinsic(_contiguous)
