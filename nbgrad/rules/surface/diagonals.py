"""Diagonals and triangles of matrices: indexing, scattering, and masks."""

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ...core.array import implements
from ...core.memory import view
from ...core.primitive import bind, shape_of
from ...core.steps import ReadOnly
from ...errors import ArgumentError
from ...kernels import shapes
from ..index import scatter


def _on_diagonal(rows: int, columns: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The row and column indices of the k-th diagonal."""
    length = max(min(rows, columns - k) if k >= 0 else min(rows + k, columns), 0)
    places = np.arange(length)
    return places + max(-k, 0), places + max(k, 0)


@implements(np.diagonal)
def diagonal(a, offset=0, axis1=0, axis2=1):
    """The diagonal of the matrices along two axes, as the last axis of the result."""
    shape = shape_of(a)
    if len(shape) < 2:
        raise ArgumentError(f"diagonal: the shape {shape} has fewer than the two axes of a matrix")
    whole = a
    first, second = normalize_axis_tuple((axis1, axis2), len(shape), "diagonal")
    if (first, second) != (len(shape) - 2, len(shape) - 1):
        a = np.moveaxis(a, (first, second), (-2, -1))
    *lead, rows, columns = shape_of(a)
    out = a[(*(slice(None),) * len(lead), *_on_diagonal(rows, columns, offset))]
    return view(whole, out, ReadOnly(lambda x: np.diagonal(x, offset, axis1, axis2), "np.diagonal"))


@implements(np.trace)
def trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    """Sum of the diagonal of the matrices along two axes."""
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


@implements(np.diag)
def diag(v, k=0):
    """The matrix with the vector `v` on its k-th diagonal, or the k-th diagonal of a matrix."""
    shape = shape_of(v)
    if len(shape) == 2:
        return diagonal(v, k)
    if len(shape) != 1:
        raise ArgumentError(f"diag: input must be 1- or 2-d, not of shape {shape}")
    k = shapes.whole(k, "diag: k")
    length = shape[0] + abs(k)
    return bind(scatter, v, shape=(length, length), index=_on_diagonal(length, length, k))


@implements(np.diagflat)
def diagflat(v, k=0):
    """The matrix with the elements of `v` on its k-th diagonal."""
    return diag(np.reshape(v, -1), k)
