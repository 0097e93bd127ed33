"""Functions that move elements, by reshaping, joining and indexing; roll and flip are rows."""

import itertools
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ...core.array import Array, implements
from ...core.memory import view
from ...core.primitive import Aval, bind, shape_of
from ...core.steps import Index, ReadOnly
from ...core.symbols import noted
from ...errors import ArgumentError, ArgumentTypeError, DimensionMismatch, require_unmasked
from ...ir.sizes import is_dynamic
from ...kernels import shapes
from .. import patterns
from ..dtypes import common_type
from ..families import Linear, sample
from ..forms import layout as forms


def _same(x: Aval, **params) -> Aval:
    return Aval.of(x.shape, common_type(x))


# -- axes -----------------------------------------------------------------------------------------


@implements(np.swapaxes)
def swapaxes(a, axis1, axis2):
    """x with two of its axes exchanged."""
    order = list(range(len(shape_of(a))))
    first, second = (normalize_axis_index(axis, len(order)) for axis in (axis1, axis2))
    order[first], order[second] = order[second], order[first]
    return np.transpose(a, order)


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False):
    """All windows of a shape along `axis` or all axes, with new axes at the end. They follow later
    changes of x; to change x through them is refused, also with `writeable=True`."""
    ndim = len(shape_of(x))
    lengths = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    if axis is None:
        axes = tuple(range(ndim))
    else:
        axes = tuple(axis) if np.iterable(axis) else (axis,)
    # NumPy checks the arguments, without allocating memory.
    np.lib.stride_tricks.sliding_window_view(
        np.broadcast_to(False, shape_of(x)), lengths, axis if axis is None else axes
    )
    windows = partial(_windows, lengths, [normalize_axis_index(each, ndim) for each in axes])
    return view(x, windows(x), ReadOnly(windows, "np.lib.stride_tricks.sliding_window_view"))


def _windows(lengths: Sequence[int], axes: Sequence[int], x: Any) -> Any:
    for length, place in zip(lengths, axes, strict=True):
        count = shape_of(x)[place] - length + 1
        if is_dynamic(count):
            if count < 1:
                raise ArgumentError("window shape cannot be larger than input array shape")
            before = (slice(None),) * place
            parts = [x[(*before, slice(i, i + count))] for i in range(length)]
            x = np.stack(parts, axis=-1)
            continue
        starts = np.arange(count)
        x = np.moveaxis(np.take(x, starts[:, None] + np.arange(length), place), place + 1, -1)
    return x


@implements(np.squeeze)
def squeeze(a, axis=None):
    """x without its axes of length 1, or without those in `axis`."""
    shape = shape_of(a)
    if axis is None or (not shape and axis in (0, -1)):
        axes = tuple(i for i, n in enumerate(shape) if n == 1)
    else:
        axes = normalize_axis_tuple(axis, len(shape), "squeeze")
    if not all(shape[i] == 1 for i in axes):
        raise ArgumentError(f"squeeze: not every axis of {axis} has length 1 in the shape {shape}")
    return np.reshape(a, tuple(n for i, n in enumerate(shape) if i not in axes))


# -- joining and splitting ------------------------------------------------------------------------


@implements(np.column_stack)
def column_stack(tup):
    """Arrays joined along the second axis; a vector is a column."""
    columns = [np.reshape(x, (-1, 1)) if len(shape_of(x)) < 2 else x for x in tup]
    return np.concatenate(columns, axis=1)


@implements(np.array_split)
def array_split(ary, indices_or_sections, axis=0):
    """A list of parts along `axis`: a number of parts, the first ones longer, or split at
    indices."""
    shape = shape_of(ary)
    axis = normalize_axis_index(axis, len(shape), "array_split")
    length = shape[axis]
    indices_or_sections = noted(indices_or_sections)
    if np.ndim(indices_or_sections):
        stops = [operator.index(i) for i in indices_or_sections]
    else:
        count = operator.index(indices_or_sections)
        if count <= 0:
            raise ArgumentError("number sections must be larger than 0.")
        each, longer = divmod(length, count)
        # Too many parts raise MemoryError before any of them is made.
        stops = list(itertools.accumulate([each + 1] * longer + [each] * (count - longer)))[:-1]
    before = (slice(None),) * axis
    cuts = [slice(a, b) for a, b in zip([0, *stops], [*stops, length], strict=True)]
    return [ary[(*before, cut)] if before else ary[cut] for cut in cuts]


@implements(np.split)
def split(ary, indices_or_sections, axis=0):
    """A list of parts along `axis`: equal ones, or split at indices."""
    if not np.ndim(indices_or_sections):
        shape = shape_of(ary)
        length = shape[normalize_axis_index(axis, len(shape), "split")]
        if length % shapes.whole(indices_or_sections, "split: the number of parts"):
            raise DimensionMismatch(
                f"split: the shape {shape} has no {indices_or_sections} equal parts along axis "
                f"{axis}; np.array_split makes unequal ones"
            )
    return array_split(ary, indices_or_sections, axis)


# -- repeating ------------------------------------------------------------------------------------


@implements(np.tile)
def tile(A, reps):
    """A repeated `reps` times along each axis."""
    reps = noted(reps)
    times = tuple(map(operator.index, reps if np.ndim(reps) else (reps,)))
    shape = (1,) * (len(times) - len(shape_of(A))) + shape_of(A)
    times = (1,) * (len(shape) - len(times)) + times
    pairs = tuple(zip(times, shape, strict=True))
    opened = np.reshape(A, tuple(n for length in shape for n in (1, length)))
    wide = np.broadcast_to(opened, tuple(n for pair in pairs for n in pair))
    return np.reshape(wide, tuple(a * b for a, b in pairs))


@implements(np.repeat)
def repeat(a, repeats, axis=None):
    """Each element repeated along `axis`; `repeats` may be one number per element."""
    if axis is None or (axis in (0, -1) and not shape_of(a)):
        a, axis = np.reshape(a, -1), 0
    shape = shape_of(a)
    axis = normalize_axis_index(axis, len(shape), "repeat")
    require_unmasked(repeats, "repeat: the repeats")
    repeats = noted(repeats)
    if np.size(repeats) != 1:
        return np.take(a, np.repeat(np.arange(shape[axis]), repeats), axis)
    times = operator.index(np.asarray(repeats).item())
    if times < 0:
        raise ArgumentError("repeats may not contain negative values.")
    before, behind = shape[: axis + 1], shape[axis + 1 :]
    wide = np.broadcast_to(np.reshape(a, (*before, 1, *behind)), (*before, times, *behind))
    return np.reshape(wide, (*shape[:axis], shape[axis] * times, *behind))


# -- rolling and flipping --------------------------------------------------------------------------


roll_row = Linear(
    "roll", lambda x, *, shift, axis: np.roll(x, shift, axis), _same,
    lambda ct, args, *, shift, axis: [
        bind(roll_row, ct, shift=tuple(-s for s in shift), axis=axis)
    ],
    samples=[
        sample((3,), shift=(1,), axis=(0,)), sample((2, 3), shift=(-1,), axis=(1,)),
        sample((2, 3), shift=(1, 4), axis=(0, 1)), sample((0, 3), shift=(2,), axis=(0,)),
    ],
    function=np.roll, along="axis", unit=True, form=forms.roll, pattern=patterns.moved,
)  # fmt: skip


@implements(np.roll)
def roll(a, shift, axis=None):
    """Elements shifted cyclically by `shift` along `axis`."""
    if axis is None:
        return np.reshape(roll(np.reshape(a, -1), shift, 0), shape_of(a))
    axes = axis if isinstance(axis, Sequence) else (axis,)
    if isinstance(shift, Array) or any(isinstance(n, Array) for n in axes):
        raise ArgumentTypeError(
            "roll: shifts and axes are whole numbers, not tracked arrays", code="NB-INTEGER"
        )
    require_unmasked(shift, "roll: the shifts")
    shifts, axes = np.broadcast_arrays(noted(shift), axes)
    listed = [[shapes.whole(n, "roll: a shift or axis") for n in a.flat] for a in (shifts, axes)]
    axes = normalize_axis_tuple(listed[1], len(shape_of(a)), "axis", allow_duplicate=True)
    return bind(roll_row, a, shift=tuple(listed[0]), axis=axes)


flip_row = Linear(
    "flip", lambda x, *, axis: np.flip(x, axis), _same,
    lambda ct, args, *, axis: [bind(flip_row, ct, axis=axis)],
    samples=[
        sample((3,), axis=(0,)), sample((2, 3), axis=(1,)), sample((2, 3), axis=(0, 1)),
        sample((), axis=()),
    ],
    function=np.flip, along="axis", unit=True, form=forms.flip, pattern=patterns.moved,
)  # fmt: skip


@implements(np.flip)
def flip(m, axis=None):
    """Elements in reverse order along `axis`: an int, a tuple of ints, or None for all."""
    ndim = len(shape_of(m))
    axes = tuple(range(ndim)) if axis is None else normalize_axis_tuple(axis, ndim, "flip")
    reverse = slice(None, None, -1)
    index = tuple([reverse if i in axes else slice(None) for i in range(ndim)])
    return view(m, bind(flip_row, m, axis=axes), Index((*index, ...)))
