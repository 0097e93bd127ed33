"""The class that an array answers to, `x.__class__`: `isinstance` and abstract classes ask for it
after the type itself.

NumPy's own ops give arrays, and scalars where there are no axes; a stand-in for one says the same:
np.ndarray with axes, and np.float64 or another scalar type without, which is a `float` and a
`numbers.Number`. C code asks for the type and sees none of this. The package asks `is_a`.
"""

from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any, TypeVar, cast

import numpy as np

from ..compiler.njit_arguments import refuse
from ..ir.naming import require_number

_kind = cast(Any, object.__dict__["__class__"])
Method = TypeVar("Method", bound=Callable)


class NoAxes(TypeError, AttributeError):
    """The error of `len(x)` for a number; `hasattr(x, "__len__")` is false with it."""


def has_axes(x: Any) -> bool:
    """Whether x is an array, which may have none, and no number."""
    return _face(x) is np.ndarray


def _face(x: Any) -> type:
    return x.aval.face if x.views is None else np.ndarray  # np.zeros(()) is one


class _OfArrays:
    """A special method that arrays have and numbers have not."""

    def __init__(self, method: Callable):
        self.method = method

    def __get__(self, x: Any, kind: type | None = None) -> Any:
        if x is None:
            return self.method
        if not has_axes(x):
            raise NoAxes(f"object of type '{_called(x)}' has no len()")
        return MethodType(self.method, x)


def _of_arrays(method: Method) -> Method:
    """Decorator, for type checkers, which know special methods as functions only."""
    return cast(Any, _OfArrays(method))


def _called(x: Any) -> str:
    return f"{x.__class__.__module__}.{x.__class__.__name__}"


class Faced:
    """`__class__` is NumPy's class for such a value. Setting it sets the type, as always."""

    __slots__ = ()
    __class__ = property(_face, _kind.__set__)  # pyright: ignore

    @_of_arrays
    def __len__(self: Any) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object: the array has no axes")
        return require_number(self.shape[0])

    def __anext__(self: Any) -> Iterator[Any]:
        """`iter(x)`, as `slots` has it."""
        if not has_axes(self):
            raise TypeError(f"'{_called(self)}' object is not iterable")
        return (self[i] for i in range(len(self)))

    def __reversed__(self: Any) -> Iterator[Any]:
        return (self[i] for i in range(len(self) - 1, -1, -1))

    def __contains__(self: Any, value: Any) -> bool:
        return bool(np.any(self == value))


refuse(Faced)
