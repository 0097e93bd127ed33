"""Batching rules: an op on each sample as one op on arrays with a leading axis.

A batching rule is `batch(primitive, size, args, batched, **params)`. Arguments have a leading axis
of `size` samples where `batched` is true; so does the result. Primitives without a rule run sample
by sample."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.primitive import Primitive, bind, shape_of
from ..runtime.kinds import is_a
from .dtypes import FLOATS, common_type
from .forms.indexing import HOLE


def lead(x: Any, ndim: int) -> Any:
    """A batch of arrays reshaped to samples of `ndim` axes, so that the samples broadcast."""
    size, *shape = shape_of(x)
    missing = ndim - len(shape)
    return np.reshape(x, (size, *(1,) * missing, *shape)) if missing > 0 else x


def spread(size: int, args: Sequence, batched: Sequence[bool]) -> list[Any]:
    """All arguments broadcast to the leading axis."""
    return [
        x if has else np.broadcast_to(x, (size, *shape_of(x)))
        for x, has in zip(args, batched, strict=True)
    ]


def aligned(args: Sequence, batched: Sequence[bool]) -> list[Any]:
    """The arguments, reshaped so that samples broadcast against each other and shared arguments."""
    ndim = max(len(shape_of(x)) - has for x, has in zip(args, batched, strict=True))
    return [lead(x, ndim) if has else x for x, has in zip(args, batched, strict=True)]


def moved(axes: Any) -> Any:
    """Axes shifted by a leading one; negative axes count from the end and stay."""
    if isinstance(axes, tuple):
        return tuple(map(moved, axes))
    return axes + 1 if axes >= 0 else axes


def broadcast(primitive: Primitive, size: int, args: Sequence, batched: Sequence[bool], **params):
    """The rule of elementwise primitives and of stacks of matrices, which broadcast."""
    return bind(primitive, *aligned(args, batched), **params)


def along(*names: str) -> Callable:
    """The rule of a primitive whose parameters `names` are axes, which move by one; without names,
    of one that applies to stacks as it is."""

    def batch(primitive, size, args, batched, **params):
        params |= {name: moved(params[name]) for name in names}
        return bind(primitive, *spread(size, args, batched), **params)

    return batch


def permuted(primitive, size, args, batched, *, axes):
    return bind(primitive, args[0], axes=(0, *moved(axes)))


def reshaped(primitive, size, args, batched, *, shape):
    return bind(primitive, args[0], shape=(size, *shape))


def repeated(primitive, size, args, batched, *, shape):
    return bind(primitive, lead(args[0], len(shape)), shape=(size, *shape))


def unrepeated(primitive, size, args, batched, *, shape):
    """Sum to `shape`, with axes of length 1 for missing ones."""
    missing = len(shape_of(args[0])) - 1 - len(shape)
    out = bind(primitive, args[0], shape=(size, *(1,) * missing, *shape))
    return np.reshape(out, (size, *shape))


def prefixed(primitive, size, args, batched, *, shape, **params):
    """The rule of a primitive whose parameter `shape` is the shape of its result."""
    return bind(primitive, *args, shape=(size, *shape), **params)


def product(primitive, size, args, batched):
    """Matrix products; a vector is a row on the left and a column on the right."""
    (x, y), (has_x, has_y) = args, batched
    n, m = (len(shape_of(arg)) - has for arg, has in zip(args, batched, strict=True))
    if n == m == 1 and common_type(x.dtype, y.dtype) in FLOATS:
        return np.sum(x * y, axis=-1) if has_x and has_y else x @ y if has_x else y @ x
    if n == 1 and m == 2 and not has_y:
        return x @ y
    if m == 1 and n == 2 and not has_x:
        return y @ np.swapaxes(x, -1, -2)
    x = np.expand_dims(x, -2) if n == 1 else x
    y = np.expand_dims(y, -1) if m == 1 else y
    out = bind(primitive, *aligned((x, y), batched))
    out = np.squeeze(out, -2) if n == 1 else out
    return np.squeeze(out, -1) if m == 1 else out


# -- indices --------------------------------------------------------------------------------------


def is_position(part: Any) -> bool:
    """Whether a part of an index is a position, an array of positions, or a mask."""
    return not (part is None or part is Ellipsis or isinstance(part, slice))


def behind(index: Any, axes: Callable[[Any], int] = np.ndim) -> tuple[tuple, int]:
    """The index of a batch from that of its samples, and the axis of the samples in the result.

    NumPy moves the axes of positions that are separated by a slice to the front, before the axis of
    the samples; `axes` returns the number of axes of a part.
    """
    parts = index if isinstance(index, tuple) else (index,)
    places = []
    if any(is_position(part) and not _is_whole(part) for part in parts):
        places = [i for i, part in enumerate(parts) if is_position(part)]
    split = bool(places) and places[-1] - places[0] + 1 != len(places)
    at = max(axes(parts[i]) for i in places) if split else 0
    return (slice(None), *parts), at


def _is_whole(part: Any) -> bool:
    return is_a(part, (int, np.integer)) and not isinstance(part, bool)


def taken(primitive, size, args, batched, *, index):
    """Indexing with an index that all samples share."""
    index, at = behind(index, axes_of_part)
    return np.moveaxis(bind(primitive, args[0], index=index), at, 0)


def scattered(primitive, size, args, batched, *, shape, index):
    index, at = behind(index, axes_of_part)
    return bind(primitive, np.moveaxis(args[0], 0, at), shape=(size, *shape), index=index)


def assigned(primitive, size, args, batched, *, index):
    of_all, at = behind(index, axes_of_part)
    if is_a(args[1], (int, float)):  # takes the dtype of x
        return bind(primitive, args[0], args[1], index=of_all)
    x, value = spread(size, args, batched)
    shape = np.broadcast_to(np.empty(()), shape_of(x)[1:])[index].shape
    value = np.broadcast_to(lead(value, len(shape)), (size, *shape))
    return bind(primitive, x, np.moveaxis(value, 0, at), index=of_all)


def axes_of_part(part: Any) -> int:
    """The number of axes in the result of a part of an index: one for a mask."""
    array = np.asarray(part)
    return 1 if array.dtype == bool else array.ndim


def over_samples(
    size: int, index, positions, has: Sequence[bool], has_x: bool
) -> tuple[tuple | None, list]:
    """The index of a batch for an index with holes, and its positions; None if there is no such
    index."""
    parts = index if isinstance(index, tuple) else (index,)
    places = [i for i, part in enumerate(parts) if is_position(part)]
    if places[-1] - places[0] + 1 != len(places) or (any(has) and places[0]):
        return None, positions
    if not any(has):
        return (slice(None), *parts), positions
    # Positions of samples also broadcast against the arrays of the index.
    sizes = [len(shape_of(p)) - batch for p, batch in zip(positions, has, strict=True)]
    held = [axes_of_part(parts[i]) for i in places if parts[i] is not HOLE]
    ndim = max(sizes + held)
    positions = [lead(p, ndim) if batch else p for p, batch in zip(positions, has, strict=True)]
    if not has_x:
        return parts, positions
    return (np.arange(size).reshape(size, *(1,) * ndim), *parts), positions
