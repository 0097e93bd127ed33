"""Functions of `scipy.linalg` of complex matrices, or with complex results: `nbgrad.complex` has
them."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ...core.array import Array
from ...core.functions import functions, items_of, mapped
from ...core.numpy_class import Pair
from ...errors import ComplexError
from ...runtime.kinds import is_a

__all__ = ["ComplexResult", "takes_complex"]

F = TypeVar("F", bound=Callable)


class ComplexResult(ComplexError):
    """The result of real arguments is complex: the function is called again in complex numbers."""


def takes_complex(function: F) -> F:
    """Decorator: calls with a complex array or result call the function for complex arrays, which
    `complexly` registers under the decorated one."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if any(map(_is_complex, items_of((*args, *options.values())))):
            return mapped(_plain, functions["complex"](call, args, options, None))
        try:
            return function(*args, **options)
        except ComplexResult as error:
            return mapped(_plain, functions["complex"](call, args, options, error))

    made: Any = call
    return made


def _is_complex(x: Any) -> bool:
    if type(x) is complex or issubclass(type(x), Pair):
        return True
    return is_a(x, (np.ndarray, np.generic)) and x.dtype.kind == "c"


def _plain(x: Any) -> Any:
    """A plain complex array, if both parts are plain."""
    parts = x.parts if issubclass(type(x), Pair) else ()
    return x.data if parts and not any(isinstance(part, Array) for part in parts) else x
