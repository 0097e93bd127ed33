"""`scipy.ndimage` with filters and `map_coordinates` that accept tracked images.

They give SciPy's values and work in all modes and in compiled programs; calls with plain arrays,
and all other functions, are SciPy's own.

>>> from nbgrad.scipy.ndimage import gaussian_filter
>>> nbgrad.grad(lambda x: gaussian_filter(x, 1.0)[2])(np.zeros(5)).round(4)
array([0.0584, 0.2421, 0.3989, 0.2421, 0.0584])
"""

from typing import TYPE_CHECKING, Any

import scipy.ndimage as _plain

from .coordinates import map_coordinates
from .filters import (
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    gaussian_filter,
    uniform_filter,
)

if TYPE_CHECKING:
    from scipy.ndimage import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary, reportAssignmentType]

    def __getattr__(name: str) -> Any: ...


__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "map_coordinates",
    "uniform_filter",
]
_rest = [name for name in _plain.__all__ if name not in __all__]
__all__ += _rest  # pyright: ignore[reportUnsupportedDunderAll]
globals().update({name: getattr(_plain, name) for name in _rest})
