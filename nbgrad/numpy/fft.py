"""`nbgrad.numpy.fft`: NumPy's functions, which refuse tracked arrays by name."""

import numpy.fft as _plain

from .modules import names as _names

__all__ = list(_plain.__all__)
__getattr__, __dir__ = _names(globals(), _plain, {})
