"""Banded matrices from their rows, and cyclic ones, of splines that repeat."""

from typing import Any

import numpy as np

from ...core.primitive import shape_of
from ...linalg import solve_banded
from ...rules.select import take_along_axis
from .points import column


def by_diagonals(first: Any, weights: Any, n: int, k: int) -> Any:
    """The matrix (n, n) whose row i holds `weights[i]`, k + 1 numbers, from the column first[i] on,
    by diagonals. Elements that are not 0 are at most k beside the main one."""
    rows = np.arange(n)
    columns = rows[:, None] + np.arange(-k, k + 1) - column(first, 2)
    held = np.minimum(np.maximum(columns, 0), k)
    seen = np.logical_and(columns >= 0, columns <= k)
    seen = np.logical_and(seen, np.abs(rows[:, None] + np.arange(-k, k + 1) - (n - 1) / 2) <= n / 2)
    by_row = np.where(seen, take_along_axis(weights, held, 1), 0.0)
    parts = []
    for d in range(k, -k - 1, -1):  # the diagonal d above the main one, by columns
        line = by_row[:, k + d]
        zeros = np.zeros(abs(d))
        parts.append(
            np.concatenate([zeros, line[: n - d]] if d > 0 else [line[-d:], zeros] if d else [line])
        )
    return np.stack(parts)


def solve_cyclic(weights: Any, upper: int, right: Any) -> Any:
    """Solve a system (n, n) whose row i holds `weights[i]`, k + 1 numbers, from the column
    i - upper on, modulo n. `right` is (n, m).

    The matrix is banded, but for the corners at the upper right and the lower left, which add one
    of rank k (Woodbury)."""
    n, k = shape_of(weights)[0], shape_of(weights)[1] - 1
    lower, m = k - upper, shape_of(right)[1]
    first = np.arange(n) - upper
    if n <= 2 * k:
        columns = (first[:, None] + np.arange(k + 1)) % n
        matrix = np.sum(weights[:, :, None] * (columns[:, :, None] == np.arange(n)), axis=1)
        return np.linalg.solve(matrix, right)
    ends = np.eye(n)[:, [*range(upper), *range(n - lower, n)]]
    bands = by_diagonals(first, weights, n, k)
    found = solve_banded((k, k), bands, np.concatenate([right, ends], axis=1))
    one = _triangle(weights[:upper])
    other = _triangle(weights[n - lower :][::-1, ::-1])[::-1, ::-1]
    along = np.concatenate([one @ found[n - upper :], other @ found[:lower]], axis=0)
    share = np.linalg.solve(np.eye(k) + along[:, m:], along[:, :m])
    return found[:, :m] - found[:, m:] @ share


def _triangle(weights: Any) -> Any:
    """The triangular matrix whose row i holds weights[i] from the main diagonal on."""
    n = shape_of(weights)[0]
    place = np.arange(n) - np.arange(n)[:, None]
    return np.where(place >= 0, take_along_axis(weights, np.maximum(place, 0), 1), 0.0)
