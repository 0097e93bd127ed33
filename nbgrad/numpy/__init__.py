"""`import nbgrad.numpy as np`: NumPy's namespace, for programs whose arrays become tracked.

NumPy hands tracked values to nbgrad by two protocols, which reach most of its functions. The others
are replaced here: functions that make arrays, such as `zeros` and `array`, and functions that are
given lists. Everything else is NumPy's own object. The arrays that functions of this module make
are NumPy's, too, and take tracked values:

>>> import nbgrad
>>> import nbgrad.numpy as np
>>> def f(x):
...     y = np.zeros(3)
...     y[0] = x[1] * x[0]
...     return np.sum(np.array([y[0], x[0]]))
>>> nbgrad.grad(f)(np.array([2.0, 3.0]))
array([4., 2.])

While nothing is tracked, the functions call NumPy's, and give plain arrays. The page "Writing to
arrays" says what such arrays take, and which functions refuse tracked values.
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
