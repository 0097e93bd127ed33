"""Undoing broadcasting: the sum over the axes that it made or stretched."""

import numpy as np

from ..errors import DimensionMismatch
from . import reduce
from .shapes import lost_axes


def unbroadcast(ct: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """`ct`, of a shape that `shape` broadcasts to, summed back to `shape`.

    Raises DimensionMismatch where it does not.
    """
    try:
        fits = np.broadcast_shapes(shape, ct.shape) == ct.shape
    except ValueError:
        fits = False
    if not fits:
        raise DimensionMismatch(
            f"unbroadcast: an array of shape {shape} cannot have a cotangent of shape {ct.shape}; "
            "the pullback must give the shape of its argument, or one that it broadcasts to"
        )
    axes = lost_axes(shape, ct.shape)
    return reduce.total(ct, axes).reshape(shape) if axes else ct.reshape(shape)
