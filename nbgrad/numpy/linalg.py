"""`nbgrad.numpy.linalg`: NumPy's namespace; functions that are given lists take tracked numbers."""

import numpy.linalg as _plain

from .making import listed as _listed

__all__ = list(_plain.__all__)
globals().update({name: _listed(getattr(_plain, name)) for name in __all__})
