"""Colours of the columns of a pattern, by the order that needs the fewest."""

from typing import Any

import numpy as np
import scipy.sparse

from ..kernels import coloring
from .labels import Pattern


def of_columns(pattern: Pattern) -> np.ndarray:
    """Return a colour for each column, from 0; columns of one colour share no row."""
    rows, columns = _arrays(pattern), _arrays(scipy.sparse.csc_array(pattern))
    degrees = np.diff(columns[0])
    if not degrees.any():
        return np.zeros(degrees.size, np.int64)

    def colored(order: np.ndarray) -> np.ndarray:
        colors, taken = np.full(degrees.size, -1), np.full(degrees.size + 1, -1)
        coloring.color_columns(*rows, *columns, order, colors, taken)
        return colors

    lower = int(np.diff(rows[0]).max())  # the columns of a row differ
    return _fewest(colored, degrees, lower)


def of_stars(pattern: Pattern) -> np.ndarray:
    """Return a star colouring of a symmetric pattern, which includes its diagonal."""
    rows = _arrays(pattern)
    degrees = np.diff(rows[0])

    def colored(order: np.ndarray) -> np.ndarray:
        colors, taken = np.full(degrees.size, -1), np.full(degrees.size + 1, -1)
        coloring.color_stars(*rows, order, colors, taken)
        return colors

    return _fewest(colored, degrees, 1)


def _arrays(pattern: Any) -> tuple[np.ndarray, np.ndarray]:
    return pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64)


def _fewest(colored: Any, degrees: np.ndarray, lower: int) -> np.ndarray:
    """Colour in natural order and by falling degree, until the lower bound is reached."""
    best: Any = None
    for order in (np.arange(degrees.size), np.argsort(-degrees, kind="stable")):
        colors = colored(order)
        if best is None or colors.max() < best.max():
            best = colors
        if best.max() + 1 <= lower:
            break
    return best
