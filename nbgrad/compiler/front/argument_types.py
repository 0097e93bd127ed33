"""The types of arguments and results."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.core import types

from ...ir.statements import Pointer
from .syntax import Unsupported
from .values import Complex, Planes, named_tuple, rebuilt

__all__ = ["ArrayResult", "ArrayType", "Constant", "kind_of", "kind_of_any"]


@dataclass(frozen=True)
class ArrayType:
    """The type of an array; one that is contiguous has no strides. The axes `ones` have length 1,
    and are broadcast."""

    dtype: np.dtype
    ndim: int
    contiguous: bool = True
    mutable: bool = True
    ones: tuple[int, ...] = ()


@dataclass(frozen=True)
class Constant:
    """The type of an argument that is known at compile time."""

    value: Any


@dataclass(frozen=True)
class ArrayResult:
    """A result that is an array: the function writes it into an array of the caller, which is its
    parameter `name`, with the lengths behind it. Raises ValueError for one of other lengths."""

    name: str
    kind: ArrayType


_NUMBERS = {
    types.boolean: np.dtype(bool), types.float32: np.dtype(np.float32),
    types.float64: np.dtype(np.float64),
    **{
        getattr(types, f"{sign}int{bits}"): np.dtype(f"{sign}int{bits}")
        for sign in ("", "u") for bits in (8, 16, 32, 64)
    },
}  # fmt: skip


def kind_of(kind: Any) -> Any:
    """A type of Numba as one of ours. Raises Unsupported for types that the IR does not have."""
    if kind in _NUMBERS:
        return _NUMBERS[kind]
    if isinstance(kind, types.CPointer):
        return Pointer(kind_of(kind.dtype))
    if isinstance(kind, types.Array):
        return ArrayType(
            kind_of(kind.dtype), kind.ndim, kind.layout == "C" or kind.ndim == 0, kind.mutable
        )
    if isinstance(kind, types.BaseNamedTuple):
        return named_tuple(kind.instance_class)(map(kind_of, kind.types))  # pyright: ignore
    if isinstance(kind, types.BaseTuple):
        return tuple(map(kind_of, kind.types))  # pyright: ignore
    if isinstance(kind, types.Literal):
        return Constant(kind.literal_value)
    if isinstance(kind, types.Omitted):
        return Constant(kind.value)
    if isinstance(kind, types.NoneType):
        return Constant(None)
    if isinstance(kind, (np.dtype, Pointer, ArrayType, Constant)):
        return kind
    if isinstance(kind, tuple):
        return rebuilt(kind, map(kind_of, kind))
    raise Unsupported(f"an argument of {kind}")


def kind_of_any(kind: Any) -> Any:
    """The same with complex numbers and arrays, which Numba passes in another way than ours."""
    if isinstance(kind, types.Complex):
        return Complex([kind_of(kind.underlying_float)] * 2)
    if isinstance(kind, types.Array) and isinstance(kind.dtype, types.Complex):
        return Planes([kind_of(kind.copy(dtype=kind.dtype.underlying_float))] * 2)
    return kind_of(kind)
