"""The order in which the columns of a sparse matrix are eliminated, and the room that its factors
need for any choice of pivots."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..compiler.kernel import kernel

__all__ = ["Elimination", "bound", "elimination"]

# Patterns for which the order is kept.
_KEPT = 16
# Dense columns: the part of their elements that is not 0, and the least number of them.
_DENSE, _LEAST = 0.8, 16


class Elimination(NamedTuple):
    """A pattern by compressed columns, two orders of the columns, one after the other, and an upper
    bound of the elements of L and of U: by the first order with pivots on the diagonal, by the
    second with any pivots. The first order is for symmetric patterns. `tails` are the numbers of
    last columns that are factored as a dense matrix."""

    indices: np.ndarray
    indptr: np.ndarray
    orders: np.ndarray
    room: int
    is_symmetric: bool
    tails: tuple[int, int]


def elimination(indices: np.ndarray, indptr: np.ndarray) -> Elimination:
    """The elimination of square matrices with this pattern. Raises ValueError for positions outside
    of the matrix."""
    return _kept(*(np.asarray(x, np.int64).tobytes() for x in (indices, indptr)))


@lru_cache(_KEPT)
def _kept(indices: bytes, indptr: bytes) -> Elimination:
    """The orders are SuperLU's: minimum degree for symmetric patterns, whose pivots are on the
    diagonal as a rule, and approximate minimum degree of columns."""
    from scipy.sparse import csc_array

    positions, starts = (np.frombuffer(x, np.int64) for x in (indices, indptr))
    n = len(starts) - 1
    values = np.random.default_rng(0).uniform(0.5, 1.0, len(positions))
    matrix: Any = csc_array((values, positions, starts), shape=(n, n), copy=True)
    matrix.check_format()
    matrix.sum_duplicates()
    second, counts = _order(matrix, permc_spec="COLAMD")
    first, room = second, bound(positions, starts, second)
    tails = [_tail(counts)] * 2
    is_symmetric = matrix.diagonal().all() and not ((matrix != 0) != (matrix.T != 0)).nnz
    if is_symmetric:
        matrix = -matrix
        matrix.setdiag(1.0 - matrix.sum(0))
        first, counts = _order(
            matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )  # fmt: skip
        room, tails[0] = max(room, int(counts.sum())), _tail(counts)
    orders, room = np.concatenate([first, second]), room + n + max(tails) ** 2
    return Elimination(positions, starts, orders, room, bool(is_symmetric), (tails[0], tails[1]))


def _order(matrix: Any, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """The order in which SuperLU eliminates the columns, and the numbers of elements of those of L.
    Parts of the matrix that nothing connects, such as those of samples, follow one another."""
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import splu

    try:
        factors = splu(matrix, **options)
    except RuntimeError:  # all matrices with this pattern are singular
        return np.arange(matrix.shape[0]), np.zeros(matrix.shape[0], int)
    order, counts = np.argsort(factors.perm_c), np.diff(factors.L.indptr)
    parts = connected_components(matrix, directed=False)[1]
    by_parts = np.argsort(parts[order], kind="stable")
    return order[by_parts], counts[by_parts]


def _tail(counts: np.ndarray) -> int:
    """So many of the last columns of L are nearly full."""
    sizes = np.arange(1, len(counts) + 1)
    full = np.flatnonzero(np.cumsum(counts[::-1]) >= _DENSE * sizes * (sizes + 1) / 2)
    tail = int(sizes[full[-1]]) if full.size else 0
    return tail if tail >= _LEAST else 0


def bound(indices: np.ndarray, indptr: np.ndarray, order: np.ndarray) -> int:
    """Of the elements of L beside the pivots, and of those of U, for any pivots."""
    total, work = np.zeros(1, np.int64), np.full((3, len(order)), -1)
    count_fill(indices, indptr, order, *work, total)
    return int(total[0])


@kernel
def count_fill(indices, indptr, order, parents, ahead, rows, total):
    """Count the elements above the diagonal of the Cholesky factor of A.T @ A, which bounds those
    of L and of U for any pivots of a regular matrix (George and Ng, An implementation of Gaussian
    elimination with partial pivoting for sparse systems, SIAM J. Sci. Stat. Comput. 6 (1985)).

    `parents`, `ahead` and `rows` are filled with -1 before. First the elimination tree is made, by
    columns before each in the rows (Liu, The role of elimination trees in sparse factorization,
    SIAM J. Matrix Anal. Appl. 11 (1990)). Column j has the elements that lie in it on the ways to j
    from the first columns of its rows.
    """
    for j in range(order.size):
        for p in range(indptr[order[j]], indptr[order[j] + 1]):
            k = rows[indices[p]]
            while k >= 0 and k < j:
                above = ahead[k]
                ahead[k] = j
                if above < 0:
                    parents[k] = j
                k = above
            rows[indices[p]] = j
    for j in range(order.size):
        ahead[j] = -1
        rows[j] = -1
    for j in range(order.size):
        ahead[j] = j
        for p in range(indptr[order[j]], indptr[order[j] + 1]):
            k = rows[indices[p]]
            if k < 0:
                rows[indices[p]] = j
                k = j
            while ahead[k] != j:
                ahead[k] = j
                total[0] += 1
                k = parents[k]
    return 0
