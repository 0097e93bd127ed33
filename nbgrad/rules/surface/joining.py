"""Functions that join arrays or remove parts: blocks, grids, insertions, deletions."""

import math
import re
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...core.array import Array, implements
from ...core.fillable import highest
from ...core.memory import copied
from ...core.primitive import Aval, bind, shape_of
from ...errors import (
    ArgumentError,
    ArgumentTypeError,
    DimensionMismatch,
    EmptyError,
    IndexOutOfBounds,
    NoRuleError,
)
from ...kernels import shapes
from ...runtime.kinds import is_a
from .. import batching, patterns
from ..dtypes import common_type, held
from ..families import Linear, sample
from ..forms import layout as forms
from ..layout import given
from ..runs import joined, taken, taken_of
from ..select import on_shared_values


def _require_positions(op: str, obj) -> None:
    if isinstance(obj, Array):
        raise NoRuleError(
            f"{op}: positions are whole numbers: give it plain ones", code="NB-INTEGER"
        )


def _line(arr, axis, op: str):
    arr = given(arr)
    if axis is None:
        return np.reshape(arr, -1), 0
    return arr, normalize_axis_index(axis, len(shape_of(arr)), op)


def _is_single(obj) -> bool:
    """Whether `obj` is a single position."""
    return not isinstance(obj, slice) and np.ndim(obj) == 0 and np.asarray(obj).dtype.kind in "iu"


@implements(np.delete)
def delete(arr, obj, axis=None):
    """`arr` without the positions `obj` along `axis`."""
    _require_positions("delete", obj)
    arr, axis = _line(arr, axis, "delete")
    n = shape_of(arr)[axis]
    if _is_single(obj):
        if not -n <= obj < n:
            raise IndexOutOfBounds(f"index {obj} is out of bounds for axis {axis} with size {n}")
        place = int(obj) % n
        return joined((arr,), [(0, 0, place, 1), (0, place + 1, n - place - 1, 1)], axis)
    return taken(arr, np.delete(np.arange(n), obj), axis)


@implements(np.insert)
def insert(arr, obj, values, axis=None):
    """`arr` with `values` before the positions `obj` along `axis`."""
    _require_positions("insert", obj)
    if is_a(obj, (bool, np.bool_)):
        raise ArgumentTypeError(
            "insert: a truth is no position: give a whole number", code="NB-INTEGER"
        )
    arr, axis = _line(arr, axis, "insert")
    values = given(values)
    shape, n = shape_of(arr), shape_of(arr)[axis]
    single = _is_single(obj)
    # NumPy's result for int8 gives the shape, and raises the errors.
    probe = np.broadcast_to(np.int8(0), shape_of(values))
    made = np.insert(np.broadcast_to(np.int8(0), shape), obj, probe, axis)
    count = made.shape[axis] - n
    if single:
        lead = len(shape) - len(shape_of(values))
        values = np.reshape(values, (1,) * max(lead, 0) + shape_of(values))
        values = np.moveaxis(values, 0, axis)
    values = np.broadcast_to(values, (*shape[:axis], count, *shape[axis + 1 :]))
    values = values.astype(arr.dtype) if hasattr(values, "astype") else values
    if single:
        place = int(obj) + n if obj < 0 else int(obj)
        ends = [(0, 0, place, 1), (0, place, n - place, 1)]
        return joined((arr, values), [ends[0], (1, 0, count, 1), ends[1]], axis)
    places = np.insert(np.arange(n), obj, np.arange(n, n + count))
    return taken_of((arr, values), places, axis)


@implements(np.resize)
def resize(a, new_shape):
    """The elements in another shape, repeated if there are too few."""
    a, shape = given(a), new_shape if isinstance(new_shape, (tuple, list)) else (new_shape,)
    shape = tuple(shapes.whole(n, "resize: a length") for n in shape)
    if any(n < 0 for n in shape):
        raise ArgumentError("all elements of `new_shape` must be non-negative")
    size = math.prod(shape_of(a))
    if not size:
        return np.zeros(shape, a.dtype)
    return np.take(a, np.arange(math.prod(shape)).reshape(shape) % size)


@implements(np.trim_zeros)
def trim_zeros(filt, trim="fb", axis=None):
    """The array without leading and trailing zeros, determined by the current values."""
    filt, trim = given(filt), trim.lower() if isinstance(trim, str) else trim
    if not isinstance(trim, str) or set(trim) - set("fb"):
        raise ArgumentError(f"trim_zeros: trim={trim!r} must be made of the letters f and b")
    shape = shape_of(filt)
    axes = shapes.axes_of(axis, len(shape), "trim_zeros")
    places = on_shared_values(np.argwhere)(filt)
    index = [slice(None)] * len(shape)
    for i in axes:
        if not len(places):
            index[i] = slice(0, 0)
            continue
        first, last = places[:, i].min(), places[:, i].max() + 1
        index[i] = slice(int(first) if "f" in trim else 0, int(last) if "b" in trim else shape[i])
    return filt[tuple(index)]


@implements(np.block)
def block(arrays):
    """A matrix of blocks, from nested lists: the innermost along the last axis."""
    depth, least = _depth(arrays)
    return _blocked(arrays, depth, max(depth, least), 0)


def _depth(nested: Any) -> tuple[int, int]:
    """The depth of nested lists, and the maximal number of axes of their items. Raises
    ValueError."""
    if isinstance(nested, tuple):
        raise ArgumentTypeError("block: lists are blocks, tuples are not")
    if not isinstance(nested, list):
        return 0, len(shape_of(nested))
    if not nested:
        raise EmptyError("block: a list of blocks cannot be empty")
    inside = [_depth(item) for item in nested]
    if len({depth for depth, _ in inside}) > 1:
        raise ArgumentError("block: list depths are mismatched")
    return inside[0][0] + 1, max(axes for _, axes in inside)


def _blocked(nested: Any, depth: int, ndim: int, level: int):
    if level == depth:
        nested = given(nested)
        return np.reshape(nested, (1,) * (ndim - len(shape_of(nested))) + shape_of(nested))
    parts = [_blocked(item, depth, ndim, level + 1) for item in nested]
    return np.concatenate(parts, axis=level - depth)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args, subok: bool = False):
    """Each array broadcast to the common shape."""
    args = [given(x) for x in args]
    shape = shapes.broadcast("broadcast_arrays", *map(shape_of, args))
    if all(shape_of(x) == shape for x in args):
        return tuple(args)
    return tuple(np.broadcast_to(x, shape) for x in args)


@implements(np.meshgrid)
def meshgrid(*xi, copy: bool = True, sparse: bool = False, indexing="xy"):
    """Coordinates of a grid from those of its axes."""
    if indexing not in ("xy", "ij"):
        raise ArgumentError("Valid values for `indexing` are 'xy' and 'ij'.")
    n, lines = len(xi), [np.reshape(given(x), -1) for x in xi]
    places = list(range(n))
    if indexing == "xy" and n > 1:
        places[:2] = [1, 0]
    grids = [
        np.reshape(x, tuple(-1 if i == at else 1 for i in range(n)))
        for x, at in zip(lines, places, strict=True)
    ]
    grids = tuple(grids) if sparse else broadcast_arrays(*grids)
    return copied(grids) if copy else grids


# -- np.r_ and np.c_, which do not use NumPy's protocols -------------------------------------------


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
                if not re.fullmatch(r"-?\d+(,-?\d+){0,2}", part):
                    raise ArgumentError(
                        f"a directive such as {part!r} is for np.r_: join by np.concatenate"
                    )
                axis, least, first = (
                    *map(int, part.split(",")),
                    *(axis, least, first)[part.count(",") + 1 :],
                )
                continue
            if isinstance(part, slice):
                is_plain = highest(part.start, part.stop) is None
                part = self._plain[part] if is_plain else spaced(part)
            part = given(part)
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


def spaced(part: slice) -> Any:
    """Evenly spaced numbers between tracked ends; the imaginary step is their number."""
    start = 0.0 if part.start is None else part.start
    if isinstance(part.step, complex):
        return np.linspace(start, part.stop, int(abs(part.step)))
    raise ArgumentTypeError(
        "np.mgrid and np.r_: a range between tracked ends has no fixed length: give the number of "
        "points, as in np.r_[a:b:5j]"
    )


r_ = _Joins(np.r_, 0, 1, -1)
"""`np.r_` for tracked arrays: `nbgrad.r_[x, 0.0, 1:4]` joins along the first axis."""
c_ = _Joins(np.c_, -1, 2, 0)
"""`np.c_` for tracked arrays: `nbgrad.c_[x, y]` joins them as columns."""


def _side_by_side(*arrays):
    """Arrays joined along the second axis; vectors are columns."""
    columns = [np.reshape(a, (-1, 1)) if np.ndim(a) < 2 else a for a in map(held, arrays)]
    return np.concatenate(columns, axis=1)


def _hcat_infer(*avals):
    full = [aval.shape if len(aval.shape) > 1 else (math.prod(aval.shape), 1) for aval in avals]
    width = sum(shape[1] for shape in full)
    return Aval.of((full[0][0], width, *full[0][2:]), common_type(*avals))


def _hcat_transpose(ct, args):
    cotangents, start = [], 0
    for arg in args:
        shape = shape_of(arg)
        stop = start + (shape[1] if len(shape) > 1 else 1)
        part = ct[:, start:stop]
        cotangents.append(part if len(shape) > 1 else np.reshape(part, shape))
        start = stop
    return cotangents


def _hcat_batch(primitive, size, args, batched):
    columns = []
    for x in batching.spread(size, args, batched):
        shape = shape_of(x)
        columns.append(np.reshape(x, (size, math.prod(shape[1:]), 1)) if len(shape) < 3 else x)
    return np.concatenate(columns, axis=2)


hcat_row = Linear(
    "hcat",
    _side_by_side,
    _hcat_infer,
    _hcat_transpose,
    batch=_hcat_batch,
    unit=True,
    form=forms.hcat,
    pattern=patterns.moved,
    reference=lambda *arrays: np.concatenate(
        [a if a.ndim > 1 else a.reshape(-1, 1) for a in arrays], axis=1
    ),
    spelling="`nbgrad.hcat`",
    samples=[sample((3,), (3,)), sample((2,), (2, 3), (2,)), sample((2, 3), (2, 1))],
)


def hcat(*arrays):
    """Arrays joined along the second axis; 1-D arrays become columns.

    Raises DimensionMismatch for different numbers of rows.

    >>> nbgrad.hcat(np.array([1.0, 2.0]), np.eye(2))
    array([[1., 1., 0.],
           [2., 0., 1.]])
    """
    if not arrays:
        raise EmptyError("hcat: need at least one array")
    arrays = [given(a) for a in arrays]
    full = [s if len(s) > 1 else (math.prod(s), 1) for s in map(shape_of, arrays)]
    if len({(shape[0], *shape[2:]) for shape in full}) > 1:
        listed = ", ".join(str(shape_of(a)) for a in arrays)
        raise DimensionMismatch(f"hcat: arrays of shapes {listed} have not as many rows")
    if not any(isinstance(a, Array) for a in arrays):
        return _side_by_side(*arrays)
    return bind(hcat_row, *arrays)
