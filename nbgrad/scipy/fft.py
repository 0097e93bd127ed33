"""`scipy.fft`, whose cosine and sine transforms accept tracked arrays.

>>> from nbgrad.scipy.fft import dct
>>> nbgrad.grad(lambda x: dct(x)[0])(np.ones(3))
array([2., 2., 2.])
"""

from typing import TYPE_CHECKING, Any

import scipy.fft as _plain

from ..rules.surface import cosines as _own
from .names import tracked_by as _tracked_by

if TYPE_CHECKING:
    from scipy.fft import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]

    def __getattr__(name: str) -> Any: ...


__all__ = []
__all__ += _plain.__all__
_names = {name: getattr(_plain, name) for name in __all__}
for _name in ("dct", "dctn", "dst", "dstn", "idct", "idctn", "idst", "idstn"):
    _names[_name] = _tracked_by(getattr(_own, _name))(_names[_name])
globals().update(_names)
