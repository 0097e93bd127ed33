"""`nbgrad.numpy.lib`: NumPy's namespace, whose `stride_tricks.as_strided` takes tracked arrays."""

import sys as _sys
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

import numpy.lib as _plain

from .modules import names as _names
from .striding import as_strided as _as_strided

if _TYPE_CHECKING:
    from numpy.lib import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]

_strides: _Any = _ModuleType(f"{__name__}.stride_tricks", _plain.stride_tricks.__doc__)
_getattr, _dir = _names(vars(_strides), _plain.stride_tricks, {"as_strided": _as_strided})
_strides.__getattr__, _strides.__dir__ = _getattr, _dir
_sys.modules[_strides.__name__] = _strides
__path__: list[str] = []  # its other modules are NumPy's
__all__ = []
__all__ += _plain.__all__
__getattr__, __dir__ = _names(globals(), _plain, {"stride_tricks": _strides})
