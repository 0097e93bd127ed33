"""`scipy.interpolate` with interpolators that accept tracked points, values and arguments.

They give SciPy's values, work in all modes and in compiled programs, and are trees: an interpolator
may be an argument of a differentiated or compiled function. Other functions of `scipy.interpolate`
are SciPy's own, and take plain arrays.

>>> from nbgrad.scipy.interpolate import CubicSpline
>>> x = np.linspace(0.0, 3.0, 7)
>>> slope = nbgrad.grad(lambda y: CubicSpline(x, y)(1.25))(np.sin(x))
>>> round(float(slope.sum()), 12)  # a constant is interpolated exactly
1.0
"""

from typing import TYPE_CHECKING, Any

import scipy.interpolate as _plain

from .bsplines import BSpline
from .cubic import Akima1DInterpolator, CubicHermiteSpline, CubicSpline, PchipInterpolator
from .fitting import make_interp_spline
from .grids import RegularGridInterpolator, interpn
from .lines import interp1d
from .piecewise import PPoly

if TYPE_CHECKING:
    from scipy.interpolate import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary, reportAssignmentType]

    def __getattr__(name: str) -> Any: ...


__all__ = [
    "Akima1DInterpolator",
    "BSpline",
    "CubicHermiteSpline",
    "CubicSpline",
    "PPoly",
    "PchipInterpolator",
    "RegularGridInterpolator",
    "interp1d",
    "interpn",
    "make_interp_spline",
]
_rest = [name for name in _plain.__all__ if name not in __all__]
__all__ += _rest  # pyright: ignore[reportUnsupportedDunderAll]
globals().update({name: getattr(_plain, name) for name in _rest})
