"""`nbgrad.numpy.fft`: NumPy's functions, which refuse tracked arrays by name."""

from numpy.fft import *  # noqa: F403
from numpy.fft import __all__ as __all__
