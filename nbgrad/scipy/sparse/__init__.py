"""`scipy.sparse` with a `csr_array` whose elements may be tracked.

>>> A = nbgrad.scipy.sparse.csr_array((np.array([2.0, 3.0]), [1, 0], [0, 1, 2]), shape=(2, 2))
>>> nbgrad.grad(lambda A, x: np.sum(A @ x))(A, np.array([1.0, 10.0])).data
array([10.,  1.])
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

import scipy.sparse as _plain

from ...sparse.arrays import csr_array

if TYPE_CHECKING:
    from scipy.sparse import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary, reportAssignmentType]

    from . import linalg as linalg

__all__ = ["csr_array"]
__all__ += [name for name in _plain.__all__ if name not in ("csr_array", "linalg", "csgraph")]
globals().update({name: getattr(_plain, name) for name in __all__ if name != "csr_array"})


def __getattr__(name: str) -> Any:
    """Import `linalg` on first use."""
    if name == "linalg":
        return _import_module(f".{name}", __name__)
    return getattr(_plain, name)
