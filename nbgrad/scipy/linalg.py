"""`scipy.linalg`, for programs that use `autograd.scipy.linalg`.

Functions that `nbgrad.linalg` or NumPy have accept tracked arrays. NumPy's functions are then
called instead of SciPy's, without the options for LAPACK.

>>> from nbgrad.scipy.linalg import cholesky
>>> float(nbgrad.grad(lambda x: cholesky(x * np.eye(2), lower=True)[0, 0])(4.0))
0.25
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg as _plain

from .. import linalg as _own
from ..core.primitive import shape_of as _shape_of
from ..rules.linalg.options import HINTS as _HINTS
from .names import joined as _joined
from .names import tracked_by as _tracked_by

if TYPE_CHECKING:
    from scipy.linalg import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]

    from ..linalg import *  # noqa: F403

    lstsq: Any  # checkers infer too short tuples for these from SciPy's untyped source
    lu: Any
    qr: Any

    def __getattr__(name: str) -> Any: ...


def _cholesky(a: Any, lower: bool = False) -> Any:
    return np.linalg.cholesky(a, upper=not lower)


def _of_symmetric(function: Callable) -> Callable:
    return lambda a, lower=True: function(a, "L" if lower else "U")


def _qr(a: Any, *, mode: str = "full") -> Any:
    rows, columns = _shape_of(a)[-2:]
    if mode == "r":
        return (np.linalg.qr(a, "r"),)
    return np.linalg.qr(a, "complete" if mode == "full" and rows > columns else "reduced")


_linalg = np.linalg
_NUMPYS = {
    "cholesky": _cholesky, "det": _linalg.det, "eigh": _of_symmetric(_linalg.eigh),
    "eigvalsh": _of_symmetric(_linalg.eigvalsh), "inv": _linalg.inv, "lstsq": _linalg.lstsq,
    "norm": _linalg.norm, "pinv": _linalg.pinv, "qr": _qr, "solve": _linalg.solve,
    "svd": _linalg.svd, "svdvals": lambda a: _linalg.svd(a, compute_uv=False),
}  # fmt: skip

_names = _joined(_plain, _own)
_names |= {name: _tracked_by(own, _HINTS)(_names[name]) for name, own in _NUMPYS.items()}
__all__ = []
__all__ += _plain.__all__
__all__ += _own.__all__
globals().update(_names)
