"""The rows: what every op computes and how it is differentiated, one file a family of functions."""

from . import (
    assign,
    diagonals,
    einsum,
    elementwise,
    index,
    layout,
    linalg,
    loss,
    matrices,
    nondiff,
    norm,
    products,
    reduce,
    select,
    shape,
)

__all__ = [
    "assign",
    "diagonals",
    "einsum",
    "elementwise",
    "index",
    "layout",
    "linalg",
    "loss",
    "matrices",
    "nondiff",
    "norm",
    "products",
    "reduce",
    "select",
    "shape",
]
