"""`nbgrad.numpy.lib`: NumPy's namespace, whose `stride_tricks.as_strided` takes tracked arrays."""

import sys as _sys
from types import ModuleType as _ModuleType
from typing import Any as _Any

import numpy.lib as _plain

from .modules import names as _names
from .striding import as_strided as _as_strided

stride_tricks: _Any = _ModuleType(f"{__name__}.stride_tricks", _plain.stride_tricks.__doc__)
_getattr, _dir = _names(vars(stride_tricks), _plain.stride_tricks, {"as_strided": _as_strided})
stride_tricks.__getattr__, stride_tricks.__dir__ = _getattr, _dir
_sys.modules[stride_tricks.__name__] = stride_tricks
__path__: list[str] = []  # its other modules are NumPy's
__all__ = list(_plain.__all__)
__getattr__, __dir__ = _names(globals(), _plain, {"stride_tricks": stride_tricks})
