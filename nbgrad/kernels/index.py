"""Gather and scatter-add along the first axis."""

import math

import numpy as np

from ._jit import kernel


@kernel
def gather(x, rows, out, length, width):
    """out[i, :] = x[rows[i], :], counting negative rows from the end.

    Returns the position of the first row out of bounds, or -1.
    """
    for i in range(rows.size):
        row = rows[i] + length if rows[i] < 0 else rows[i]
        if row < 0 or row >= length:
            return i
        for j in range(width):
            out[i * width + j] = x[row * width + j]
    return -1


@kernel
def scatter_add(buffer, rows, ct, length, width):
    """buffer[rows[i], :] += ct[i, :], for rows that `gather` has accepted; equal ones add up."""
    for i in range(rows.size):
        row = rows[i] + length if rows[i] < 0 else rows[i]
        for j in range(width):
            buffer[row * width + j] += ct[i * width + j]


@kernel
def combine(rows, part, length):
    """rows = rows * length + part: one more leading index. Returns as `gather` does."""
    for i in range(rows.size):
        row = part[i] + length if part[i] < 0 else part[i]
        if row < 0 or row >= length:
            return i
        rows[i] = rows[i] * length + row
    return -1


def positions(index, shape: tuple[int, ...]) -> tuple[np.ndarray, int, int, tuple[int, ...]]:
    """An advanced index as row numbers, how many rows there are, their width, the result's shape.

    Arrays of integers on the leading axes give rows directly; any other mixture is resolved by
    indexing the numbers of all elements. Raises NumPy's IndexError.
    """
    parts = index if isinstance(index, tuple) else (index,)
    if len(parts) > len(shape) or not all(_is_integers(part) for part in parts):
        numbers = np.arange(math.prod(shape), dtype=np.intp).reshape(shape)[index]
        return np.array(numbers).ravel(), math.prod(shape), 1, numbers.shape
    arrays = [np.asarray(part, np.intp) for part in parts]
    if any(array.shape != arrays[0].shape for array in arrays):
        arrays = [np.array(array) for array in np.broadcast_arrays(*arrays)]
    common, rest = arrays[0].shape, shape[len(parts) :]
    flat = [array if array.flags.carray else np.array(array) for array in arrays]
    if len(parts) == 1:
        return flat[0].ravel(), shape[0], math.prod(rest), common + rest
    rows = np.zeros(math.prod(common), np.intp)
    for axis, (part, length) in enumerate(zip(flat, shape, strict=False)):
        bad = combine(rows, part.ravel(), length)
        if bad >= 0:
            raise out_of_bounds(part.flat[bad], axis, length)
    return rows, math.prod(shape[: len(parts)]), math.prod(rest), common + rest


def out_of_bounds(index, axis: int, length: int) -> IndexError:
    return IndexError(f"index {index} is out of bounds for axis {axis} with size {length}")


def _is_integers(part) -> bool:
    if isinstance(part, np.ndarray):
        return part.dtype.kind in "iu"
    return isinstance(part, (int, np.integer)) and not isinstance(part, bool)
