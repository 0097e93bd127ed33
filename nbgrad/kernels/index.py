"""Gather and scatter-add along the first axis."""

import numpy as np

from ._jit import kernel


@kernel
def gather(x, rows, out, width):
    """out[i, :] = x[rows[i], :]."""
    for i in range(rows.size):
        source = rows[i] * width
        for j in range(width):
            out[i * width + j] = x[source + j]


@kernel
def scatter_add(buffer, rows, ct, width):
    """buffer[rows[i], :] += ct[i, :]; equal rows add up."""
    for i in range(rows.size):
        target = rows[i] * width
        for j in range(width):
            buffer[target + j] += ct[i * width + j]


def positions(index, shape: tuple[int, ...]) -> tuple[np.ndarray, int, tuple[int, ...]]:
    """An advanced index as flat row numbers, the width of a row, and the result's shape.

    Arrays of integers on the leading axes give rows directly; any other mixture is resolved by
    indexing the numbers of all elements. Raises NumPy's IndexError.
    """
    parts = index if isinstance(index, tuple) else (index,)
    arrays = [np.asarray(part) for part in parts]
    if len(parts) <= len(shape) and all(
        isinstance(part, (np.ndarray, list, int, np.integer)) and array.dtype.kind in "iu"
        for part, array in zip(parts, arrays, strict=True)
    ):
        lead, rest = shape[: len(parts)], shape[len(parts) :]
        common = np.broadcast_arrays(*arrays)
        for axis, (part, length) in enumerate(zip(common, lead, strict=True)):
            if part.size and (part.min() < -length or part.max() >= length):
                wrong = part[(part < -length) | (part >= length)].flat[0]
                raise IndexError(
                    f"index {wrong} is out of bounds for axis {axis} with size {length}"
                )
        wrapped = tuple(
            np.where(part < 0, part + length, part)
            for part, length in zip(common, lead, strict=True)
        )
        rows = np.ravel_multi_index(wrapped, lead) if wrapped[0].size else wrapped[0]
        width = int(np.prod(rest, dtype=np.intp))
        return rows.astype(np.intp).ravel(), width, common[0].shape + rest
    numbers = np.arange(int(np.prod(shape, dtype=np.intp)), dtype=np.intp).reshape(shape)[index]
    return numbers.ravel(), 1, numbers.shape
