"""`import nbgrad.numpy as np`: NumPy's namespace, for programs whose arrays become tracked.

Most NumPy functions accept tracked values through NumPy's two protocols. This module replaces the
others: functions that create arrays, such as `zeros` and `array`, and functions of lists.
Everything else is NumPy's own object. The arrays that functions of this module create are NumPy
arrays, and tracked values can be written to them:

>>> import nbgrad
>>> import nbgrad.numpy as np
>>> def f(x):
...     y = np.zeros(3)
...     y[0] = x[1] * x[0]
...     return np.sum(np.array([y[0], x[0]]))
>>> nbgrad.grad(f)(np.array([2.0, 3.0]))
array([4., 2.])

While nothing is tracked, the functions call NumPy and return plain arrays. The page "Writing to
arrays" describes these arrays, and lists the functions that refuse tracked values.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

import numpy as _np

if _TYPE_CHECKING:
    from numpy import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]

from . import fft, lib, linalg, random
from .making import replaced as _replaced
from .modules import names as _names

_OWN = {"fft": fft, "lib": lib, "linalg": linalg, "random": random, **_replaced}
__all__ = []
__all__ += _np.__all__
__getattr__, __dir__ = _names(globals(), _np, _OWN)
