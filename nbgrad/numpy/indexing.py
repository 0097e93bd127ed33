"""`r_`, `c_`, `mgrid` and `ogrid` of tracked values."""

from typing import Any

import numpy as np

from ..core.fillable import highest
from ..core.functions import functions

__all__ = ["c_", "mgrid", "ogrid", "r_"]


class _Joins:
    """`np.r_` or `np.c_`, with the default axis, minimal number of axes, and position of new
    axes."""

    def __init__(self, plain: Any, axis: int, least: int, first: int):
        self._plain, self._options = plain, (axis, least, first)

    def __getitem__(self, key: Any) -> Any:
        if highest(*(key if isinstance(key, tuple) else (key,))) is None:
            return self._plain[key]
        axis, least, first = self._options
        parts = []
        for part in key if isinstance(key, tuple) else (key,):
            if isinstance(part, str):
                axis, least, first = (
                    *map(int, part.split(",")),
                    *(axis, least, first)[part.count(",") + 1 :],
                )
                continue
            if isinstance(part, slice):
                part = self._plain[part] if highest(part.start, part.stop) is None else _even(part)
            part = functions["given"](part)
            lacking = least - part.ndim if part.ndim else 0
            if lacking > 0:
                before = first if first >= 0 else lacking
                order = (1,) * min(before, lacking) + part.shape + (1,) * (lacking - before)
                part = np.reshape(part, order)
            parts.append(part)
        ndim = max(least, *[part.ndim for part in parts])
        parts = [part if part.ndim else np.reshape(part, (1,) * ndim) for part in parts]
        return np.concatenate(parts, axis)

    def __len__(self) -> int:
        return 0

    def __reduce__(self) -> str:
        return "c_" if self._options[0] else "r_"


def _even(part: slice) -> Any:
    """Evenly spaced numbers between tracked ends; the imaginary step is their number."""
    start = 0.0 if part.start is None else part.start
    if isinstance(part.step, complex):
        return np.linspace(start, part.stop, int(abs(part.step)))
    raise TypeError(
        "np.mgrid and np.r_: a range between tracked ends has no fixed length: give the number of "
        "points, as in np.r_[a:b:5j]"
    )


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
            np.r_[part] if highest(part.start, part.stop, part.step) is None else _even(part)
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


r_ = _Joins(np.r_, 0, 1, -1)
c_ = _Joins(np.c_, -1, 2, 0)
mgrid = _Grid(np.mgrid, False)
ogrid = _Grid(np.ogrid, True)
