"""Layout ops on layout ops: views through views, joins and broadcasts."""

from collections.abc import Sequence
from typing import Any, TypeGuard

from ...ir.affine import Axis
from ...ir.sizes import require_least
from .values import Concat, Inset, Map, Pad, Value, View

# A reshape is moved through at most so many elementwise ops, which may be computed twice then.
MOVED = 32


def is_even(value: Value) -> TypeGuard[Map]:
    """Whether it is scalar code over numbers and arrays of its own shape."""
    return isinstance(value, Map) and all(arg.shape in ((), value.shape) for arg in value.args)


def even_maps(value: Map) -> list[Map]:
    """The maps that `value` is made of, each after its arguments; none where there are many."""
    maps: dict[Map, None] = {}
    stack = [value]
    while stack:
        last = stack.pop()
        maps.pop(last, None)  # it comes after all that need it
        maps[last] = None
        stack += [arg for arg in last.args if arg.shape != () and is_even(arg)]
        if len(maps) + len(stack) > MOVED:
            return []
    return list(maps)[::-1]


def broadcast_source(value: View) -> Value | None:
    """The source of a view that only broadcasts."""
    source = value.source
    lost = len(value.shape) - len(source.shape)
    for i, (axis, n) in enumerate(zip(value.axes, source.shape, strict=True)):
        if n == 1 and axis.out is None:
            continue
        if axis != Axis(i + lost, 0, 1) or value.shape[i + lost] != n:
            return None
    return source


def axis_through(axis: Axis, axes: Sequence[Axis]) -> Axis:
    """The axis of a source seen through a second view."""
    if axis.out is None:
        return axis
    outer = axes[axis.out]
    return Axis(outer.out, axis.start + axis.step * outer.start, axis.step * outer.step)


def _ends(axis: Axis, shape: tuple) -> tuple[int, int]:
    """The first and the last position of an axis of a source that a view sees."""
    last = axis.start if axis.out is None else axis.start + axis.step * (shape[axis.out] - 1)
    return min(axis.start, last), max(axis.start, last)


def seen_part(
    graph: Any, value: Concat | Pad, axes: Sequence[Axis], shape: tuple
) -> Value | None:  # fmt: skip
    """The one part of a `Concat`, or the block or the zeros of a `Pad`, if a view sees nothing
    else; None if it does."""
    if isinstance(value, Concat):
        found = _part(value, axes[value.axis], shape)
        if found is None:
            return None
        source, starts = found[0], [0] * len(axes)
        starts[value.axis] = found[1]
    else:
        inside = None if isinstance(value, Inset) else _is_inside(value, axes, shape)
        if not inside:
            return None if inside is None else graph.full(0.0, shape, value.dtype)
        source, starts = value.block, value.starts
    moved = [axis._replace(start=axis.start - s) for axis, s in zip(axes, starts, strict=True)]
    return graph.view(source, moved, shape)


def _part(joined: Concat, axis: Axis, shape: tuple) -> tuple[Value, int] | None:
    """The one part at which a view looks, and where it begins."""
    first, last = _ends(axis, shape)
    start = 0
    for part in joined.args:
        stop = start + part.shape[joined.axis]
        if start <= first and last < stop:
            require_least(first, start)
            require_least(stop, last + 1)
            return part, start
        start = stop
    return None


def _is_inside(padded: Pad, axes: Sequence[Axis], shape: tuple) -> bool | None:
    """Whether a view sees the block alone, or zeros alone; None where it sees both."""
    blocks = list(zip(axes, padded.starts, padded.block.shape, strict=True))
    for axis, start, n in blocks:
        first, last = _ends(axis, shape)
        for low, high in ((last + 1, start), (start + n, first)):
            if low <= high:
                require_least(high, low)
                return False
    for axis, start, n in blocks:
        first, last = _ends(axis, shape)
        if first < start or last >= start + n:
            return None
        require_least(first, start)
        require_least(start + n, last + 1)
    return True


__all__ = ["axis_through", "broadcast_source", "even_maps", "is_even", "seen_part"]
