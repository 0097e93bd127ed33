"""`scipy.spatial`, whose module `distance` accepts tracked arrays."""

from typing import TYPE_CHECKING, Any

import scipy.spatial as _plain

from . import distance as distance

if TYPE_CHECKING:
    from scipy.spatial import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary, reportAssignmentType]

    def __getattr__(name: str) -> Any: ...


__all__ = []
__all__ += [name for name in _plain.__all__ if name != "distance"]
globals().update({name: getattr(_plain, name) for name in __all__})
