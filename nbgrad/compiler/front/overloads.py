"""Functions of NumPy that Numba defines in Python: their definitions, read like any other function.

So their values are Numba's, bit by bit. Definitions that call libraries or build lists are refused.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np
from numba.core import types

from ..numba_api import cpu_target, numpy_support
from .values import Array, Known, Lazy, NamedTuple, Number, Pair, Value, dtype_of

__all__ = ["definition"]


def definition(
    function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> FunctionType | None:
    """The definition of a function for types of arguments; None where Numba has none in Python."""
    home = str(getattr(function, "__module__", None) or "").partition(".")[0]
    if home not in ("numpy", "math", "builtins", "numba"):
        return None
    if hasattr(function, "py_func"):
        return function.py_func
    for is_literal in (False, True):
        given = [_type_of(x, is_literal) for x in operands]
        others = {name: _type_of(x, is_literal) for name, x in named.items()}
        for overload in _overloads(function):
            try:
                found = overload(*given, **others)
            except Exception:  # it raises errors of any kind for types that it does not take
                continue
            if isinstance(found, FunctionType):
                return found
    return None


def _overloads(function: Any) -> Iterator[Callable]:
    """The functions of Numba that give definitions for types of arguments."""
    target: Any = cpu_target
    target.target_context.refresh()  # loads the definitions
    context = target.typing_context
    context.refresh()
    try:
        kind: Any = context.resolve_value_type(function)
    except ValueError:  # Numba does not have it
        return
    for template in getattr(kind, "templates", ()):
        if (overload := getattr(template, "_overload_func", None)) is not None:
            yield overload


def _type_of(value: Value, is_literal: bool) -> Any:
    """The type of a value in Numba."""
    from_dtype: Any = numpy_support.from_dtype
    if isinstance(value, Number):
        return from_dtype(value.dtype)
    if isinstance(value, Lazy):
        return types.Array(from_dtype(value.dtype), len(value.shape), "C")
    if isinstance(value, Array):
        layout = "C" if value.strides is None else "A"
        dtype = from_dtype(value.place.dtype)
        return types.Array(dtype, len(value.shape), layout, readonly=not value.mutable)
    if isinstance(value, Pair):
        return types.undefined
    if isinstance(value, tuple) and not isinstance(value, NamedTuple):
        return types.BaseTuple.from_types([_type_of(x, is_literal) for x in value])
    if isinstance(value, Known):
        if value.value is None:
            return types.none
        if is_literal and isinstance(value.value, (bool, int, str)):
            return types.literal(value.value)
        if value.is_number:
            return from_dtype(dtype_of(value.value))
        if isinstance(value.value, tuple):
            return types.BaseTuple.from_types([_type_of(Known(x), is_literal) for x in value.value])
        if isinstance(value.value, str):
            return types.unicode_type
        if isinstance(value.value, type) and issubclass(value.value, np.generic):
            return types.NumberClass(from_dtype(np.dtype(value.value)))
        if isinstance(value.value, np.dtype):
            return types.DType(from_dtype(value.value))
    return types.undefined  # a function, or what Numba does not have
