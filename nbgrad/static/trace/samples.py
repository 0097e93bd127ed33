"""Selection of samples in batched loops and choices, where only some samples take part."""

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from ...core.array import Array
from ...core.primitive import shape_of
from ...transforms import stop_gradient


def only(takes: Any, x: Any) -> Any:
    """Return x with the samples that do not take part replaced by the first one that does, as a
    constant: this adds no nan or error, and no derivative."""
    if not shape_of(x)[0]:
        return x
    first = nth(x, np.argmax(takes))
    return chosen(takes, x, stop_gradient(first) if first.dtype.kind == "f" else first)


def chosen(takes: Any, x: Any, y: Any) -> Any:
    """Return the samples of x where `takes` is true, else those of y, in the dtype of x."""
    rows = np.reshape(takes, (-1, *(1,) * (len(shape_of(x)) - 1)))
    rows = rows if rows.dtype == bool else rows != 0  # layout of bools gives floats
    return _in_dtype(np.where(rows, x, y), x.dtype)


def joined_samples(parts: Iterable) -> Any:
    """Join the results in one flat array for each sample."""
    flat = [np.reshape(x, (shape_of(x)[0], prod(shape_of(x)[1:]))) for x in parts]
    return flat[0] if len(flat) == 1 else np.concatenate(flat, axis=1)


def nth(x: Any, place: Any) -> Any:
    """Return the sample at a position that is known only at run time."""
    return _in_dtype(x[place] if isinstance(x, Array) else np.asarray(x)[place], x.dtype)


def _in_dtype(x: Any, dtype: np.dtype) -> Any:
    if x.dtype == dtype:
        return x
    return x != 0 if dtype.kind == "b" else x.astype(dtype)
