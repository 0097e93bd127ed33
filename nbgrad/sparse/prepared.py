"""`Prepared`: a function for arguments of one structure, with its pattern and colours."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from ..core.array import Array
from ..errors import DimensionMismatch
from ..static.arguments import Arguments
from ..static.reads.guard import Guard
from ..static.trace.record import trace
from . import colors, labels
from .arrays import csr_array
from .dependence import Evidence, dependence
from .labels import Pattern


class Recorded:
    """The pattern of a function of a vector and further arguments. It holds for all values of the
    arguments, while what the function reads besides them is unchanged."""

    def __init__(self, f: Callable, name: str, args: Sequence):
        given = Arguments(args, {}, set())
        program = trace(f, name, given.avals, given.weak, given.fill)
        self._guard = Guard(program, [f, *given.fixed])
        self._evidence = Evidence()
        (output,) = program.outputs
        (found,) = dependence(program, self._evidence)
        shape = (output.size if hasattr(output, "size") else 1, given.avals[0].size)
        empty = scipy.sparse.csr_array(shape, dtype=bool)
        self.pattern: Pattern = empty if found is None else _sorted(found)

    def is_current(self) -> bool:
        """Whether recording the function anew would give this pattern."""
        return self._guard.is_current() and self._evidence.is_same()


class Compression:
    """The colours for a pattern, and the places of its entries among the products.

    Product c is that of the matrix with the sum of the columns of colour c, or of its transpose
    with that of the rows. Entry k of the pattern is element `places[k]` of the stacked products.
    """

    def __init__(self, pattern: Pattern, symmetric: bool = False):
        self.pattern = pattern
        m, n = pattern.shape
        rows, columns = np.repeat(np.arange(m), np.diff(pattern.indptr)), pattern.indices
        self.by_rows = False
        if symmetric:
            self.colors = colors.of_stars(pattern + labels.identity(n))
            self.places = _symmetric(rows, columns, self.colors)
            return
        self.colors = colors.of_columns(pattern)
        if np.diff(pattern.indptr).max(initial=0) > np.diff(pattern.tocsc().indptr).max(initial=0):
            by_rows = colors.of_columns(scipy.sparse.csr_array(pattern.T))
            if by_rows.max(initial=0) < self.colors.max(initial=0):
                self.by_rows, self.colors = True, by_rows
                self.places = by_rows[rows] * n + columns
                return
        self.places = self.colors[columns] * m + rows

    @property
    def count(self) -> int:
        """The number of products."""
        return int(self.colors.max(initial=-1)) + 1

    def matrix(self, data: Any) -> Any:
        """The sparse matrix with these entries: one of SciPy, or of ours if they are tracked."""
        pattern = self.pattern
        if isinstance(data, Array):
            return csr_array((data, pattern.indices, pattern.indptr), pattern.shape)
        built = scipy.sparse.csr_array((data, pattern.indices, pattern.indptr), pattern.shape)
        built.has_canonical_format = True
        return built


def _symmetric(rows: np.ndarray, columns: np.ndarray, colors: np.ndarray) -> np.ndarray:
    """Places of the entries of a symmetric matrix. Entry i, j is element i of the product of the
    colour of j, unless row i has another entry of this colour; then it is element j of the product
    of the colour of i."""
    n, count = len(colors), int(colors.max(initial=-1)) + 1
    keys = rows.astype(np.int64) * count + colors[columns]
    _, inverse, times = np.unique(keys, return_inverse=True, return_counts=True)
    alone = times[inverse] == 1
    return np.where(alone, colors[columns] * n + rows, colors[rows] * n + columns)


def _sorted(pattern: Any) -> Pattern:
    pattern = scipy.sparse.csr_array(pattern)
    pattern.sum_duplicates()
    return pattern


def given_pattern(pattern: Any, shape: tuple[int, int], op: str) -> Pattern:
    """A pattern of the user as a canonical array of bools. Raises DimensionMismatch."""
    found = scipy.sparse.csr_array(pattern)
    if found.shape != shape:
        raise DimensionMismatch(
            f"{op}: pattern of shape {found.shape} for a matrix of shape {shape}: it has a row for "
            "each element of the result and a column for each element of the argument"
        )
    found = _sorted(found.astype(bool))
    found.eliminate_zeros()
    return found
