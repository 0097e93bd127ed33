"""Arrays in memory: nests of loops over them, broadcasting, copies, assignment."""

import contextlib
import operator
from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard

import numpy as np

from ...ir.affine import ZERO, Affine
from ...ir.statements import For, Literal, Raise
from .elements import position, product, row_strides
from .emit import FunctionBuilder
from .syntax import Unsupported
from .values import (
    INT,
    Array,
    Complex,
    Known,
    Lazy,
    Number,
    Place,
    Planes,
    Value,
    part_dtype,
    rebuilt,
    whole,
)

__all__ = [
    "assign", "broadcast", "count_of", "fill", "fresh", "in_memory", "is_array", "is_one",
    "is_safe", "is_view", "lazy", "nest", "number", "position_of", "require", "require_same",
    "returned_array", "same_length", "shape_of",
]  # fmt: skip


def is_array(value: object) -> bool:
    """Whether a value is an array."""
    return isinstance(value, (Array, Lazy))


def is_view(value: Value, array: Value) -> TypeGuard[Array]:
    """Whether a value is a part of an array in its memory."""
    if not (isinstance(value, Array) and isinstance(array, Array)):
        return False
    return whole(value.place.buffer) == whole(array.place.buffer)


def number(length: int) -> Number:
    """A constant integer."""
    return Number(Literal(length, INT), INT, length >= 0)


def shape_of(value: Value) -> tuple[Number, ...]:
    """The lengths of an array; a number has none."""
    return value.shape if isinstance(value, (Array, Lazy)) else ()


def count_of(emit: FunctionBuilder, shape: Sequence[Number]) -> Value:
    """The number of elements."""
    count: Value = Known(1)
    for length in shape:
        count = product(emit, count, length)
    return count


def is_one(length: Number) -> bool:
    """Whether a length is the constant 1: only such an axis is broadcast."""
    return isinstance(length.operand, Literal) and length.operand.number == 1


# -- loops ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def nest(emit: FunctionBuilder, shape: Sequence[Number]) -> Iterator[tuple[Number, ...]]:
    """A nest of loops over the indices of a shape, for whose body the statements inside are."""
    names = [emit.name("i") for _ in shape]
    with emit.block() as body:
        yield tuple(Number(name, INT, True) for name in names)
    for name, length in reversed(list(zip(names, shape, strict=True))):
        stop = length.operand
        stop = stop.number if isinstance(stop, Literal) else stop
        body = [For(name, 0, stop, tuple(body))]
    emit.body += body


def position_of(
    emit: FunctionBuilder, strides: Sequence[Value], indices: Sequence[Value]
) -> Affine:
    """The position of an element."""
    at = ZERO
    for stride, index in zip(strides, indices, strict=True):
        at = at.plus(position(emit, product(emit, stride, index)))
    return at


def lazy(emit: FunctionBuilder, value: Value) -> Lazy:
    """An array or a number as elements that are computed where they are used."""
    if isinstance(value, Lazy):
        return value
    if isinstance(value, Array):
        strides, place = row_strides(emit, value), value.place
        return Lazy(
            value.shape, place.dtype,
            lambda indices: emit.load(place, position_of(emit, strides, indices)),
            ((value, True),), cheap=True,
        )  # fmt: skip
    is_settled = isinstance(value, Known)
    number = value if isinstance(value, Complex) or is_settled else emit.typed(value)
    constant = number if is_settled else emit.settled(number)
    return Lazy((), emit.dtype(constant), lambda indices: constant, cheap=True)


def fresh(emit: FunctionBuilder, shape: Sequence[Number], dtype: np.dtype) -> Array:
    """A new array, whose elements are not set."""
    return Array(emit.new(count_of(emit, shape), dtype, shape), tuple(shape))


def fill(emit: FunctionBuilder, target: Array, value: Lazy) -> None:
    """Set each element of an array to that of another of the same shape."""
    strides = row_strides(emit, target)
    with nest(emit, target.shape) as indices:
        element = value.element(indices)
        emit.store(target.place, position_of(emit, strides, indices), element)


def in_memory(emit: FunctionBuilder, value: Value) -> Value:
    """The value; an array that is not in memory, and those in a tuple, as a new one."""
    if isinstance(value, tuple):
        return rebuilt(value, [in_memory(emit, each) for each in value])
    if not isinstance(value, Lazy):
        return value
    array = fresh(emit, value.shape, value.dtype)
    fill(emit, array, value)
    return array


# -- shapes ---------------------------------------------------------------------------------------


def require(emit: FunctionBuilder, holds: Value, message: str, error: str = "ValueError") -> None:
    """Raise an exception where a condition does not hold."""
    if isinstance(holds, Known):
        if not holds.value:
            raise Unsupported(message)
        return
    failed = emit.truth(emit.operation(operator.not_, holds))
    emit.branch(failed, [Raise(error, message)], [])


def same_length(x: Number, y: Number) -> bool | None:
    """Whether two lengths are equal; None where that is known at run time only."""
    if x.operand == y.operand:
        return True
    both = isinstance(x.operand, Literal) and isinstance(y.operand, Literal)
    return False if both else None


_DIFFERENT = (
    "operands of different lengths: an axis of length 1 is broadcast in compiled loops where its "
    "length is a constant, as in x[:, None] or x.reshape(n, 1)"
)


def require_same(emit: FunctionBuilder, x: Number, y: Number) -> None:
    """Raise ValueError where two lengths are not equal."""
    if same_length(x, y) is None:
        require(emit, emit.operation(operator.eq, x, y), _DIFFERENT)
    elif not same_length(x, y):
        raise Unsupported(_DIFFERENT)


def broadcast(
    emit: FunctionBuilder, values: Sequence[Lazy], shape: Sequence[Number] | None = None
) -> tuple[tuple[Number, ...], list[Lazy]]:
    """The common shape of arrays, and the arrays in it; `shape` is that of a target, which is not
    extended."""
    rank = max(len(each.shape) for each in values) if shape is None else len(shape)
    found: list[Number] = []
    for axis in range(-rank, 0):
        lengths = [each.shape[axis] for each in values if len(each.shape) >= -axis]
        given = [length for length in lengths if not is_one(length)]
        chosen = shape[axis] if shape is not None else (given or lengths)[0]
        for length in given:
            require_same(emit, length, chosen)
        found.append(chosen)
    return tuple(found), [_stretched(emit, each, found) for each in values]


def _stretched(emit: FunctionBuilder, value: Lazy, shape: Sequence[Number]) -> Lazy:
    """An array in a shape that it is broadcast to."""
    extra = len(value.shape) - len(shape)
    if not all(map(is_one, value.shape[: max(extra, 0)])):
        raise Unsupported("assignment of an array of more axes")
    lost, gained = max(extra, 0), max(-extra, 0)
    own = value.shape[lost:]
    repeats = [
        is_one(length) and not is_one(wanted)
        for length, wanted in zip(own, shape[gained:], strict=True)
    ]
    if not lost and not gained and not any(repeats):
        return value
    if not value.cheap and (gained or any(repeats)):
        value = lazy(emit, in_memory(emit, value))
    zero = number(0)

    def element(indices: Sequence[Value]) -> Value:
        kept = zip(indices[gained:], repeats, strict=True)
        return value.element([zero] * lost + [zero if repeat else i for i, repeat in kept])

    sources = tuple((array, False) for array, _ in value.sources)
    return Lazy(tuple(shape), value.dtype, element, sources, value.cheap)


# -- assignment -----------------------------------------------------------------------------------


def assign(
    emit: FunctionBuilder, target: Array, value: Value, in_order: bool = False
) -> None:  # fmt: skip
    """target[...] = value, as if the value was computed before anything is assigned; `in_order`
    element by element, each after those before it are assigned."""
    if not target.mutable:
        raise Unsupported("assignment to an element of an array that is read-only")
    emit.writes.note(target.place.buffer)
    if isinstance(value, tuple) and not isinstance(value, Complex):
        raise Unsupported("assignment of a tuple to a part of an array")
    _, (value,) = broadcast(emit, [lazy(emit, value)], target.shape)
    if not in_order and not is_safe(target, value):
        value = lazy(emit, in_memory(emit, value))
    fill(emit, target, value)


def is_safe(target: Array, value: Lazy) -> bool:
    """Whether elements of a target may be set while those of a value are computed."""
    return all(_is_apart(target, array, aligned) for array, aligned in value.sources)


def _is_apart(target: Array, source: Array, aligned: bool) -> bool:
    """Whether elements of a target may be set while those of a source are read."""
    if whole(target.place.buffer) != whole(source.place.buffer):
        return True
    if not aligned or target.place.at != source.place.at:
        return False
    if target.strides is None or source.strides is None:
        return target.strides is source.strides and len(target.shape) == len(source.shape) and all(
            same_length(x, y) for x, y in zip(target.shape[1:], source.shape[1:], strict=True)
        )  # fmt: skip
    return [x.operand for x in target.strides] == [x.operand for x in source.strides]


def returned_array(emit: FunctionBuilder, name: str, value: Value) -> Any:
    """Write an array that is returned into an array of the caller."""
    from .functions import ArrayResult, ArrayType  # which builds functions

    found = lazy(emit, value)
    names = [name, f"{name}.imag"] if found.dtype.kind == "c" else [name]
    shape: tuple[Number, ...] = ()
    for each in names[::-1]:
        shape = tuple(Number(f"{each}_n{i}", INT, True) for i in range(len(found.shape)))
        for length, given in zip(found.shape, shape, strict=True):
            same = emit.operation(operator.eq, length, given)
            require(emit, same, "the array for a result has another shape")
    fill(emit, Array(Place(name, found.dtype), shape), found)
    if found.dtype.kind != "c":
        return ArrayResult(name, ArrayType(found.dtype, len(shape)))
    kind = ArrayType(part_dtype(found.dtype), len(shape))
    return Planes(ArrayResult(each, kind) for each in names)
