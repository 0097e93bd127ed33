"""Diagonals and triangles of matrices: indexing, scattering, and masks."""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ...core.array import implements
from ...core.memory import view
from ...core.primitive import bind, shape_of
from ...core.steps import ReadOnly
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
        raise ValueError(f"diagonal: the shape {shape} has fewer than the two axes of a matrix")
    whole = a
    first, second = normalize_axis_tuple((axis1, axis2), len(shape), "diagonal")
    if (first, second) != (len(shape) - 2, len(shape) - 1):
        a = np.moveaxis(a, (first, second), (-2, -1))
    *lead, rows, columns = shape_of(a)
    out = a[(*(slice(None),) * len(lead), *_on_diagonal(rows, columns, offset))]
    return view(whole, out, ReadOnly(lambda x: np.diagonal(x, offset, axis1, axis2), "np.diagonal"))


@implements(np.linalg.diagonal)
def linalg_diagonal(x, /, *, offset=0):
    """The diagonal of the last two axes."""
    return diagonal(x, offset, -2, -1)


@implements(np.trace)
def trace(a, offset=0, axis1=0, axis2=1):
    """Sum of the diagonal of the matrices along two axes."""
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1)


@implements(np.linalg.trace)
def linalg_trace(x, /, *, offset=0):
    """Sum of the diagonal of the last two axes."""
    return trace(x, offset, -2, -1)


@implements(np.diag)
def diag(v, k=0):
    """The matrix with the vector `v` on its k-th diagonal, or the k-th diagonal of a matrix."""
    shape = shape_of(v)
    if len(shape) == 2:
        return diagonal(v, k)
    if len(shape) != 1:
        raise ValueError(f"diag: input must be 1- or 2-d, not of shape {shape}")
    k = shapes.whole(k, "diag: k")
    length = shape[0] + abs(k)
    return bind(scatter, v, shape=(length, length), index=_on_diagonal(length, length, k))


@implements(np.diagflat)
def diagflat(v, k=0):
    """The matrix with the elements of `v` on its k-th diagonal."""
    return diag(np.reshape(v, -1), k)


@implements(np.tril)
def tril(m, k=0):
    """The matrices of the last two axes with zeros above the k-th diagonal."""
    return np.where(np.tri(*_matrix(m, "tril"), k=k, dtype=bool), m, _zero(m))


@implements(np.triu)
def triu(m, k=0):
    """The matrices of the last two axes with zeros below the k-th diagonal."""
    return np.where(np.tri(*_matrix(m, "triu"), k=k - 1, dtype=bool), _zero(m), m)


def _zero(m) -> Any:
    """A Python zero that does not change the dtype of m."""
    return m.dtype.type(0).item()


def _matrix(m, op: str) -> tuple[int, int]:
    shape = shape_of(m)
    if not shape:
        raise ValueError(f"{op}: the array has no axes; it needs at least one")
    rows, columns = (shape * 2)[-2:] if len(shape) == 1 else shape[-2:]
    return rows, columns
