"""`scipy.special`, for programs that use `autograd.scipy.special`.

>>> from nbgrad.scipy.special import gammaln, logsumexp
>>> nbgrad.grad(lambda x: logsumexp(x) + np.sum(gammaln(x)))(np.array([1.0, 1.0])).round(6)
array([-0.077216, -0.077216])
"""

from typing import TYPE_CHECKING, Any

import scipy.special as _plain

from .. import special as _own
from .names import joined as _joined

if TYPE_CHECKING:
    from scipy.special import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]

    from ..special import *  # noqa: F403

    def __getattr__(name: str) -> Any: ...


_names = _joined(_plain, _own)
__all__ = []
__all__ += _plain.__all__
__all__ += _own.__all__
globals().update(_names)
