"""Arrays and numbers, in tuples or not, as one vector, as the functions of rules take them.

A layout is the tree of the values, with a `Leaf` for each float or array of floats, a dtype for any
other number, and constants.
"""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiler.front.arrays import (
    assign,
    count_of,
    fresh,
    is_array,
    lazy,
    nest,
    number,
    position_of,
    require,
)
from ..compiler.front.complex_numbers import is_complex
from ..compiler.front.elements import moved, row_strides
from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.syntax import Unsupported
from ..compiler.front.values import KNOWN_0, KNOWN_1, Array, Known, Number, Place, Value, rebuilt
from ..compiler.front.views import flattened_array
from ..ir.affine import ZERO
from ..ir.statements import Literal

__all__ = [
    "Layout", "Leaf", "add_values", "dtype_of", "layout_of", "numbers_of", "packed", "size_of",
    "unpacked", "vector_of",
]  # fmt: skip

Layout = Any
_MISMATCH = "nbgrad.errors.DimensionMismatch"


@dataclass(frozen=True)
class Leaf:
    """A float, or an array of floats: its lengths, None for those that are known at run time."""

    dtype: np.dtype
    lengths: tuple[int | None, ...] | None

    @property
    def kinds(self) -> str:
        """The kind of value, in words."""
        if self.lengths is None:
            return "a number"
        count = len(self.lengths)
        return f"an array with {count} {'axis' if count == 1 else 'axes'}"


def layout_of(value: Value, what: str) -> Layout:
    """The layout of values in memory; `what` is said of those that have none."""
    match value:
        case tuple() if not is_complex(value):
            return rebuilt(value, [layout_of(x, what) for x in value])
        case Number(dtype=dtype):
            return Leaf(dtype, None) if dtype.kind == "f" else dtype
        case Array(place, shape) if place.dtype.kind == "f":
            return Leaf(place.dtype, tuple(map(_constant, shape)))
        case Known() if not value.is_complex:
            return value
    raise Unsupported(f"{what} that is no number and no array of floats")


def _constant(length: Number) -> int | None:
    operand = length.operand
    return int(operand.number.real) if isinstance(operand, Literal) else None


def _leaves(value: Any, layout: Layout) -> Iterator[tuple[Any, Any]]:
    if isinstance(layout, tuple):
        for x, part in zip(value, layout, strict=True):
            yield from _leaves(x, part)
    else:
        yield value, layout


def dtype_of(layout: Layout) -> np.dtype | None:
    """The dtype of the vector; None where there is no float."""
    dtypes = [part.dtype for _, part in _leaves(layout, layout) if isinstance(part, Leaf)]
    return np.result_type(*dtypes) if dtypes else None


def numbers_of(value: Value, layout: Layout) -> list[Number]:
    """The values that are passed beside the vector: lengths, and numbers other than floats."""
    found: list[Number] = []
    for x, part in _leaves(value, layout):
        if isinstance(part, np.dtype):
            found.append(x)
        elif isinstance(part, Leaf) and part.lengths is not None:
            found += [n for n, known in zip(x.shape, part.lengths, strict=True) if known is None]
    return found


def _count(emit: FunctionBuilder, x: Any) -> Value:
    return count_of(emit, x.shape) if is_array(x) else KNOWN_1


def size_of(emit: FunctionBuilder, value: Value, layout: Layout) -> Number:
    """The number of elements of the vector."""
    total: Value = KNOWN_0
    for x, part in _leaves(value, layout):
        if isinstance(part, Leaf):
            total = emit.operation(operator.add, total, _count(emit, x))
    return emit.typed(emit.settled(emit.typed(total)))


def packed(emit: FunctionBuilder, value: Value, layout: Layout) -> Array:
    """The vector of values, a new array."""
    dtype = dtype_of(layout)
    assert dtype is not None
    made = fresh(emit, [size_of(emit, value, layout)], dtype)
    here = made.place
    for x, part in _leaves(value, layout):
        if isinstance(part, Leaf):
            if part.lengths is None:
                emit.store(here, ZERO, x)
            else:
                assign(emit, Array(here, x.shape), x)
            here = moved(emit, here, _count(emit, x))
    return made


def vector_of(emit: FunctionBuilder, value: Value, layout: Layout) -> Array:
    """The vector of values: the array itself, where it is the only one and contiguous."""
    found = [x for x, part in _leaves(value, layout) if isinstance(part, Leaf)]
    if len(found) == 1 and isinstance(found[0], Array) and found[0].strides is None:
        return flattened_array(emit, found[0])
    return packed(emit, value, layout)


def unpacked(
    emit: FunctionBuilder, layout: Layout, place: Place, numbers: Iterator[Number],
    mutable: bool = False,
) -> Value:  # fmt: skip
    """The values, the arrays among them as parts of the vector."""
    here = place

    def value(part: Layout) -> Value:
        nonlocal here
        if isinstance(part, tuple):
            return rebuilt(part, [value(x) for x in part])
        if isinstance(part, np.dtype):
            return next(numbers)
        if not isinstance(part, Leaf):
            return part
        if part.lengths is None:
            found: Any = emit.load(here, ZERO)
        else:
            shape = [next(numbers) if n is None else number(n) for n in part.lengths]
            found = Array(here, tuple(shape), None, mutable)
        here = moved(emit, here, _count(emit, found))
        return found

    return value(layout)


def add_values(
    emit: FunctionBuilder, place: Place, like: Value, layout: Layout, value: Value, what: str
) -> None:
    """Add values to the vector; each has the structure and the lengths of `like`, or is None."""
    here = place

    def add(x: Any, part: Layout, given: Value) -> None:
        nonlocal here
        is_none = isinstance(given, Known) and given.value is None
        if isinstance(part, tuple):
            if not is_none and not (isinstance(given, tuple) and len(given) == len(part)):
                raise Unsupported(f"{what} that does not nest as it has to")
            parts: Sequence[Value] = given if isinstance(given, tuple) else [given] * len(part)
            for each in zip(x, part, parts, strict=True):
                add(*each)
            return
        if not isinstance(part, Leaf):
            return
        if not is_none:
            shape = given.shape if is_array(given) else ()  # pyright: ignore
            if len(shape) != len(part.lengths or ()):
                raise Unsupported(f"{what} that is not {part.kinds}")
            _add_leaf(emit, here, x, given, what)
        here = moved(emit, here, _count(emit, x))

    add(like, layout, value)


def _add_leaf(emit: FunctionBuilder, here: Place, x: Any, given: Value, what: str) -> None:
    if not is_array(x):
        emit.add_to(here, ZERO, given)
        return
    elements = lazy(emit, given)
    for own, wanted in zip(elements.shape, x.shape, strict=True):
        holds = emit.operation(operator.eq, own, wanted)
        require(emit, holds, f"{what} has another shape than it must have", _MISMATCH)
    target = Array(here, x.shape)
    with nest(emit, x.shape) as indices:
        at = position_of(emit, row_strides(emit, target), indices)
        emit.add_to(here, at, elements.element(indices))
