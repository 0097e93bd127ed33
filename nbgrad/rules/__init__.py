"""The rows: what every op computes and how it is differentiated, one file a family of functions."""

from . import assign, elementwise, index, layout, linalg, loss, nondiff, norm, reduce

__all__ = [
    "assign",
    "elementwise",
    "index",
    "layout",
    "linalg",
    "loss",
    "nondiff",
    "norm",
    "reduce",
]
