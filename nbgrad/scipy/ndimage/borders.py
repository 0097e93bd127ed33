"""Images beyond their borders: modes, as positions inside, and arrays with margins."""

from typing import Any

import numpy as np

from ...core.primitive import shape_of
from ...errors import ArgumentError
from ...rules.select import take

ALIASES = {"grid-mirror": "reflect"}
MODES = ("reflect", "grid-mirror", "constant", "grid-constant", "nearest", "mirror", "grid-wrap",
         "wrap")  # fmt: skip


def mode_of(op: str, mode: Any) -> str:
    """The mode without aliases. Raises ArgumentError for an unknown one."""
    if mode not in MODES:
        raise ArgumentError(f"{op}: boundary mode {mode!r} not supported: use one of {MODES}")
    return ALIASES.get(mode, mode)


def inside(i: Any, n: int, mode: str) -> Any:
    """The positions in 0 ... n - 1 from which positions beyond an axis of length n read."""
    if mode == "mirror":
        period = max(2 * n - 2, 1)
        i = np.mod(i, period)
        return np.minimum(i, period - i) if n > 1 else 0 * i
    if mode == "reflect":
        i = np.mod(i, 2 * n)
        return np.minimum(i, 2 * n - 1 - i)
    if mode in ("wrap", "grid-wrap"):
        return np.mod(i, n)
    return np.minimum(np.maximum(i, 0), n - 1)


def with_margins(x: Any, axis: int, before: int, behind: int, mode: str, cval: Any) -> Any:
    """The array, continued along an axis."""
    if before <= 0 and behind <= 0:
        return x
    n = shape_of(x)[axis]
    if mode in ("constant", "grid-constant"):
        widths = [(before, behind) if i == axis else (0, 0) for i in range(len(shape_of(x)))]
        return np.pad(x, widths, constant_values=cval)
    return take(x, inside(np.arange(-before, n + behind), n, mode), axis=axis)
