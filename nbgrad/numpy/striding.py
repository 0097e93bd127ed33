"""`np.lib.stride_tricks.as_strided` of tracked arrays."""

import math
from typing import Any

import numpy as np

from ..core.array import Array
from ..errors import ArgumentError


def as_strided(x: Any, shape: Any = None, strides: Any = None, subok: bool = False,
               writeable: bool = True) -> Any:  # fmt: skip
    """`np.lib.stride_tricks.as_strided`. Of a tracked array it gives a new array, not a view.

    Raises ValueError for strides that leave a tracked array.
    """
    if not isinstance(x, Array):
        return np.lib.stride_tricks.as_strided(x, shape, strides, subok, writeable)
    shape = x.shape if shape is None else tuple(np.atleast_1d(shape))
    strides = x.strides if strides is None else tuple(np.atleast_1d(strides))
    step = x.itemsize
    places = np.zeros(shape, int)
    for axis, (length, stride) in enumerate(zip(shape, strides, strict=True)):
        ones = (1,) * (len(shape) - axis - 1)
        places += np.reshape(np.arange(length) * (stride // step), (length, *ones))
    if places.size and not 0 <= places.min() <= places.max() < math.prod(x.shape):
        raise ArgumentError(
            f"as_strided: shape {shape} with strides {strides} goes beyond an array of shape "
            f"{x.shape}"
        )
    return np.reshape(x, -1)[places]
