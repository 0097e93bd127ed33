"""Colours of the columns of a pattern, by the order that needs the fewest."""

from typing import Any

import numpy as np
import scipy.sparse

from ..kernels import coloring
from .labels import Pattern

_ROUNDS = 12


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
    """Colour in natural order and by falling degree, and then again class by class, until no round
    needs fewer colours, or as few as the lower bound.

    In an order that keeps the classes of a colouring together, greedy colouring needs no more
    colours than that one (Culberson, Iterated greedy graph coloring, 1992).
    """
    tries = [colored(np.arange(degrees.size)), colored(np.argsort(-degrees, kind="stable"))]
    best = min(tries, key=np.max)
    rng = np.random.default_rng(0)
    colors = best
    for k in range(_ROUNDS):
        if best.max() + 1 <= lower:
            break
        sizes = np.bincount(colors)
        ranks = (-np.arange(sizes.size), -sizes, rng.permutation(sizes.size))[k % 3]
        colors = colored(np.argsort(ranks[colors], kind="stable"))
        best = min(best, colors, key=np.max)
    return best
