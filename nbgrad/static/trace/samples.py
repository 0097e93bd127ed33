"""Samples of which some take part: what the others are given in the meantime, and keep."""

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from ...core.array import Array
from ...core.primitive import shape_of
from ...transforms import stop_gradient


def only(takes: Any, x: Any) -> Any:
    """Samples where `takes` holds, and in place of the others the first of those: what is computed
    of it is no worse than of that one, and no derivative goes on to it from there."""
    if not shape_of(x)[0]:
        return x
    first = nth(x, np.argmax(takes))
    return chosen(takes, x, stop_gradient(first) if first.dtype.kind == "f" else first)


def chosen(takes: Any, x: Any, y: Any) -> Any:
    """Samples of x where `takes` holds, else of y, in the dtype of x."""
    rows = np.reshape(takes, (-1, *(1,) * (len(shape_of(x)) - 1)))
    rows = rows if rows.dtype == bool else rows != 0  # layout of bools gives floats
    return _in_dtype(np.where(rows, x, y), x.dtype)


def joined_samples(parts: Iterable) -> Any:
    """Results of all samples, joined in one flat array for each."""
    flat = [np.reshape(x, (shape_of(x)[0], prod(shape_of(x)[1:]))) for x in parts]
    return flat[0] if len(flat) == 1 else np.concatenate(flat, axis=1)


def nth(x: Any, place: Any) -> Any:
    """The sample at a place that is not known when it is recorded."""
    return _in_dtype(x[place] if isinstance(x, Array) else np.asarray(x)[place], x.dtype)


def _in_dtype(x: Any, dtype: np.dtype) -> Any:
    if x.dtype == dtype:
        return x
    return x != 0 if dtype.kind == "b" else x.astype(dtype)
