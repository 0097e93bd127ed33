"""Bounds conditions on named sizes: the elements that a value reads lie inside of its arguments."""

from ...ir.affine import Axis
from ...ir.naming import naming
from ...ir.sizes import require_least
from .buffered import Scatter
from .values import Pad, Take, Value, View


def require_inside(value: Value) -> None:
    """Make conditions of the program of what is not so for all sizes: no length below 0, slices and
    blocks inside of their arrays."""
    if naming() is None:
        return
    for n in value.shape:
        require_least(n, 0)
    if isinstance(value, (View, Take)):
        _axes_inside(value.axes, value.shape, value.source.shape)
    elif isinstance(value, Scatter):
        _axes_inside(value.axes, value.block.shape, value.shape)
    elif isinstance(value, Pad):
        for start, n, m in zip(value.starts, value.block.shape, value.shape, strict=True):
            require_least(start, 0)
            require_least(m, start + n)


def _axes_inside(axes: tuple, shape: tuple[int, ...], source: tuple[int, ...]) -> None:
    """Views of a source: from the first position on, and up to the last."""
    for axis, n in zip(axes, source, strict=True):
        if isinstance(axis, Axis):
            first = axis.start
            last = first if axis.out is None else first + axis.step * (shape[axis.out] - 1)
            low, high = (first, last) if axis.step >= 0 else (last, first)
            require_least(low, 0)
            require_least(n, high + 1)


__all__ = ["require_inside"]
