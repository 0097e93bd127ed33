"""`scipy.linalg`, by the path that programs for `autograd.scipy.linalg` use: what `nbgrad.linalg`
has takes tracked arrays."""

from typing import TYPE_CHECKING, Any

import scipy.linalg as _plain

from .. import linalg as _own
from .names import joined as _joined

if TYPE_CHECKING:
    from ..linalg import *  # noqa: F403

    def __getattr__(name: str) -> Any: ...


_names = _joined(_plain, _own)
__all__ = list(_names)
globals().update(_names)
