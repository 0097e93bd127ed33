"""Elements by position, differences, and calls of functions on plain values."""

import functools
import inspect

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..core.array import Array, implements
from ..core.functions import items_of, mapped
from ..core.primitive import Aval, bind, shape_of
from ..core.symbols import Symbol, noted
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    EagerOnlyError,
    IndexOutOfBounds,
    OutError,
    TraceError,
    UntrackedError,
    require_unmasked,
)
from ..runtime.kinds import is_a
from ..runtime.lines import user_line
from . import patterns
from .dtypes import common_type, held
from .families import Linear, sample
from .forms import layout as forms
from .index import at_index, index_of


def plain(x):
    """The plain values of an array of any level, or of arrays in lists and tuples; batches stay
    batches.

    Raises TraceError for traced values.
    """
    if isinstance(x, (list, tuple)):
        return mapped(plain, x)
    while isinstance(x, Array) and not x.is_batch:
        x = x.below
    return x


def are_whole(*arrays) -> bool:
    """Whether all arrays hold integers or bools."""

    def kind(x):
        if hasattr(x, "dtype"):
            return x.dtype.kind
        tracked = any(isinstance(item, Array) for item in items_of(x))
        return "f" if tracked else np.asarray(x).dtype.kind

    return all(kind(x) in "iub" for x in arrays)


def on_values(function):
    """A NumPy function applied to the plain values of its arguments, for each sample of a batch."""

    try:
        form = inspect.signature(on_values if isinstance(function, np.ufunc) else function)
    except ValueError:  # older NumPy: no signatures of functions in C, which take no out
        form = inspect.signature(on_values)
    writes, name = "out" in form.parameters, function.__name__.lstrip("_")

    @functools.wraps(function)
    def call(*args, **options):
        for x in items_of((*args, *options.values())):
            require_unmasked(x, name)
        if writes and form.bind(*args, **options).arguments.get("out") is not None:
            raise OutError(f"{name}: out=... cannot be written to; use what it returns")
        try:
            args = [plain(x) for x in args]
            options = {key: plain(x) for key, x in options.items()}
        except TraceError:
            raise EagerOnlyError(
                f"{name} is eager only: it looks at numbers, and a traced value has "
                "none. Compute it outside of the compiled function and pass the result, such as "
                f"an order of integers, as an argument{user_line()}"
            ) from None
        batches = [x for x in items_of((*args, *options.values())) if isinstance(x, Array)]
        if not batches:
            return function(*args, **options)
        top = max(batches, key=lambda x: x.level)
        return top.each(call, args, options)

    return call


def _is_batch(x) -> bool:
    """Whether a value is a batch at some level."""
    while isinstance(x, Array) and not isinstance(x, Symbol):
        if x.is_batch:
            return True
        x = x.below
    return False


def on_shared_values(function):
    """`on_values` for a function whose result determines a shape, which must be the same for all
    samples. Raises UntrackedError for batches."""
    call = on_values(function)

    @functools.wraps(function)
    def checked(*args, **options):
        if any(map(_is_batch, items_of((*args, *options.values())))):
            raise UntrackedError(
                f"{function.__name__}: the shape of what it gives depends on values, which differ "
                "from sample to sample: call it outside of vmap",
                code="NB-BRANCH",
            )
        return call(*args, **options)

    return checked


def _positions(indices):
    """Indices as an array; traced ones stay traced."""
    if isinstance(indices, Array) and indices.dtype.kind in "iu":
        return indices
    indices = plain(indices)
    require_unmasked(indices, "the indices")
    return indices if isinstance(indices, Array) else np.asarray(indices)


# -- by position ----------------------------------------------------------------------------------


@implements(np.take)
def take(a, indices, axis=None, *, mode="raise"):
    """Elements of `a` at integer `indices` along `axis`, or of all elements where it is None.

    Cotangents of repeated elements accumulate.
    """
    if axis is None or (axis in (0, -1) and not shape_of(a)):
        a, axis = np.reshape(a, -1), 0
    shape = shape_of(a)
    axis = normalize_axis_index(axis, len(shape), "take")
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentError(
            f"take: clipmode must be one of 'clip', 'raise', or 'wrap' (got '{mode}')"
        )
    if type(indices) in (list, tuple) and not indices:
        indices = np.empty(0, np.intp)
    indices = noted(_positions(indices))
    if indices.dtype.kind not in "iub":
        raise ArgumentTypeError(
            f"take: the indices are {indices.dtype}; they must be integers", code="NB-INTEGER"
        )
    if not isinstance(indices, Array):
        indices = indices.astype(np.intp, copy=False)
    if any(type(n) is int and n == 0 for n in shape[:axis]) and shape[axis]:
        mode = "clip"  # NumPy checks positions once per row, and there are no rows
    if mode == "wrap":
        indices = indices % (shape[axis] or 1)
    elif mode == "clip":
        indices = np.clip(indices, 0, shape[axis] - 1)
    return index_of(a, (*(slice(None),) * axis, indices))


@implements(np.take_along_axis)
def take_along_axis(arr, indices, axis=-1):
    """`out[..., i, ...] = arr[..., indices[..., i, ...], ...]` along `axis`."""
    if axis is None:
        arr, axis = np.reshape(arr, -1), 0
    shape, indices = shape_of(arr), noted(_positions(indices))
    axis = normalize_axis_index(axis, len(shape), "take_along_axis")
    if indices.dtype.kind not in "iu":
        raise IndexOutOfBounds("`indices` must be an integer array", code="NB-INTEGER")
    if indices.ndim != len(shape):
        raise ArgumentError("`indices` and `arr` must have the same number of dimensions")
    return along(arr, np.array(indices) if is_a(indices, np.ndarray) else indices, axis)


def along(x, positions, axis: int):
    """`np.take_along_axis` at positions that do not change."""
    shape = shape_of(x)
    whole = [np.arange(n).reshape(-1, *(1,) * (len(shape) - 1 - i)) for i, n in enumerate(shape)]
    return at_index(x, (*whole[:axis], positions, *whole[axis + 1 :]))


def _diff_infer(x, *, axis):
    shape = (*x.shape[:axis], max(x.shape[axis] - 1, 0), *x.shape[axis + 1 :])
    return Aval.of(shape, common_type(x))


def _diff_transpose(ct, args, *, axis):
    if not shape_of(args[0])[axis]:
        return [ct]
    widths = [(1, 1) if i == axis else (0, 0) for i in range(len(shape_of(ct)))]
    return [-diff(np.pad(ct, widths), axis=axis)]


def _diff_fused(ct, args, *, axis):
    x_bar = np.zeros(args[0].shape, ct.dtype)
    before = (slice(None),) * axis
    if ct.shape[axis]:
        x_bar[(*before, slice(1, None))] = ct
        x_bar[(*before, slice(None, -1))] -= ct
    return [x_bar]


diff_row = Linear(
    "diff", lambda x, *, axis: np.diff(held(x), axis=axis), _diff_infer, _diff_transpose,
    fused=_diff_fused, function=np.diff, along="axis", unit=True, form=forms.diff,
    pattern=patterns.differences,
    samples=[
        sample((3,), axis=0), sample((2, 3), axis=0), sample((2, 3), axis=1), sample((1,), axis=0)
    ],
)  # fmt: skip


@implements(np.diff)
def diff(a, n=1, axis=-1, prepend=None, append=None):
    """`n` times the differences of neighbours along `axis`."""
    if n < 0:
        raise ArgumentError(f"order must be non-negative but got {n}")
    ndim = len(shape_of(a))
    if not ndim:
        raise ArgumentError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, ndim, "diff")
    ends = [_edge(x, a, axis) for x in (prepend, append)]
    parts = [x for x in (ends[0], a, ends[1]) if x is not None]
    out = np.concatenate(parts, axis=axis) if len(parts) > 1 else a
    for _ in range(min(n, shape_of(out)[axis])):  # an empty axis stays empty
        out = bind(diff_row, out, axis=axis)
    return out


def _edge(x, a, axis):
    """The array to prepend or append; a scalar is broadcast to length 1 along the axis."""
    if x is None or shape_of(x):
        return x
    shape = shape_of(a)
    return np.broadcast_to(x, (*shape[:axis], 1, *shape[axis + 1 :]))
