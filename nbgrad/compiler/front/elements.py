"""Elements and attributes of arrays, pointers and tuples."""

import operator
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from ...ir.affine import ZERO, Affine, variable
from ...ir.statements import Allocate, Literal, Raise
from .captured import outer_value
from .complex_numbers import is_complex
from .emit import FunctionBuilder
from .refusals import growing
from .syntax import Unsupported
from .values import (
    DOUBLE,
    INT,
    UINT,
    Array,
    Complex,
    Known,
    Lazy,
    List,
    Method,
    Number,
    Place,
    Value,
    members,
)

__all__ = [
    "attribute", "element", "flat", "from_the_end", "moved", "position", "product", "row_strides",
    "set_element",
]  # fmt: skip


def element(emit: FunctionBuilder, holder: Value, index: Value) -> Value:
    """holder[index]."""
    index = _members(index)
    if isinstance(holder, tuple) and not isinstance(holder, Complex):
        return holder[_constant_index(index)]
    if isinstance(holder, Known):
        if (row := _maker(holder.value)) is not None:
            return row(emit, index)
        return _known_element(emit, holder.value, index)
    if isinstance(holder, Place):
        return emit.load(holder, position(emit, index))
    if isinstance(holder, Array) and _is_element(emit, holder, index):
        return emit.load(holder.place, _where(emit, holder, index))
    if isinstance(holder, Lazy) and _is_element(emit, holder, index):
        indices = index if isinstance(index, tuple) else (index,)
        pairs = zip(indices, holder.shape, strict=True)
        return holder.element([emit.settled(from_the_end(emit, *pair)) for pair in pairs])
    if isinstance(holder, (Array, Lazy)):
        from .selection import part  # which reads elements

        return part(emit, holder, index)
    raise Unsupported("an element of a number")


def set_element(emit: FunctionBuilder, holder: Value, index: Value, value: Value) -> None:
    """holder[index] = value."""
    index = _members(index)
    if isinstance(holder, Place):
        emit.store(holder, position(emit, index), value)
    elif isinstance(holder, Array) and not _is_element(emit, holder, index):
        from .selection import set_part  # which sets elements

        set_part(emit, holder, index, value)
    elif isinstance(holder, Array) and holder.mutable:
        emit.writes.note(holder.place.buffer)
        emit.store(holder.place, _where(emit, holder, index), value)
    elif isinstance(holder, Array):
        raise Unsupported("assignment to an element of an array that is read-only")
    else:
        raise Unsupported("assignment to an element of a tuple or a number")


def _members(index: Value) -> Value:
    """An index of several parts, also if it is a constant."""
    is_tuple = isinstance(index, Known) and isinstance(index.value, tuple)
    return members(index) if is_tuple else index


def _is_element(emit: FunctionBuilder, array: Array | Lazy, index: Value) -> bool:
    """Whether an index is that of one element: an integer for each axis."""
    indices = index if isinstance(index, tuple) else (index,)
    return (
        not isinstance(index, List)
        and len(indices) == len(array.shape)
        and all(isinstance(i, Number) or (isinstance(i, Known) and i.is_number) for i in indices)
    )


def position(emit: FunctionBuilder, index: Value) -> Affine:
    """An integer as a position."""
    if isinstance(index, Known) and type(index.value) is bool:
        raise Unsupported("a bool as an index")
    if isinstance(index, Known) and index.is_python_number and isinstance(index.value, int):
        return Affine(int(index.value), ())
    number = emit.typed(index)
    if number.dtype.kind not in "iu":
        raise Unsupported(f"{number.dtype} as an index")
    number = emit.cast(number, INT if number.dtype.kind == "i" else UINT)
    if isinstance(number.operand, Literal):
        return Affine(int(number.operand.number), ())
    return variable(number.operand)


def moved(emit: FunctionBuilder, place: Place, count: Value) -> Place:
    """The pointer `count` elements further."""
    return replace(place, at=place.at.plus(position(emit, emit.settled(count))))


def from_the_end(emit: FunctionBuilder, index: Value, length: Number) -> Value:
    """An index, counted from the end where it is below 0."""
    number = emit.typed(index)
    if number.dtype.kind == "u" or number.natural or number.dtype.kind not in "iu":
        return index
    below = emit.operation(operator.lt, index, Known(0))
    counted = emit.typed(emit.operation(operator.add, index, length))
    if isinstance(below, Known):
        return counted if below.value else index
    here = emit.cast(number, INT)
    return emit.applied("select", [emit.typed(below), counted, here], INT)


def row_strides(emit: FunctionBuilder, array: Array) -> list[Value]:
    """The strides of an array, in elements."""
    if array.strides is not None:
        return list(array.strides)
    strides: list[Value] = [Known(1)]
    for length in reversed(array.shape[1:]):
        strides.append(product(emit, strides[-1], length))
    return strides[::-1][: len(array.shape)]


def product(emit: FunctionBuilder, x: Value, y: Value) -> Value:
    """x * y of integers."""
    if _is_one(x):
        return y
    return x if _is_one(y) else emit.operation(operator.mul, x, y)


def _is_one(x: Value) -> bool:
    return isinstance(x, Known) and x.value == 1


def _where(emit: FunctionBuilder, array: Array, index: Value) -> Affine:
    """The position of an element."""
    indices = index if isinstance(index, tuple) else (index,)
    if len(indices) != len(array.shape):
        raise Unsupported("a part of an array")
    at = ZERO
    strides = row_strides(emit, array)
    for i, length, stride in zip(indices, array.shape, strides, strict=True):
        where = from_the_end(emit, i, length)
        at = at.plus(position(emit, product(emit, stride, where)))
    return at


def flat(emit: FunctionBuilder, array: Value) -> Array:
    """array.ravel() of a contiguous array, which has no copy."""
    if not isinstance(array, Array) or array.strides is not None:
        raise Unsupported("ravel of an array that is not contiguous")
    return Array(array.place, (emit.typed(_size(emit, array)),), None, array.mutable)


def _size(emit: FunctionBuilder, array: Array | Lazy) -> Value:
    size: Value = Known(1)
    for length in array.shape:
        size = product(emit, size, length)
    return size


METHODS = frozenset((
    "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "conj", "conjugate", "copy",
    "cumprod", "cumsum", "diagonal", "dot", "fill", "nonzero", "ptp", "repeat", "round", "swapaxes",
    "take", "trace", "squeeze", "put", "compress", "partition",
    "flatten", "item", "max", "mean", "min", "prod", "ravel", "reshape", "sort", "std", "sum",
    "transpose", "var",
))  # fmt: skip
"""The methods of arrays, which are called as functions of NumPy of the same name."""


def attribute(emit: FunctionBuilder, holder: Value, name: str) -> Value:
    """holder.name"""
    if isinstance(holder, (Array, Lazy)):
        if name == "T":
            from .views import transposed  # which reads elements

            return transposed(emit, holder)
        if name in METHODS or name == "ctypes":
            return Known(Method(holder, name))
    if name in ("real", "imag") and (isinstance(holder, (Array, Lazy, Number)) or (
        is_complex(holder)
    )):  # fmt: skip
        from .complex_calls import part_of

        return part_of(emit, holder, name == "imag")
    if isinstance(holder, Number) or is_complex(holder):
        if name in ("item", "conjugate", "conj"):
            return Known(Method(holder, name))  # pyright: ignore
    if isinstance(holder, (Array, Lazy)) and name == "flat":
        from .views import flattened_array  # which reads elements

        is_view = isinstance(holder, Array) and holder.strides is None and holder.mutable
        return replace(flattened_array(emit, holder), mutable=is_view)
    if isinstance(holder, Lazy) and name not in ("shape", "size", "ndim", "dtype"):
        from .arrays import in_memory

        holder = in_memory(emit, holder)
    if isinstance(holder, (Array, Lazy)):
        if name == "dtype":
            return Known(holder.place.dtype if isinstance(holder, Array) else holder.dtype)
        if name == "ndim":
            return Known(len(holder.shape))
        if name == "shape":
            return holder.shape
        if name == "size":
            return _size(emit, holder)
    if isinstance(holder, Array):
        if name == "nbytes":
            size = Known(holder.place.dtype.itemsize)
            return emit.operation(operator.mul, _size(emit, holder), size)
        if name == "itemsize":
            return Known(holder.place.dtype.itemsize)
        if name == "strides" and holder.strides is not None:  # others may be odd where it is empty
            size = Known(holder.place.dtype.itemsize)
            strides = row_strides(emit, holder)
            return tuple(emit.operation(operator.mul, stride, size) for stride in strides)
    if isinstance(holder, Known):
        if isinstance(holder.value, np.dtype) and name == "type":
            return Known(holder.value.type)
        try:
            return outer_value(emit, getattr(holder.value, name))
        except AttributeError:
            if isinstance(holder.value, ModuleType):
                raise Unsupported(
                    f"{name}, which the module {holder.value.__name__} does not have"
                ) from None
    raise Unsupported(growing(name))


def _maker(holder: Any) -> Callable[..., Value] | None:
    """The function that writes `np.r_[...]` and its kin; None for other objects."""
    from .array_table import FUNCTIONS  # of arrays, which have elements

    return FUNCTIONS.get(holder) if type(holder).__module__.startswith("numpy.lib") else None


def _known_element(emit: FunctionBuilder, numbers: Any, index: Value) -> Value:
    """An element of a dict or a tuple of constants; one of a tuple at a position that is known at
    run time only is read from a table on the stack, which LLVM makes a constant of."""
    if isinstance(numbers, dict) and isinstance(index, Known):
        return outer_value(emit, numbers[index.value])
    if not isinstance(numbers, tuple):
        raise Unsupported(f"an element of {numbers!r:.40}, which is no array or tuple")
    if isinstance(index, Known):
        return Known(numbers[_constant_index(index)])
    if not all(isinstance(x, float) for x in numbers):
        raise Unsupported("an element of a tuple that is not known")
    if emit.dtype(index).kind not in "iu":
        raise Unsupported(f"{emit.dtype(index)} as an index")
    name = emit.name("table")
    emit.add(Allocate(name, len(numbers), DOUBLE))
    place = Place(name, DOUBLE)
    for i, number in enumerate(numbers):
        emit.store(place, Affine(i, ()), Known(number))
    where = emit.cast(from_the_end(emit, index, emit.typed(Known(len(numbers)))), UINT)
    outside = emit.operation(operator.ge, where, Known(np.uint64(len(numbers))))
    beyond = Raise("IndexError", "tuple index out of range")
    emit.branch(emit.typed(outside), [beyond], [])
    return emit.load(place, position(emit, where))


def _constant_index(index: Value) -> int:
    """An index into a tuple that is known when it is compiled."""
    if isinstance(index, Known) and type(index.value) is int:
        return index.value
    raise Unsupported("an element of a tuple that is not known")
