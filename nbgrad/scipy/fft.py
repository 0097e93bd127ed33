"""`scipy.fft`, whose transforms accept tracked arrays, real and complex ones.

Fast Hankel transforms are SciPy's own.

>>> from nbgrad.scipy.fft import dct
>>> nbgrad.grad(lambda x: dct(x)[0])(np.ones(3))
array([2., 2., 2.])
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as _np
import scipy.fft as _plain

from ..rules.surface import cosines as _own
from ..rules.surface import hermitian as _hermitian
from .by_parts import linear_in as _linear_in
from .names import tracked_by as _tracked_by

if TYPE_CHECKING:
    from scipy.fft import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]

    def __getattr__(name: str) -> Any: ...


def _of_numpy(function: Callable) -> Callable:
    """NumPy's function of SciPy's arguments: `overwrite_x` and `workers` come fifth and sixth."""

    def call(x: Any, *args: Any, **options: Any) -> Any:
        return function(x, *args[:3], **options)

    return call


__all__ = []
__all__ += _plain.__all__
_names = {name: getattr(_plain, name) for name in __all__}
for _name in ("dct", "dctn", "dst", "dstn", "idct", "idctn", "idst", "idstn"):
    _names[_name] = _tracked_by(_linear_in("x")(getattr(_own, _name)))(_names[_name])
_OPTIONS = frozenset(["overwrite_x", "workers", "plan"])
for _name in (
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn",
    "ifftn", "rfftn", "irfftn", "fftshift", "ifftshift",
):  # fmt: skip
    _names[_name] = _tracked_by(_of_numpy(getattr(_np.fft, _name)), _OPTIONS)(_names[_name])
for _name in ("hfft2", "ihfft2", "hfftn", "ihfftn"):
    _names[_name] = _tracked_by(_of_numpy(getattr(_hermitian, _name)), _OPTIONS)(_names[_name])
globals().update(_names)
