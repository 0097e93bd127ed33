"""Elements at known positions that lie in few runs: slices side by side, in place of a gather that
takes several times as long, and whose transpose adds one element after the other."""

import numpy as np

from ..core.primitive import shape_of

# A slice costs some microseconds, and an element of a gather a nanosecond or two more than one of
# a copy.
_MOST, _SHORT = 8, 1000


def taken(x, places: np.ndarray, axis: int):
    """The elements of x at `places`, which are not negative, along `axis`, as np.take has them."""
    runs = _runs(places) if x.size > _SHORT else None
    if runs is None:
        return np.take(x, places, axis)
    parts = [_run(x, axis, int(places[start]), stop - start, step) for start, stop, step in runs]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=axis)


def _runs(places: np.ndarray) -> list[tuple[int, int, int]] | None:
    """Where positions go on by 1, by -1 or not at all, with that step; None for many runs."""
    steps = np.diff(places)
    runs: list[tuple[int, int, int]] = []
    start = 0
    while start < len(places):
        if len(runs) == _MOST:
            return None
        step = int(steps[start]) if start < len(steps) else 1
        if step not in (-1, 0, 1):
            stop = start + 1
        else:
            others = np.flatnonzero(steps[start:] != step)
            stop = start + 1 + int(others[0]) if others.size else len(places)
        runs.append((start, stop, step))
        start = stop
    return runs or None


def _run(x, axis: int, first: int, count: int, step: int):
    low = first - count + 1 if step == -1 else first
    part = x[(*(slice(None),) * axis, slice(low, low + (count if step else 1)))]
    if step == -1:
        return np.flip(part, axis)
    shape = shape_of(part)
    return part if step else np.broadcast_to(part, (*shape[:axis], count, *shape[axis + 1 :]))
