"""The table of the functions of NumPy that take or give arrays, and their arguments."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from .arrays import require
from .emit import FunctionBuilder
from .syntax import Unsupported
from .values import INT, Complex, Known, Number, Value

__all__ = [
    "FUNCTIONS", "METHODS", "axis_of", "dtype_from", "function_row", "known_of", "method_row",
    "several_axes", "shape_from",
]  # fmt: skip

FUNCTIONS: dict[Any, Callable[..., Value]] = {}
"""Rows by function: each takes the function builder and the arguments by their names in NumPy."""
METHODS: dict[str, Callable[..., Value]] = {}
"""Rows of methods by name; others are those of the function of NumPy of this name."""


def function_row(*functions: Any) -> Callable[[Callable], Callable]:
    """Decorator: the row of functions of NumPy, by name where they may be missing."""

    def note(row: Callable) -> Callable:
        for each in functions:
            found = getattr(np, each, None) if isinstance(each, str) else each
            if found is not None:
                FUNCTIONS[found] = row
        return row

    return note


def method_row(row: Callable) -> Callable:
    """Decorator: the row of the method of this name."""
    METHODS[row.__name__.strip("_")] = row
    return row


def known_of(value: "Value | None", what: str) -> Any:
    """The number of a constant argument."""
    if value is None or isinstance(value, Known):
        return None if value is None else value.value
    if isinstance(value, tuple) and not isinstance(value, Complex):
        return tuple(known_of(each, what) for each in value)
    raise Unsupported(f"{what} that is not a constant")


def axis_of(axis: "Value | None", rank: int) -> int | None:
    """An axis as a number that is not below 0; None for all."""
    found = known_of(axis, "an axis")
    if found is None:
        return None
    if not isinstance(found, int):
        raise Unsupported("several axes: give one after another")
    if not -rank <= found < rank:
        raise Unsupported(f"axis {found} of an array of {rank} axes")
    return found % rank


def several_axes(axis: "Value | None", rank: int) -> list[int] | None:
    """Several axes, the last one first; None for one axis, and for all."""
    found = known_of(axis, "an axis")
    if not isinstance(found, tuple):
        return None
    axes = {axis_of(Known(each), rank) for each in found}
    if len(axes) != len(found):
        raise Unsupported("an axis that is given twice")
    return sorted((each for each in axes if each is not None), reverse=True)


def dtype_from(value: "Value | None", default: np.dtype) -> np.dtype:
    """The dtype that an argument names."""
    found = known_of(value, "a dtype")
    if found is None:
        return default
    if isinstance(found, types.Type):
        found = str(found).replace("boolean", "bool")
    try:
        dtype = np.dtype(found)
    except TypeError:
        raise Unsupported(f"{found!r} as a dtype") from None
    return dtype


def shape_from(emit: FunctionBuilder, shape: Value) -> tuple[Number, ...]:
    """A shape from an integer or a tuple."""
    parts = shape if isinstance(shape, tuple) else (shape,)
    if isinstance(shape, Known) and isinstance(shape.value, tuple):
        parts = tuple(map(Known, shape.value))
    lengths: list[Number] = []
    for part in parts:
        length = emit.typed(emit.settled(part))
        if length.dtype.kind not in "iu":
            raise Unsupported(f"a length of {length.dtype}")
        length = emit.cast(length, INT)
        if not length.natural:
            least = emit.operation(operator.ge, length, Known(0))
            require(emit, least, "negative dimensions are not allowed")
        lengths.append(Number(length.operand, INT, True))
    return tuple(lengths)
