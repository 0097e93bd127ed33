"""Patterns of local Jacobians as labels: rows of a pattern are taken, or joined, by number.

A pattern is a `scipy.sparse.csr_array` of bools: row i holds the elements of the input on which
element i of a value depends, in C order. Zeros and sums of bools are "not" and "or".
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse

from ..errors import ArgumentError
from ..rules.patterns import numbers as numbers

Pattern: TypeAlias = Any  # scipy.sparse.csr_array, whose annotations lack most operators
Shape: TypeAlias = tuple[int, ...]

# A pattern of more entries takes gigabytes, and has no use.
_MOST = 1 << 29


def identity(size: int) -> Pattern:
    """The pattern of the input itself."""
    return scipy.sparse.eye_array(size, dtype=bool, format="csr")


def matrix(rows: np.ndarray, columns: np.ndarray, shape: Shape) -> Pattern:
    """A pattern with entries at these positions."""
    entries = np.ones(len(rows), bool), (rows, columns)
    return scipy.sparse.csr_array(scipy.sparse.coo_array(entries, shape=shape))


def taken(pattern: Pattern, rows: np.ndarray) -> Pattern:
    """The rows with these numbers; none for a number below 0."""
    rows = np.ravel(rows)
    if len(rows) == pattern.shape[0] and np.array_equal(rows, np.arange(len(rows))):
        return pattern
    counts = np.diff(pattern.indptr)
    require_room(int(counts[np.maximum(rows, 0)].sum()) if len(counts) else 0)
    if (rows >= 0).all():
        return pattern[rows]
    at = np.flatnonzero(rows >= 0)
    return matrix(at, rows[at], (len(rows), pattern.shape[0])) @ pattern


def joined(pattern: Pattern, labels: np.ndarray, count: int) -> Pattern:
    """The unions of the rows with equal labels, of which there are `count`."""
    labels = np.ravel(labels)
    return matrix(labels, np.arange(len(labels)), (count, len(labels))) @ pattern


def united(patterns: Sequence[Pattern | None]) -> Pattern | None:
    """The union of patterns of equal shapes, None if there are none."""
    known: list[Pattern] = []
    for pattern in patterns:
        if pattern is not None and not any(pattern is other for other in known):
            known.append(pattern)
    return sum(known[1:], known[0]) if known else None


def all_of(pattern: Pattern, size: int) -> Pattern:
    """The pattern of `size` elements, each of which depends on all rows."""
    whole = joined(pattern, np.zeros(pattern.shape[0], int), 1)
    return taken(whole, np.zeros(size, int))


def same(x: Pattern | None, y: Pattern | None) -> bool:
    """Whether two patterns have the same entries."""
    if x is None or y is None:
        return x is y
    return x is y or (x.nnz == y.nnz and (x != y).nnz == 0)


def require_room(entries: int) -> None:
    """Raise ArgumentError for a pattern of too many entries."""
    if entries > _MOST:
        raise ArgumentError(
            f"sparse_jacobian: a value depends on so much of the argument that its pattern has "
            f"{entries} entries: the Jacobian is not sparse; use nbgrad.jacobian, or products by "
            "jvp and vjp, or pass pattern= if you know that most of it is 0"
        )
