"""Medians and quantiles, by interpolation between sorted elements."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.array import implements
from ...core.primitive import shape_of
from ...errors import ArgumentError, EmptyError, NoRuleError, OutError
from ...ir.sizes import is_dynamic
from ...kernels import shapes
from ...runtime.kinds import is_a
from ..dtypes import common_type, float_type
from ..nondiff import stopped
from ..order import order_of
from ..select import take_along_axis

# Hyndman and Fan 1996, Sample quantiles in statistical packages: the two constants of each
# continuous method, which give the position of the quantile q among the n sorted elements.
_CONSTANTS = {
    "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip


_both = np.logical_and


def _between(n, q, alpha: float, beta: float):
    return n * q + (alpha + q * (1 - alpha - beta)) - 1


def _stepped(keep: Callable) -> Callable:
    """The weight of a method that selects one element: the next one, unless `keep` is true."""
    return lambda part, low: np.where(keep(part, low), 0.0, 1.0)


_METHODS: dict[str, tuple[Callable, Callable]] = {
    "linear": (lambda n, q: (n - 1) * q, lambda part, low: part),
    "lower": (lambda n, q: (n - 1) * q, lambda part, low: np.zeros_like(part)),
    "higher": (lambda n, q: (n - 1) * q, _stepped(lambda part, low: part == 0)),
    "nearest": (
        lambda n, q: (n - 1) * q,
        _stepped(
            lambda part, low: np.logical_or(part < 0.5, _both(part == 0.5, low % 2 == 0))
        ),
    ),
    "midpoint": (lambda n, q: (n - 1) * q, lambda part, low: np.where(part == 0, 0.0, 0.5)),
    "inverted_cdf": (lambda n, q: n * q - 1, _stepped(lambda part, low: part == 0)),
    "averaged_inverted_cdf": (
        lambda n, q: n * q - 1, lambda part, low: np.where(part == 0, 0.5, 1.0)
    ),
    "closest_observation": (
        lambda n, q: n * q - 1.5, _stepped(lambda part, low: _both(part == 0, low % 2 == 1))
    ),
    **{
        name: (lambda n, q, pair=pair: _between(n, q, *pair), lambda part, low: part)
        for name, pair in _CONSTANTS.items()
    },
}  # fmt: skip
"""For each method, the position among the sorted elements, and the weight of the next element as a
function of the fractional part and the position below."""

_WHOLE = {"lower", "higher", "nearest", "inverted_cdf", "closest_observation"}
"""Methods that return elements, in their dtype."""


def _in_a_row(a, axis, op: str):
    """The array with the reduced axes flattened into the last, and the shapes of the result without
    and with these axes."""
    shape = shape_of(a)
    axes = shapes.axes_of(tuple(axis) if isinstance(axis, list) else axis, len(shape), op)
    kept = [i for i in range(len(shape)) if i not in axes]
    length = math.prod(shape[i] for i in axes)
    lead = tuple(shape[i] for i in kept)
    flat = np.reshape(np.transpose(a, (*kept, *axes)), (*lead, length))
    return flat, lead, shapes.reduced(shape, axes, True)


def _lerp(a, b, t):
    """Linear interpolation from the nearer end, exact at t = 1."""
    step = b - a
    return np.where(t >= 0.5, b - step * (1 - t), a + step * t)


def _quantile(op: str, a, q, axis, method: str, keepdims, skip: bool):
    """Quantiles of the elements; with `skip`, ignoring nan."""
    if method not in _METHODS:
        raise ArgumentError(f"{op}: method={method!r} must be one of {', '.join(sorted(_METHODS))}")
    flat, lead, opened = _in_a_row(a, axis, op)
    at_ends = (q.dtype if hasattr(q, "dtype") else np.asarray(q).dtype).kind in "iub"
    if flat.dtype.kind != "f" and not (at_ends or method in _WHOLE):
        flat = flat.astype(np.float64)
    # Integer quantiles are the first and the last element, which NumPy does not convert.
    takes_one = method in _WHOLE or type(q) in (int, float) or (at_ends and method == "linear")
    n, q = flat.shape[-1], q if hasattr(q, "dtype") else np.asarray(q, np.float64)
    other = np.dtype(np.float64) if at_ends else q.dtype
    dtype = flat.dtype if takes_one else common_type(flat.dtype, other)
    values = stopped(q)
    if is_a(values, np.ndarray) and not np.all(_both(values >= 0, values <= 1)):
        raise ArgumentError(f"{op}: quantiles lie between 0 and 1, percentiles between 0 and 100")
    times = shape_of(q)
    if not n and math.prod(times):
        raise EmptyError(f"{op}: the shape {shape_of(a)} has no elements along {axis}")
    place, weight = _METHODS[method]
    ordered = take_along_axis(flat, order_of(flat, len(lead)), -1)
    isnan = np.isnan(flat)
    # One row of quantiles for each row of elements.
    many = np.reshape(q, (*(1,) * len(lead), math.prod(times)))
    # A named size is a number of the program.
    count: Any = n if not is_dynamic(n) else n + isnan[..., :1].astype(np.int64) * 0
    if skip:
        count = np.maximum(n - np.sum(isnan, axis=-1, keepdims=True), 1)
    at = np.broadcast_to(place(count, many), (*lead, math.prod(times)))
    below = np.floor(stopped(at))
    t = weight(at - below, below)
    low = np.minimum(np.maximum(below.astype(np.int64), 0), count - 1)
    high = np.minimum(np.maximum(below.astype(np.int64) + 1, 0), count - 1)
    inside = _both(stopped(at) >= 0, stopped(at) < count - 1) if n > 1 else np.zeros(at.shape, bool)
    t = np.where(inside, t, 0.0 if method != "averaged_inverted_cdf" else t)
    first, second = take_along_axis(ordered, low, -1), take_along_axis(ordered, high, -1)
    if flat.dtype.kind == "f":
        out = _lerp(first, second, t.astype(dtype))
        hidden = (np.all if skip else np.any)(isnan, axis=-1, keepdims=True)
        out = np.where(hidden, np.nan, out)
    else:
        out = np.where(t >= 0.5, second, first)
    out = np.moveaxis(out, -1, 0)
    return np.reshape(out, (*times, *(opened if keepdims else lead)))


def _checked(op: str, out, overwrite_input, weights) -> None:
    if out is not None or overwrite_input:
        raise OutError(f"{op}: neither out=... nor the input can be written to: use what it "
                        "returns")  # fmt: skip
    if weights is not None:
        raise NoRuleError(
            f"{op}: weights have no derivative rule: with np.argsort and np.cumsum of the weights, "
            "np.interp finds the quantile"
        )


def _quantiles(op: str, scale: float, skip: bool) -> Callable:
    def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear",
                 keepdims=False, *, weights=None):  # fmt: skip
        _checked(op, out, overwrite_input, weights)
        if scale != 1.0:
            q = q / scale if hasattr(q, "dtype") or not np.ndim(q) else np.asarray(q) / scale
        return _quantile(op, a, q, axis, method, bool(keepdims), skip)

    quantile.__name__ = op
    quantile.__doc__ = (
        f"Quantiles over `axis`{', ignoring nan' if skip else ''}, by every `method` of NumPy. The "
        "adjacent elements share the cotangent, and `q` has a derivative if the method "
        "interpolates."
    )
    return quantile


implements(np.quantile)(_quantiles("quantile", 1.0, False))
implements(np.percentile)(_quantiles("percentile", 100.0, False))
implements(np.nanquantile)(_quantiles("nanquantile", 1.0, True))
implements(np.nanpercentile)(_quantiles("nanpercentile", 100.0, True))


@implements(np.median)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The median over `axis`; nan if an element is nan."""
    _checked("median", out, overwrite_input, None)
    flat, lead, opened = _in_a_row(a, axis, "median")
    length = flat.shape[-1]
    if not length:
        return np.full(opened if keepdims else lead, np.nan, float_type(flat.dtype))
    middle = slice((length - 1) // 2, length // 2 + 1)
    places = order_of(flat, len(lead), range(length)[middle])[..., middle]
    mean = np.mean(take_along_axis(flat, places), axis=-1)
    mean = np.where(np.any(np.isnan(flat), axis=-1), np.nan, mean)
    return np.reshape(mean, opened) if keepdims else mean


@implements(np.nanmedian)
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The median over `axis`, ignoring nan; nan if all elements are."""
    _checked("nanmedian", out, overwrite_input, None)
    if not a.size:
        return median(a, axis, keepdims=keepdims)
    return _quantile("nanmedian", a, 0.5, axis, "linear", bool(keepdims), True)
