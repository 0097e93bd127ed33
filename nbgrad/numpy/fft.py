"""`nbgrad.numpy.fft`: NumPy's functions; those that are given lists take tracked numbers."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

import numpy.fft as _plain

from .making import listed as _listed
from .modules import names as _names

if _TYPE_CHECKING:
    from numpy.fft import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]

__all__ = []
__all__ += _plain.__all__
_OWN = {
    name: _listed(getattr(_plain, name), __name__)
    for name in __all__
    if hasattr(getattr(_plain, name), "_implementation")
}
__getattr__, __dir__ = _names(globals(), _plain, _OWN)
