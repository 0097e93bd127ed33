"""Arrays whose elements are repeated: `np.repeat`, `np.tile` and `np.kron`.

Each is a view with repeated axes, of which a copy has another shape.
"""

import operator
from collections.abc import Sequence

import numpy as np

from .array_table import axis_of, function_row, method_row, shape_from
from .arrays import count_of, in_memory, is_array, number, shape_of
from .creation import array as array_of
from .creation import copy
from .emit import FunctionBuilder
from .refusals import described
from .strided import repeated
from .syntax import Unsupported
from .tuples import is_tuple
from .values import Array, Known, Number, Value, members
from .views import WHOLE, flattened_array, reshaped, view

__all__: list[str] = []

_NEW = Known(None)


def _viewed(emit: FunctionBuilder, x: Value, index: Sequence[Value]) -> Array:
    array = in_memory(emit, x)
    assert isinstance(array, Array)
    return view(emit, array, index)


def _merged(emit: FunctionBuilder, x: Value, pairs: Sequence[Sequence[Number]]) -> Array:
    """The elements of an array with each pair of axes, or more, as one."""
    return reshaped(emit, x, [emit.settled(count_of(emit, pair)) for pair in pairs])


@method_row
@function_row(np.repeat)
def repeat(
    emit: FunctionBuilder, a: Value, repeats: Value, axis: "Value | None" = None
) -> Value:  # fmt: skip
    if is_array(repeats) or is_tuple(repeats):
        raise Unsupported(described(np.repeat))
    (count,) = shape_from(emit, repeats)
    a = a if is_array(a) else array_of(emit, (a,))
    place = axis_of(axis, len(shape_of(a)))
    array = flattened_array(emit, a) if place is None else in_memory(emit, a)
    place = place or 0
    shape = list(shape_of(array))
    column = _viewed(
        emit, array, [*[WHOLE] * (place + 1), _NEW, *[WHOLE] * (len(shape) - place - 1)]
    )
    wide = [*shape[: place + 1], count, *shape[place + 1 :]]
    return _merged(
        emit, copy(emit, repeated(emit, column, wide)),
        [[n] if i != place else [n, count] for i, n in enumerate(shape)],
    )  # fmt: skip


@function_row(np.tile)
def tile(emit: FunctionBuilder, A: Value, reps: Value) -> Value:
    counts = list(shape_from(emit, members(reps) if is_tuple(reps) else reps))
    array = in_memory(emit, A if is_array(A) else array_of(emit, (A,)))
    shape = [*[number(1)] * (len(counts) - len(shape_of(array))), *shape_of(array)]
    counts = [*[number(1)] * (len(shape) - len(counts)), *counts]
    lacking = len(shape) - len(shape_of(array))
    index = [*[_NEW, _NEW] * lacking, *[x for _ in shape_of(array) for x in (_NEW, WHOLE)]]
    wide = [n for pair in zip(counts, shape, strict=True) for n in pair]
    whole = repeated(emit, _viewed(emit, array, index), wide)
    return _merged(emit, copy(emit, whole), [*zip(counts, shape, strict=True)])


@function_row(np.kron)
def kron(emit: FunctionBuilder, a: Value, b: Value) -> Value:
    ours, theirs = shape_of(a), shape_of(b)
    if len(ours) != len(theirs) or not ours:
        raise Unsupported(described(np.kron))
    left = _viewed(emit, a, [WHOLE, _NEW] * len(ours))
    right = _viewed(emit, b, [_NEW, WHOLE] * len(ours))
    product = in_memory(emit, emit.operation(operator.mul, left, right))
    return _merged(emit, product, [*zip(ours, theirs, strict=True)])
