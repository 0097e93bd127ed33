"""Grids of coordinates, and the objects of NumPy that make arrays of slices."""

import operator
from collections.abc import Sequence

import numpy as np

from .array_table import function_row, known_of, shape_from
from .arrays import in_memory, is_array, shape_of
from .creation import arange, array, asarray, linspace
from .creation import copy as copy_of
from .elementwise import dtype_of_elements
from .emit import FunctionBuilder
from .rearranging import column_stack, concatenate, stack
from .refusals import described
from .strided import repeated
from .syntax import Unsupported
from .tuples import is_tuple
from .values import INT, KNOWN_0, KNOWN_FALSE, Array, Known, Lazy, Slice, Value
from .views import WHOLE, view

__all__: list[str] = []

_TRUE, _XY = Known(True), Known("xy")


@function_row(np.meshgrid)
def meshgrid(
    emit: FunctionBuilder, *xi: Value, copy: Value = _TRUE, sparse: Value = KNOWN_FALSE,
    indexing: Value = _XY,
) -> Value:  # fmt: skip
    order, is_sparse = known_of(indexing, "`indexing`"), known_of(sparse, "`sparse`")
    if not all(len(shape_of(x)) == 1 for x in xi) or order not in ("xy", "ij"):
        raise Unsupported("np.meshgrid of such arrays")
    return _grids(emit, xi, order == "xy", is_sparse, known_of(copy, "`copy`"))


def _grids(
    emit: FunctionBuilder, coordinates: Sequence[Value], turned: bool, sparse: bool, copied: bool
) -> tuple[Value, ...]:
    """The coordinates of a grid along each axis; of the first two in turn if `turned`."""
    rank = len(coordinates)
    axes = list(range(rank))
    if turned and rank > 1:
        axes[:2] = 1, 0
    arrays = [in_memory(emit, x) for x in coordinates]
    lengths = [shape_of(arrays[axes.index(axis)])[0] for axis in range(rank)]
    made: list[Value] = []
    for each, axis in zip(arrays, axes, strict=True):
        around = [*([Known(None)] * axis), WHOLE, *([Known(None)] * (rank - axis - 1))]
        assert isinstance(each, Array)
        column = view(emit, each, around)
        found = column if sparse else repeated(emit, column, lengths)
        made.append(copy_of(emit, found) if copied else found)
    return tuple(made)


def _coordinates(emit: FunctionBuilder, part: Value) -> Value:
    """The numbers of one slice: a step of j numbers stands for so many, the last one too."""
    if not isinstance(part, Slice) or part.stop is None:
        raise Unsupported("a grid of other indices than slices with an end")
    start = KNOWN_0 if part.start is None else part.start
    if isinstance(part.step, Known) and part.step.is_complex:
        return linspace(emit, start, part.stop, Known(int(abs(part.step.value))))
    return arange(emit, start, part.stop, part.step)


def _axes(index: Value) -> tuple[Value, ...]:
    return index if isinstance(index, tuple) else (index,)


@function_row("mgrid")
def mgrid(emit: FunctionBuilder, index: Value) -> Value:
    each = [_coordinates(emit, x) for x in _axes(index)]
    if not isinstance(index, tuple):
        return each[0]
    return stack(emit, _grids(emit, _alike(emit, each), False, False, False))


@function_row("ogrid")
def ogrid(emit: FunctionBuilder, index: Value) -> Value:
    each = [_coordinates(emit, x) for x in _axes(index)]
    if not isinstance(index, tuple):
        return each[0]
    return _grids(emit, _alike(emit, each), False, True, False)


def _alike(emit: FunctionBuilder, arrays: Sequence[Value]) -> list[Value]:
    """Arrays of one dtype."""
    dtype = np.result_type(*(dtype_of_elements(emit, x) for x in arrays))
    return [asarray(emit, x, Known(dtype)) for x in arrays]


@function_row(np.indices)
def indices(emit: FunctionBuilder, dimensions: Value, sparse: Value = KNOWN_FALSE) -> Value:
    lengths = shape_from(emit, dimensions)
    each = [Lazy((n,), INT, lambda at: emit.cast(at[0], INT), cheap=True) for n in lengths]
    if known_of(sparse, "`sparse`"):
        return _grids(emit, each, False, True, False)
    return stack(emit, _grids(emit, each, False, False, False))


@function_row(np.unravel_index)
def unravel_index(emit: FunctionBuilder, indices: Value, shape: Value) -> Value:
    """The indices of one element."""
    if is_array(indices):
        raise Unsupported(described(np.unravel_index))
    found: list[Value] = []
    for length in reversed(shape_from(emit, shape)):
        found.append(emit.operation(operator.mod, indices, length))
        indices = emit.operation(operator.floordiv, indices, length)
    return tuple(found[::-1])


def _parts(emit: FunctionBuilder, index: Value) -> list[Value]:
    """The parts of `np.r_[...]` and `np.c_[...]` as arrays."""
    found: list[Value] = []
    for each in _axes(index):
        if isinstance(each, Slice):
            each = _coordinates(emit, each)
        elif is_tuple(each):
            each = array(emit, each)
        if isinstance(each, Known) and not each.is_number:
            raise Unsupported(f"np.r_ with {each.value!r}")
        if not is_array(each):
            each = array(emit, (each,))
        found.append(each)
    return found


@function_row("r_")
def joined_rows(emit: FunctionBuilder, index: Value) -> Value:
    return concatenate(emit, tuple(_parts(emit, index)))


@function_row("c_")
def joined_columns(emit: FunctionBuilder, index: Value) -> Value:
    return column_stack(emit, tuple(_parts(emit, index)))
