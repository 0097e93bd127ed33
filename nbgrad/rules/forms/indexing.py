"""Static forms of reading and writing by index."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...core.symbols import Symbol
from ...errors import EagerOnlyError, IndexOutOfBounds
from ...ir.affine import Axis
from ...ir.naming import tagged
from ...ir.sizes import is_dynamic, require_least
from ...runtime.kinds import is_a
from ..dtypes import BOOL, INT

HOLE = "position"
"""Placeholder in a static index for a position that is an argument of the op."""


def filled(index: Any, positions: Iterable) -> tuple:
    """The index with its holes filled by positions."""
    rest = iter(positions)
    parts = index if isinstance(index, tuple) else (index,)
    return tuple([np.asarray(next(rest)) if part is HOLE else part for part in parts])


def template_of(index: Any, shape: tuple[int, ...]) -> tuple[list[Any], tuple, int, tuple]:
    """The access pattern of an index into an array of `shape`: an `Axis` or an array of integers
    for each axis; the shape of the result; the position and the shape of the arrays' axes in it."""
    template, out, place, joint = outline_of(index, shape)
    for axis, part in enumerate(template):
        if is_a(part, np.ndarray):
            template[axis] = _regular(part, place, joint, shape[axis])
    return template, out, place, joint


def outline_of(index: Any, shape: tuple[int, ...]) -> tuple[list[Any], tuple, int, tuple]:
    """`template_of` without inspecting the values of arrays."""
    parts = list(index) if isinstance(index, tuple) else [index]
    flat: list[Any] = []
    for part in parts:
        if _is_truth(part):
            flat.append(bool(part))
        elif is_a(part, np.ndarray) and part.dtype == bool:
            flat += list(np.nonzero(part))
        else:
            flat.append(part)

    def is_array(part: Any) -> bool:
        return hasattr(part, "shape") and not is_a(part, np.generic)

    arrays, truths = any(map(is_array, flat)), [part for part in flat if type(part) is bool]
    if arrays and truths:
        raise EagerOnlyError(
            "an index of True or False beside arrays is eager only: leave it out, or write None "
            "for a new axis"
        )
    if arrays:
        flat = [np.asarray(p) if is_a(p, (int, np.integer)) else p for p in flat]
    # The axes of arrays are in one place: theirs, or the front if anything separates them, even an
    # ellipsis of no axes. The same holds for True or False, which has one axis, and numbers.
    joined = [i for i, part in enumerate(flat) if (arrays or truths) and _is_position(part)]
    together = not joined or len(joined) == joined[-1] - joined[0] + 1
    if truths:
        joint = (int(all(truths)),)
    else:
        joint = np.broadcast_shapes(*(part.shape for part in flat if is_array(part)))
    used = sum(all(part is not x for x in (None, Ellipsis, True, False)) for part in flat)
    gaps = [i for i, part in enumerate(flat) if part is Ellipsis]
    at = gaps[0] if gaps else len(flat)
    flat[at : at + len(gaps)] = [slice(None)] * (len(shape) - used)
    place = None if together else 0
    out: list[int] = [] if together else list(joint)
    template: list[Any] = []
    source = 0
    for part in flat:
        if place is None and (is_array(part) or (truths and _is_position(part))):
            place = len(out)
            out += joint
        if part is None:
            out.append(1)
        elif type(part) is not bool:
            n = shape[source]
            if is_array(part):
                if any(map(is_dynamic, shape)):
                    _require_fitting(parts, shape)
                template.append(part)
            elif isinstance(part, slice):
                start, length, step = _along(part, n)
                template.append(Axis(len(out), start, step))
                out.append(length)
            else:
                template.append(Axis(None, _position(part, n), 0))
            source += 1
    if not arrays:
        return template, tuple(out), len(out), ()
    return template, tuple(out), place or 0, tuple(joint)


def _is_position(part: Any) -> bool:
    """Whether a part of an index is neither a slice nor a new axis nor an ellipsis."""
    return part is not None and part is not Ellipsis and not isinstance(part, slice)


def _require_fitting(parts: Sequence[Any], shape: tuple[int, ...]) -> None:
    """Raise IndexError for a mask over an axis of a named size."""
    masks = [p for p in parts if is_a(p, np.ndarray) and p.dtype == bool and p.ndim]
    for mask in masks:
        at = shape[: mask.ndim] if parts[0] is mask else None
        if at is None or any(is_dynamic(n) for n in at):
            raise IndexOutOfBounds(
                "a mask over named sizes: use np.where(mask, x, other)", code="NB-SIZES"
            )


def _along(part: slice, n: int) -> tuple[int, int, int]:
    """The start, length and step of a slice of n elements. For named sizes, bounds that NumPy would
    clip are conditions of the program."""
    if not any(map(is_dynamic, (n, part.start, part.stop))):
        start, stop, step = part.indices(n)
        return start, len(range(start, stop, step)), step

    def place(at: int | None, default: int, room: int) -> int:
        if at is None:
            return default
        if at < 0:
            require_least(-at, 1)
            at = n + at
        require_least(at, 0)
        require_least(room, at)
        return at

    step = 1 if part.step is None else int(part.step)
    if step > 0:
        start, stop = place(part.start, 0, n), place(part.stop, n, n)
        span = stop - start
    else:
        start, stop = place(part.start, n - 1, n - 1), place(part.stop, -1, n - 1)
        span = start - stop
    require_least(span, 0)
    return start, (span + abs(step) - 1) // abs(step), step


def _position(part: int, n: int) -> int:
    """A position, counted from the start if it is negative."""
    if is_dynamic(n) or is_dynamic(part):
        return part if part >= 0 else n + part
    return int(part) % n if n else 0


def _is_truth(part: Any) -> bool:
    """Whether a part of an index is True or False, a mask without axes."""
    truth = is_a(part, (bool, np.bool_))
    return truth or (is_a(part, np.ndarray) and part.dtype == bool and not part.ndim)


def _takes_nothing(index: Any) -> bool:
    """Whether a part of an index is False."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(_is_truth(part) and not part for part in parts)


def _regular(index: np.ndarray, place: int, joint: tuple, n: int) -> Any:
    """An `Axis` for an array of equal steps along one axis; other arrays without negative
    indices."""
    if is_dynamic(n) and index.size:
        require_least(n, tagged(int(index.max()) + 1))
        require_least(n, tagged(-int(index.min())))
    index = np.where(index < 0, index + n, index).astype(np.int64)
    if index.size == 1:
        return Axis(None, int(index.ravel()[0]), 0)
    long = [i for i, length in enumerate(index.shape) if length > 1]
    if len(long) == 1 and 0 < index.size < 1 << 20:
        line = index.ravel()
        steps = np.diff(line)
        if (steps == steps[0]).all():
            axis = place + len(joint) - index.ndim + long[0]
            return Axis(axis, int(line[0]), int(steps[0]))
    return index


def _template(graph: Any, index: Any, given: Sequence[Any], shape: tuple):
    """The template with values in place of arrays: `(axes, arrays, result shape, place)`."""
    rest = iter(given)

    def known(part: Any) -> Any:
        if part is HOLE:
            value = next(rest)
            return value if value.shape else graph.reshape(value, (1,) * 0)
        return part

    index = tuple(known(p) for p in index) if isinstance(index, tuple) else known(index)
    template, out, place, joint = template_of(index, shape)
    axes: list[Any] = []
    arrays: list[Any] = []
    for part, n in zip(template, shape, strict=True):
        if isinstance(part, Axis):
            axes.append(part)
            continue
        is_constant = is_a(part, np.ndarray)
        value = graph.constant(part) if is_constant else _positive(graph, part, n)
        arrays.append(graph.broadcast(value, joint))
        axes.append(len(arrays) - 1)
    return tuple(axes), arrays, out, place, joint


def _positive(graph: Any, value: Any, n: int) -> Any:
    """Positions with negative ones counted from the start."""
    message = f"an index is out of bounds for an axis of length {n}"
    value = graph.within(graph.cast(value, INT), -n, n, message)
    zero, size = graph.full(0, (), INT), graph.full(n, (), INT)
    below = graph.map("x < y", (value, zero), BOOL)
    return graph.map("select(x, y, z)", (below, graph.map("x + y", (value, size), INT), value), INT)


def gather(graph: Any, symbol: Symbol, x: Any, *given: Any) -> Any:
    """Elements at an index, with its holes filled by `given`."""
    x = graph.cast(x, symbol.dtype)
    if _takes_nothing(symbol.params["index"]):
        return graph.full(0, symbol.shape, x.dtype)
    axes, arrays, out, place, joint = _template(graph, symbol.params["index"], given, x.shape)
    if not arrays:
        return graph.view(x, axes, out)
    return graph.take(x, arrays, axes, out, place, len(joint))


def scatter(graph, symbol, ct, *given):
    shape = symbol.shape
    if not ct.size:
        return graph.full(0, shape, ct.dtype)
    axes, arrays, out, place, joint = _template(graph, symbol.params["index"], given, shape)
    ct = graph.broadcast(ct, out)
    placed = None if arrays else _padded(graph, ct, axes, shape)
    if placed is not None:
        return placed
    return graph.scatter(ct, arrays, axes, shape, place, len(joint))


def _padded(graph: Any, ct: Any, axes: Sequence[Axis], shape: tuple) -> Any | None:
    """Zeros with `ct` at slices of step 1 or -1; None for other steps and for diagonals."""
    region = _region(graph, ct, axes)
    return None if region is None else graph.pad(region[0], region[1], shape)


def _region(graph: Any, ct: Any, axes: Sequence[Axis]) -> tuple[Any, list[int]] | None:
    """The block that slices select, in the order of the source's axes, and its start."""
    outs = [axis.out for axis in axes if axis.out is not None]
    if len(set(outs)) != len(outs):
        return None
    starts, block = [], []
    back: list[Axis | None] = [None] * len(ct.shape)
    for axis, (out, start, step) in enumerate(axes):
        n = 1 if out is None else ct.shape[out]
        if out is not None:
            if n > 1 and abs(step) != 1:
                return None
            back[out] = Axis(axis, n - 1, -1) if step < 0 else Axis(axis, 0, 1)
        starts.append(start + step * (n - 1) if step < 0 else start)
        block.append(n)
    seen = [axis or Axis(None, 0, 0) for axis in back]
    return graph.view(ct, seen, tuple(block)), starts


def assign(graph, symbol, x, value, *given):
    axes, arrays, out, place, joint = _template(graph, symbol.params["index"], given, x.shape)
    x, value = graph.cast(x, symbol.dtype), graph.cast(value, symbol.dtype)
    if 0 in out:
        return x
    while len(value.shape) > len(out):
        value = graph.reshape(value, value.shape[1:])
    value = graph.broadcast(value, out)
    region = None if arrays else _region(graph, value, axes)
    if region is None:
        return graph.written(x, value, arrays, axes, place, len(joint))
    block, starts = region
    if block.shape == x.shape:
        return block
    return graph.inset(x, block, starts)
