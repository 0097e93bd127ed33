"""Layout ops on layout ops: views through views, joins and broadcasts."""

from collections.abc import Sequence
from typing import TypeGuard

from ...ir.affine import Axis
from ...ir.sizes import require_least
from .values import Concat, Map, Value, View

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


def part_seen(joined: Concat, axes: Sequence[Axis], shape: tuple) -> tuple[Value, int] | None:
    """The one part of a `Concat` that a view looks at, and where it begins."""
    out, first, step = axes[joined.axis]
    last = first if out is None else first + step * (shape[out] - 1)
    start = 0
    for part in joined.args:
        stop = start + part.shape[joined.axis]
        if start <= min(first, last) and max(first, last) < stop:
            require_least(min(first, last), start)
            require_least(stop, max(first, last) + 1)
            return part, start
        start = stop
    return None


__all__ = ["axis_through", "broadcast_source", "even_maps", "is_even", "part_seen"]
