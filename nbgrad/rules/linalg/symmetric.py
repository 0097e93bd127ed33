"""Symmetric matrices, of which NumPy reads one triangle.

The rows are functions of the symmetric part, so that gradients are symmetric. A matrix with only
one nonzero triangle is made symmetric first, so that the value is that of NumPy."""

from typing import Any

import numpy as np

from ...core.primitive import Primitive, bind, shape_of
from ...core.symbols import is_recorded
from ...kernels.shapes import lower_triangle
from .matmul import swap
from .matrices import floats


class OneTriangle(ValueError):
    """Raised for a matrix with only one nonzero triangle."""


def even(x):
    """The symmetric part."""
    return 0.5 * (x + swap(x))


def symmetric(x) -> np.ndarray:
    """The symmetric part of plain matrices. Raises OneTriangle if one of them has only one nonzero
    triangle."""
    x = floats(x)
    if x.size and not _has_corners(x) and np.any(have_one_triangle(x)):
        raise OneTriangle("a matrix of which only one triangle is filled")
    return even(x)


def have_one_triangle(x):
    """Whether only one triangle of a matrix is nonzero, by more than the step of finite
    differences, which may change one element of a diagonal matrix. By sums, which are faster than
    comparisons in compiled programs."""
    rows = shape_of(x)[-1]
    size, lower = np.abs(x), lower_triangle(rows, k=-1)
    least, below, above = (
        np.sum(part, (-2, -1), keepdims=True)
        for part in (0.01 * size, size * lower, size * lower.T)
    )
    return np.not_equal(rows * above > least, rows * below > least)


def _has_corners(x) -> bool:
    """Whether the upper right and lower left elements are nonzero."""
    if x.ndim == 2:
        return bool(x[0, -1] and x[-1, 0])
    return bool(x[..., 0, -1].all() and x[..., -1, 0].all())


def bind_symmetric(row: Primitive, a: Any, upper: bool = False) -> Any:
    """Apply a row of symmetric matrices, to the triangle that NumPy reads if only one is nonzero. A
    recorded program compares the triangles at run time."""
    if not is_recorded(a):
        try:
            return bind(row, a)
        except OneTriangle:
            pass
    a = swap(a) if upper else a
    mirrored = np.tril(a) + swap(np.tril(a, -1))
    return bind(row, np.where(have_one_triangle(a), mirrored, a))
