"""`np.pad` in all its modes: constants, repeated elements, ramps and statistics."""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...core.array import implements
from ...core.primitive import bind, shape_of
from ...core.symbols import noted
from ...errors import ArgumentError, ArgumentTypeError, EmptyError, NoRuleError
from ..index import scatter
from ..runs import taken
from ..select import are_whole

_AGAIN = {"edge", "reflect", "symmetric", "wrap"}
_STATISTICS = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}
_OPTIONS = {
    "constant": {"constant_values"}, "edge": set(), "empty": set(),
    "reflect": {"reflect_type"}, "symmetric": {"reflect_type"}, "wrap": set(),
    "linear_ramp": {"end_values"}, **{mode: {"stat_length"} for mode in _STATISTICS},
}  # fmt: skip


@implements(np.pad)
def pad(array, pad_width, mode: Any = "constant", **kwargs):
    """The padded array, in every mode of np.pad but user-defined functions."""
    if callable(mode):
        raise NoRuleError(
            "pad: a function for mode writes in place: put the parts together by np.concatenate"
        )
    if mode not in _OPTIONS:
        raise ArgumentError(f"pad: mode={mode!r} must be one of {', '.join(sorted(_OPTIONS))}")
    if unknown := set(kwargs) - _OPTIONS[mode]:
        raise ArgumentError(f"pad: unsupported keywords for mode {mode!r}: {', '.join(unknown)}")
    widths = _widths(pad_width, len(shape_of(array)))
    if mode in ("constant", "empty"):
        return _constant(array, widths, **kwargs)
    for axis, (before, behind) in enumerate(widths):
        n = shape_of(array)[axis]
        if before or behind:
            if not n:
                raise EmptyError(f"pad: can't extend empty axis {axis} using mode {mode!r}")
            array = _padded(array, axis, n, (before, behind), mode, kwargs, len(widths))
    return array


def _widths(pad_width, ndim: int) -> list[tuple[int, int]]:
    """The numbers of elements before and after each axis."""
    if isinstance(pad_width, dict):
        given = {normalize_axis_index(axis, ndim): width for axis, width in pad_width.items()}
        pad_width = [np.broadcast_to(given.get(axis, 0), 2) for axis in range(ndim)]
    widths = np.asarray(noted(pad_width))
    if widths.dtype.kind not in "iu" and widths.size:
        raise ArgumentTypeError("`pad_width` must be of integral type.")
    if (widths < 0).any():
        raise ArgumentError("index can't contain negative values")
    return [(int(a), int(b)) for a, b in np.broadcast_to(widths, (ndim, 2))]


def _ends(value, ndim: int):
    """A number for each end of each axis, which may be tracked."""
    if hasattr(value, "shape") or np.ndim(value):
        return np.broadcast_to(value, (ndim, 2))
    return [(value, value)] * ndim


def _constant(x, widths, constant_values: Any = 0):
    shape = shape_of(x)
    inside = tuple(slice(b, b + n) for (b, _), n in zip(widths, shape, strict=True))
    full = tuple(b + n + a for (b, a), n in zip(widths, shape, strict=True))
    padded = bind(scatter, x, shape=full, index=inside)
    if not hasattr(constant_values, "level") and not (
        np.any(constant_values) or np.any(np.signbit(constant_values))
    ):
        return padded
    # The last axis is padded last, so the corners get its values.
    for axis, (ends, (b, a), n) in enumerate(
        zip(_ends(constant_values, len(shape)), widths, shape, strict=True)
    ):
        at = np.arange(b + n + a).reshape(-1, *(1,) * (len(shape) - 1 - axis))
        padded = np.where(at < b, ends[0], np.where(at >= b + n, ends[1], padded))
    return padded if padded.dtype == x.dtype else padded.astype(x.dtype)


def _padded(x, axis: int, n: int, widths: tuple[int, int], mode: str, options: dict, ndim: int):
    before, behind = widths
    if mode in _AGAIN and options.get("reflect_type", "even") == "even":
        return taken(x, np.pad(np.arange(n), widths, mode), axis)  # pyright: ignore
    if mode in _AGAIN:
        # Odd reflections are sums of elements with integer weights.
        weights = np.pad(np.eye(n), (widths, (0, 0)), mode, reflect_type="odd")  # pyright: ignore
        parts = weights[:before], weights[before + n :]
        made = [np.moveaxis(np.tensordot(w.astype(x.dtype), x, (1, axis)), 0, axis) for w in parts]
    elif mode == "linear_ramp":
        ends = _ends(options.get("end_values", 0), ndim)[axis]
        made = [
            _ramp(_part(x, axis, 0, 1), ends[0], before, axis),
            np.flip(_ramp(_part(x, axis, n - 1, n), ends[1], behind, axis), axis),
        ]
    else:
        made = _statistics(x, axis, n, widths, mode, options.get("stat_length"), ndim)
    return np.concatenate([made[0], x, made[1]], axis=axis)


def _part(x, axis: int, start: int, stop: int):
    return x[(*(slice(None),) * axis, slice(start, stop))]


def _ramp(edge, end, width: int, axis: int):
    """A ramp from the end value to the edge, which is excluded."""
    steps = np.arange(width).reshape(-1, *(1,) * (len(shape_of(edge)) - 1 - axis))
    if are_whole(edge):  # in the steps of `np.linspace`, for the same rounding
        out = steps * ((edge.astype(np.float64) - end) / max(width, 1)) + end
        return (out if edge.dtype == bool else np.floor(out)).astype(edge.dtype)
    t = (steps.astype(edge.dtype) / max(width, 1)).astype(edge.dtype)
    out = end + (edge - end) * t
    return out if out.dtype == edge.dtype else out.astype(edge.dtype)


def _statistics(x, axis, n, widths, mode, lengths, ndim):
    ends = (None, None) if lengths is None else _ends(lengths, ndim)[axis]
    made = []
    for behind, (length, width) in enumerate(zip(ends, widths, strict=True)):
        count = n if length is None else min(int(length), n)
        if not count:
            raise EmptyError("stat_length of 0 yields no value for padding")
        chunk = _part(x, axis, n - count, n) if behind else _part(x, axis, 0, count)
        number = _STATISTICS[mode](chunk, axis=axis, keepdims=True)
        if number.dtype != x.dtype:  # a mean of integers is rounded
            number = (number if x.dtype == bool else np.rint(number)).astype(x.dtype)
        shape = tuple(width if i == axis else m for i, m in enumerate(shape_of(x)))
        made.append(np.broadcast_to(number, shape))
    return made
