"""Scatter-add: the transpose of indexing with arrays."""

import math

import numpy as np

from ..compiler.kernel import kernel
from ..errors import ArgumentError, IndexOutOfBounds
from ..runtime.kinds import is_a
from .scalar.bits import offset


@kernel
def scatter_add(buffer, rows, ct, outer, length, width):
    """buffer[o, rows[i], :] += ct[o, i, :] for every o; equal rows add up, and those below 0 count
    from the end. The number of rows within; where it is not all of them, nothing was added."""
    for i in range(rows.size):
        if rows[i] < -length or rows[i] >= length:
            return i
    for o in range(outer):
        if width == 1:  # in a third of the time
            for i in range(rows.size):
                row = rows[i] + length if rows[i] < 0 else rows[i]
                buffer[offset(o * length + row)] += ct[offset(o * rows.size + i)]
            continue
        for i in range(rows.size):
            row = rows[i] + length if rows[i] < 0 else rows[i]
            to, start = (o * length + row) * width, (o * rows.size + i) * width
            for j in range(width):
                buffer[offset(to + j)] += ct[offset(start + j)]
    return rows.size


def add_at(buffer: np.ndarray, index, ct: np.ndarray) -> None:
    """buffer[index] += ct for an advanced index, where equal positions add up; `buffer` is
    contiguous, as nothing of what is added into a copy would be seen. Raises NumPy's IndexError."""
    if not buffer.flags.c_contiguous:
        raise ArgumentError(f"add_at: a buffer of strides {buffer.strides} is not contiguous")
    rows, outer, length, width = positions(index, buffer.shape)
    within = scatter_add(buffer.ravel(), rows, ct.ravel(), outer, length, width)
    if within < rows.size:
        raise IndexOutOfBounds(
            f"index {rows[within]} is out of bounds for an axis of size {length}"
        )


def positions(index, shape: tuple[int, ...]) -> tuple[np.ndarray, int, int, int]:
    """An advanced index as row numbers, in the view (outer, length, width) of an array; those below
    0 count from the end.

    Arrays of integers behind whole axes give rows directly; any other mixture is resolved by
    indexing the numbers of all elements. Raises NumPy's IndexError.
    """
    if type(index) is np.ndarray and index.dtype == np.intp:
        return index.ravel(), 1, shape[0], math.prod(shape[1:])
    parts = index if isinstance(index, tuple) else (index,)
    whole = 0
    while whole < len(parts) and _is_whole(parts[whole]):
        whole += 1
    arrays, behind = parts[whole:], shape[len(parts) :]
    if len(parts) > len(shape) or not arrays or not all(map(_is_integers, arrays)):
        numbers = np.arange(math.prod(shape), dtype=np.intp).reshape(shape)[index]
        return np.array(numbers).ravel(), 1, math.prod(shape), 1
    lengths = shape[whole : len(parts)]
    rows = _within(arrays[0], whole, lengths[0])
    for axis, (part, length) in enumerate(zip(arrays[1:], lengths[1:], strict=True), whole + 1):
        rows = rows * length + _within(part, axis, length)
    outer, width = math.prod(shape[:whole]), math.prod(behind)
    return np.ravel(rows), outer, math.prod(lengths), width


def _within(part, axis: int, length: int) -> np.ndarray:
    """Row numbers from 0, of which negative ones counted from the end."""
    part = np.asarray(part, np.intp)
    if part.size:
        low, high = part.min(), part.max()
        if low < -length or high >= length:
            bad = high if high >= length else low
            raise IndexOutOfBounds(
                f"index {bad} is out of bounds for axis {axis} with size {length}"
            )
        if low < 0:
            part = np.where(part < 0, part + length, part)
    return part


def _is_whole(part) -> bool:
    return isinstance(part, slice) and part == slice(None)


def _is_integers(part) -> bool:
    if is_a(part, np.ndarray):
        return part.dtype.kind in "iu"
    return is_a(part, (int, np.integer)) and not isinstance(part, bool)
