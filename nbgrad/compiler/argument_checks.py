"""Checks of the arguments of compiled programs, each of all arrays at once."""

import re
from typing import Any

import numpy as np
from numba.core import errors, types
from numba.extending import intrinsic

from .instruction import instruction
from .kernel import DISABLED
from .pointers import address

__all__ = ["addresses", "contiguous", "fits", "meet", "number", "writable"]


def shapes_in(text: str) -> list[tuple[Any, tuple[int | None, ...]]]:
    """The dtypes and shapes that `fits` is given; None for what is no number."""
    matches = re.findall(r"(\w+)\[([^\]]*)\]", text)
    split = [(np.dtype(n), [x.strip() for x in s.split(",") if x.strip()]) for n, s in matches]
    return [(dtype, tuple(int(x) if x.isdigit() else None for x in s)) for dtype, s in split]


@instruction
def fits(text, *arrays):
    """Whether arrays have the shapes in the literal `text`, "float64[2, 3], int64[n]", where any
    length is good for a name. Another dtype does not compile."""
    described = zip(shapes_in(text), arrays, strict=True)
    return all(
        x.dtype == dtype
        and x.ndim == len(shape)
        and all(n is None or n == m for n, m in zip(shape, x.shape, strict=True))
        for (dtype, shape), x in described
    )


@instruction
def writable(*arrays):
    """Said before results are written: a read-only array does not compile."""
    if not all(x.flags.writeable for x in arrays):
        raise ValueError("a result is a read-only array")


@instruction
def meet(first, *arrays):
    """Whether any of the arrays from place `first` (a literal) on shares memory with another."""
    ends = [(x.ctypes.data, x.ctypes.data + x.nbytes) for x in arrays]
    pairs = ((ends[i], ends[j]) for j in range(first, len(ends)) for i in range(j))
    return any(x[0] < y[1] and y[0] < x[1] for x, y in pairs)


@instruction
def number(text, x):
    """A number in the dtype that the literal `text` names, as Python has it: an integer may become
    a float, and no float an integer."""
    return np.dtype(text).type(x)


@instruction
def addresses(*arrays):
    """A table on the stack: where arrays begin, or pointers lead; numbers as they are."""
    return np.array([address(array) for array in arrays])


def _contiguous(typingctx: Any, array: Any) -> Any:
    """For code that Numba compiles: the array itself where its type says that it is contiguous,
    else a copy."""
    if not isinstance(array, types.Array):
        raise errors.TypingError(f"a compiled program takes an array, not {array}")
    solid = array.layout == "C" or array.ndim == 0
    signature = (array if solid else array.copy(layout="C", readonly=False))(array)

    def codegen(context, builder, signature, args):
        if solid:
            context.nrt.incref(builder, array, args[0])
            return args[0]
        return context.compile_internal(builder, lambda array: array.copy(), signature, args)

    return signature, codegen


contiguous: Any = np.ascontiguousarray if DISABLED else intrinsic(_contiguous)
