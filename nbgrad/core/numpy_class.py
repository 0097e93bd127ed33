"""`x.__class__` of arrays is NumPy's class for such a value, so `isinstance` is true for it.

It is np.ndarray for an array, and np.float64 or another scalar type for a number, which makes it a
`float` and a `numbers.Number`. `type(x)` and C code are not affected; the package itself calls
`is_a` instead of `isinstance`.
"""

import sys
from collections.abc import Iterator
from types import MethodType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..compiler.njit_arguments import refuse
from ..errors import ArgumentTypeError
from ..ir.naming import require_number
from .functions import is_sparse_product

_kind = cast(Any, object.__dict__["__class__"])


class NoAxes(ArgumentTypeError, AttributeError):
    """The error of `len(x)` for a number. It is an AttributeError, so `hasattr(x, "__len__")` is
    False."""


def has_axes(x: Any) -> bool:
    """Whether x is an array, not a number; an array may have no axes, too."""
    return _numpy_class(x) is np.ndarray


def _numpy_class(x: Any) -> type:
    return x.aval.numpy_class if x.views is None else np.ndarray  # np.zeros(()) is one


def _class(x: Any) -> type:
    """NumPy's class; for products of SciPy's sparse matrices, which would convert an array of that
    class, the type of x, so that they leave the product to it."""
    return type(x) if is_sparse_product(sys._getframe(1)) else _numpy_class(x)


def _length(x: Any) -> int:
    if not x.shape:
        raise ArgumentTypeError("len() of unsized object: the array has no axes")
    return require_number(x.shape[0])


def _called(x: Any) -> str:
    return f"{x.__class__.__module__}.{x.__class__.__name__}"


class NumPyClass:
    """`__class__` is NumPy's class for such a value. Setting it sets the type, as usual."""

    __slots__ = ()
    __class__ = property(_class, _kind.__set__)  # pyright: ignore

    if TYPE_CHECKING:

        def __len__(self) -> int: ...
    else:

        @property
        def __len__(self):
            if not has_axes(self):
                raise NoAxes(f"object of type '{_called(self)}' has no len()")
            return MethodType(_length, self)

    def __anext__(self: Any) -> Iterator[Any]:
        """`iter(x)`: see `slots`."""
        if not has_axes(self):
            raise ArgumentTypeError(f"'{_called(self)}' object is not iterable")
        return (self[i] for i in range(len(self)))

    def __reversed__(self: Any) -> Iterator[Any]:
        return (self[i] for i in range(len(self) - 1, -1, -1))

    def __contains__(self: Any, value: Any) -> bool:
        return bool(np.any(self == value))


class Pair(NumPyClass):
    """The class of complex arrays, which are pairs of arrays."""

    __slots__ = ()
    parts: tuple[Any, Any]


refuse(NumPyClass)
