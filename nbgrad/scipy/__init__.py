"""SciPy's solvers with exact derivatives and nested parameters; SciPy's modules under their names.

This module, and SciPy, are imported at the first use of `nbgrad.scipy`.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from ..errors import MissingAttribute
from ..transforms.flat import ravel
from .functions import Objective
from .scalars import brentq, fixed_point, newton, root_scalar
from .solvers import least_squares, minimize, objective, root

if TYPE_CHECKING:
    from . import fft as fft
    from . import integrate as integrate
    from . import interpolate as interpolate
    from . import linalg as linalg
    from . import misc as misc
    from . import ndimage as ndimage
    from . import signal as signal
    from . import sparse as sparse
    from . import spatial as spatial
    from . import special as special
    from . import stats as stats

__all__ = [
    "Objective",
    "brentq",
    "fixed_point",
    "least_squares",
    "minimize",
    "newton",
    "objective",
    "ravel",
    "root",
    "root_scalar",
]

_MODULES = (
    "fft", "integrate", "interpolate", "linalg", "misc", "ndimage", "signal", "sparse", "spatial",
    "special", "stats",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a counterpart of one of SciPy's modules on first use."""
    if name in _MODULES:
        return _import_module(f".{name}", __name__)
    raise MissingAttribute(f"module {__name__!r} has no attribute {name!r}")
