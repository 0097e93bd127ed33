"""Elements at known positions along an axis that form few runs: concatenated slices, several times
faster than a gather and its transpose."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.primitive import Aval, bind, shape_of
from ..ir.sizes import is_dynamic
from . import patterns
from .dtypes import common_type, held
from .families import Linear, sample
from .forms import layout as forms
from .index import scatter

Run = tuple[int, int, int, int]
"""The index of an array, the first position in it, the number of elements, and the step: 1, -1 or
0."""

# A slice takes some microseconds; an element of a gather takes a nanosecond or two longer than one
# of a copy.
_MOST, _SHORT = 8, 1000


def taken(x, places: np.ndarray, axis: int):
    """np.take(x, places, axis), for `places` that are not negative."""
    return taken_of((x,), places, axis)


def taken_of(arrays: Sequence, places: np.ndarray, axis: int):
    """`taken` of the concatenation of arrays along `axis`."""
    ends = np.cumsum([shape_of(x)[axis] for x in arrays])
    size = sum(x.size for x in arrays)
    runs = _runs(places, ends) if is_dynamic(size) or size > _SHORT else None
    if runs is None:
        x = np.concatenate(arrays, axis=axis) if len(arrays) > 1 else arrays[0]
        return np.take(x, places, axis)
    return joined(arrays, runs, axis)


def joined(arrays: Sequence, runs: Sequence[Run], axis: int):
    """The runs of arrays, concatenated along `axis`."""
    some = tuple(run for run in runs if run[2]) or tuple(runs[:1])
    return bind(runs_row, *arrays, runs=some, axis=axis)


def _runs(places: np.ndarray, ends: np.ndarray) -> tuple[Run, ...] | None:
    """The runs of positions in one array with steps 1, -1 or 0; None for many runs."""
    steps = np.diff(places)
    owners = np.searchsorted(ends, places, "right")
    runs: list[Run] = []
    start = 0
    while start < len(places):
        if len(runs) == _MOST:
            return None
        step = int(steps[start]) if start < len(steps) else 1
        owner = int(owners[start])
        goes_on = (steps[start:] == step) & (owners[start + 1 :] == owner)
        if step not in (-1, 0, 1) or not goes_on[:1].any():
            stop, step = start + 1, 1
        else:
            others = np.flatnonzero(~goes_on)
            stop = start + 1 + int(others[0]) if others.size else len(places)
        before = int(ends[owner - 1]) if owner else 0
        runs.append((owner, int(places[start]) - before, stop - start, step))
        start = stop
    return tuple(runs) or None


def _slices(runs: Sequence[Run], axis: int):
    """For each run: the index of its array, the slice that it reads, its slice of the result, and
    its step."""
    lead, at = (slice(None),) * axis, 0
    for owner, first, count, step in runs:
        low = first - count + 1 if step == -1 else first
        source = (*lead, slice(low, low + (count if step else 1)))
        yield owner, source, (*lead, slice(at, at + count)), step
        at += count


def _compute(*arrays, runs, axis):
    arrays = [held(x) for x in arrays]
    out = np.empty(_shape([x.shape for x in arrays], runs, axis), np.result_type(*arrays))
    for owner, source, place, step in _slices(runs, axis):
        part = arrays[owner][source]
        out[place] = np.flip(part, axis) if step == -1 else part
    return out


def _shape(shapes: Sequence[tuple[int, ...]], runs: Sequence[Run], axis: int) -> tuple[int, ...]:
    shape = shapes[0]
    return (*shape[:axis], sum(count for _, _, count, _ in runs), *shape[axis + 1 :])


def _back(part, axis: int, step: int):
    """The cotangent of the slice that a run reads."""
    if step == 0:
        return np.sum(part, axis=axis, keepdims=True)
    return np.flip(part, axis) if step == -1 else part


def _transpose(ct, args, *, runs, axis):
    cotangents: list[Any] = [None] * len(args)
    for owner, source, place, step in _slices(runs, axis):
        part = _back(ct[place], axis, step)
        added = bind(scatter, part, shape=shape_of(args[owner]), index=source)
        known = cotangents[owner]
        cotangents[owner] = added if known is None else known + added
    return [
        np.zeros(shape_of(x), x.dtype) if ct is None else ct
        for x, ct in zip(args, cotangents, strict=True)
    ]


def _fused(ct, args, *, runs, axis):
    cotangents = [np.zeros(x.shape, ct.dtype) for x in args]
    for owner, source, place, step in _slices(runs, axis):
        cotangents[owner][source] += _back(ct[place], axis, step)
    return cotangents


def _reference(*arrays, runs, axis):
    every = []
    for owner, first, count, step in runs:
        every.append(np.take(arrays[owner], first + step * np.arange(count), axis))
    return np.concatenate(every, axis)


runs_row = Linear(
    "runs", _compute,
    lambda *avals, runs, axis: Aval.of(
        _shape([aval.shape for aval in avals], runs, axis), common_type(*avals)
    ),
    _transpose, fused=_fused, along="axis", unit=True, form=forms.runs, pattern=patterns.moved,
    reference=_reference,
    samples=[
        sample((4,), runs=((0, 1, 3, 1), (0, 2, 3, -1), (0, 0, 2, 0)), axis=0),
        sample((2, 3), (2, 1), runs=((0, 0, 2, 1), (1, 0, 1, 1), (0, 2, 1, 1)), axis=1),
    ],
    notes="concatenated slices, each forward, backward or one repeated element: used by "
    "np.insert, np.delete and np.pad",
)  # fmt: skip
