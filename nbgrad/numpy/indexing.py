"""`r_`, `c_`, `mgrid` and `ogrid` of tracked values."""

from typing import Any

import numpy as np

from ..core.fillable import highest
from ..rules.surface.joining import c_, r_, spaced

__all__ = ["c_", "mgrid", "ogrid", "r_"]


class _Grid:
    """`np.mgrid` or `np.ogrid`."""

    def __init__(self, plain: Any, sparse: bool):
        self._plain, self._sparse = plain, sparse

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        ends = [end for part in parts for end in (part.start, part.stop, part.step)]
        if highest(*ends) is None:
            return self._plain[key]
        lines = [
            np.r_[part] if highest(part.start, part.stop, part.step) is None else spaced(part)
            for part in parts
        ]
        if not isinstance(key, tuple):
            return lines[0]
        grids = np.meshgrid(*lines, indexing="ij", sparse=self._sparse)
        return tuple(grids) if self._sparse else np.stack(grids)

    def __len__(self) -> int:
        return 0

    def __reduce__(self) -> str:
        return "ogrid" if self._sparse else "mgrid"


mgrid = _Grid(np.mgrid, False)
ogrid = _Grid(np.ogrid, True)
