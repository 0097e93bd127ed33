"""Functions of NumPy that divide arrays: the parts are views."""

import operator
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from .array_table import axis_of, function_row, known_of
from .arrays import require, shape_of
from .emit import FunctionBuilder
from .scalars import SCALARS
from .selection import part
from .syntax import Unsupported
from .values import KNOWN_0, Known, Slice, Value

__all__: list[str] = []


@function_row(np.split)
def split(
    emit: FunctionBuilder, ary: Value, indices_or_sections: Value, axis: Value = KNOWN_0
) -> Value:
    along = _axis(ary, axis)
    count = known_of(indices_or_sections, "the places to divide an array at")
    if isinstance(count, int):
        rest = emit.operation(operator.mod, shape_of(ary)[along], Known(count))
        is_equal = emit.operation(operator.eq, rest, KNOWN_0)
        require(emit, is_equal, "array split does not result in an equal division")
    return array_split(emit, ary, indices_or_sections, axis)


@function_row(np.array_split)
def array_split(
    emit: FunctionBuilder, ary: Value, indices_or_sections: Value, axis: Value = KNOWN_0
) -> Value:
    along = _axis(ary, axis)
    given = known_of(indices_or_sections, "the places to divide an array at")
    if isinstance(given, (int, np.integer)):
        places = _equal_places(emit, shape_of(ary)[along], int(given))
    else:
        places = [KNOWN_0, *(Known(int(x)) for x in given), None]
    whole: list[Value] = [Slice(None, None, None)] * len(shape_of(ary))
    parts = []
    for start, stop in pairwise(places):
        whole[along] = Slice(start, stop, None)
        parts.append(part(emit, ary, tuple(whole)))  # pyright: ignore[reportArgumentType]
    return tuple(parts)


def _axis(ary: Value, axis: Value) -> int:
    along = axis_of(axis, len(shape_of(ary)))
    if along is None:
        raise Unsupported("an axis of None")
    return along


def _equal_places(emit: FunctionBuilder, length: Value, count: int) -> Sequence[Value]:
    """The bounds of `count` parts. If the length is no multiple of it, the first ones are longer by
    1."""
    if count < 1:
        raise Unsupported("a number of parts below 1")
    each = emit.operation(operator.floordiv, length, Known(count))
    rest = emit.operation(operator.mod, length, Known(count))
    places: list[Value] = []
    for i in range(count + 1):
        longer = SCALARS[np.minimum](emit, Known(i), rest)
        places.append(
            emit.operation(operator.add, emit.operation(operator.mul, each, Known(i)), longer)
        )
    return places


@function_row(np.vsplit)
def vsplit(emit: FunctionBuilder, ary: Value, indices_or_sections: Value) -> Value:
    return split(emit, ary, indices_or_sections)


@function_row(np.hsplit)
def hsplit(emit: FunctionBuilder, ary: Value, indices_or_sections: Value) -> Value:
    return split(emit, ary, indices_or_sections, Known(min(len(shape_of(ary)) - 1, 1)))
