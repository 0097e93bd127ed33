"""Symmetric matrices, of which NumPy reads one triangle.

Rows of symmetric matrices are functions of the symmetric part, so that their gradients are
symmetric. A matrix of which one triangle was filled, and the other one left at zero, is made
symmetric first, so that the value is NumPy's.
"""

from typing import Any

import numpy as np

from ...core.primitive import Primitive, bind, shape_of
from ...core.symbols import is_recorded
from .matmul import swap
from .matrices import floats


class OneTriangle(ValueError):
    """A matrix of which only one triangle is filled."""


def even(x):
    """The symmetric part."""
    return 0.5 * (x + swap(x))


def symmetric(x) -> np.ndarray:
    """The symmetric part of plain matrices. Raises OneTriangle where only one triangle of one is
    filled."""
    x = floats(x)
    if x.size and not _has_corners(x) and np.any(_have_one_triangle(x)):
        raise OneTriangle("a matrix of which only one triangle is filled")
    return even(x)


def _have_one_triangle(x):
    """Whether only one triangle of a matrix is filled: with numbers beyond the steps of
    differences, which move one element of a diagonal matrix. Sums, as compiled programs add in less
    time than they compare."""
    rows = shape_of(x)[-1]
    size, lower = np.abs(x), np.tri(rows, k=-1)
    least, below, above = (
        np.sum(part, (-2, -1), keepdims=True)
        for part in (0.01 / rows * size, size * lower, size * lower.T)
    )
    return np.not_equal(above > least, below > least)


def _has_corners(x) -> bool:
    """Whether the last element of the first row and the first one of the last row are not 0."""
    if x.ndim == 2:
        return bool(x[0, -1] and x[-1, 0])
    return bool(x[..., 0, -1].all() and x[..., -1, 0].all())


def bind_symmetric(row: Primitive, a: Any, upper: bool = False) -> Any:
    """A row of symmetric matrices, of the triangle that NumPy reads where only one is filled: a
    program compares the triangles when it runs."""
    if not is_recorded(a):
        try:
            return bind(row, a)
        except OneTriangle:
            pass
    a = swap(a) if upper else a
    mirrored = np.tril(a) + swap(np.tril(a, -1))
    return bind(row, np.where(_have_one_triangle(a), mirrored, a))
