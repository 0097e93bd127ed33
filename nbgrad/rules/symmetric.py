"""Symmetric matrices, of which NumPy reads one triangle.

Rows of symmetric matrices are functions of the symmetric part, so that their gradients are
symmetric. A matrix of which one triangle was filled, and the other one left at zero, is made
symmetric first, so that the value is NumPy's.
"""

from typing import Any

import numpy as np

from ..core.primitive import Primitive, bind
from .linalg import swap
from .matrices import floats


class OneTriangle(ValueError):
    """A matrix of which only one triangle is filled."""


def even(x):
    """The symmetric part."""
    return 0.5 * (x + swap(x))


def symmetric(x) -> np.ndarray:
    """The symmetric part of plain matrices. Raises OneTriangle where only one triangle is filled:
    with numbers beyond the steps of differences, which move one element of a diagonal matrix."""
    x = floats(x)
    if x.size and not _has_corners(x):
        least = 0.01 * np.max(np.abs(x), initial=0.0)
        above, below = (np.any(np.abs(part) > least) for part in (np.triu(x, 1), np.tril(x, -1)))
        if above != below:
            raise OneTriangle("a matrix of which only one triangle is filled")
    return even(x)


def _has_corners(x) -> bool:
    """Whether the last element of the first row and the first one of the last row are not 0."""
    if x.ndim == 2:
        return bool(x[0, -1] and x[-1, 0])
    return bool(x[..., 0, -1].all() and x[..., -1, 0].all())


def bind_symmetric(row: Primitive, a: Any, upper: bool = False) -> Any:
    """A row of symmetric matrices, of the triangle that NumPy reads where only one is filled."""
    try:
        return bind(row, a)
    except OneTriangle:
        a = swap(a) if upper else a
        return bind(row, np.tril(a) + swap(np.tril(a, -1)))
