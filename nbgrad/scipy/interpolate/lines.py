"""`interp1d`: interpolation along one axis, by pieces of several kinds."""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...core.assertions import require
from ...core.primitive import shape_of
from ...errors import ArgumentError, DimensionMismatch, NoRuleError
from ...rules.select import take
from ...transforms.trees import register
from .fitting import make_interp_spline
from .points import column, floats, laid_out, places, queries

_ORDERS = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}
_STEPS = ("nearest", "nearest-up", "previous", "next")


@register(fields=("x", "y", "_spline", "_fill"))
class interp1d:
    """An interpolator of values y at the points x, along one axis of y.

    Arguments:
        x: the points (n,), in any order.
        y: the values, of length n along `axis`, by default the last one.
        kind: "linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear",
            "quadratic", "cubic", or the degree of a spline.
        axis: the axis of y along which x runs.
        copy: ignored, for SciPy's signature.
        bounds_error: whether points outside raise ValueError, the default without "extrapolate".
        fill_value: the value outside, one for below and one for above as a tuple, or "extrapolate".
        assume_sorted: whether x is increasing already.

    x, y, fill values and the points of evaluation are differentiable. The derivative of "linear" at
    a point is that of the piece on its right; kinds that are steps have the derivative 0 in the
    points. Raises ValueError as SciPy does.

    >>> line = nbgrad.scipy.interpolate.interp1d([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])
    >>> float(line(1.5)), float(nbgrad.grad(line)(1.5))
    (2.5, 3.0)
    """

    x: Any
    y: Any
    axis: int

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: str | int = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ):
        if isinstance(kind, str) and kind not in ("linear", *_STEPS, *_ORDERS):
            raise NoRuleError(
                f"interp1d: kind={kind!r} is unsupported: use 'linear', 'nearest', 'nearest-up', "
                "'previous', 'next', 'zero', 'slinear', 'quadratic', 'cubic', or an integer"
            )
        x, y = floats(x, "interp1d: x"), floats(y, "interp1d: y")
        if len(shape_of(x)) != 1:
            raise DimensionMismatch(
                f"interp1d: the x array must have exactly one dimension, not shape {shape_of(x)}"
            )
        if not shape_of(y):
            raise DimensionMismatch("interp1d: the y array must have at least one dimension")
        axis = normalize_axis_index(axis, len(shape_of(y)))
        n = shape_of(x)[0]
        if shape_of(y)[axis] != n:
            raise DimensionMismatch(
                "interp1d: x and y arrays must be equal in length along interpolation axis: "
                f"{n} and {shape_of(y)[axis]}"
            )
        if not assume_sorted:
            order = np.argsort(x, kind="stable")
            x, y = take(x, order), take(y, order, axis=axis)
        degree = _ORDERS.get(kind) if isinstance(kind, str) else int(kind)
        if n < (degree or 0) + 1:
            raise DimensionMismatch(
                f"interp1d: x and y arrays must have at least {(degree or 0) + 1} entries, not {n}"
            )
        self.x, self.y, self.axis, self._kind = x, y, axis, kind
        along = np.moveaxis(y, axis, 0)
        self._spline = None
        if degree is not None:
            self._kind = "spline"
            self._spline = make_interp_spline(x, along, degree, check_finite=False)
        rest = shape_of(along)[1:]
        self._fill: Any = None
        if isinstance(fill_value, str) and fill_value == "extrapolate":
            if bounds_error:
                raise ArgumentError("interp1d: cannot extrapolate and raise at the same time")
            bounds_error = False
            if kind == "previous":
                self._fill = (np.full(rest, np.nan), along[n - 1])
            elif kind == "next":
                self._fill = (along[0], np.full(rest, np.nan))
        else:
            pair = isinstance(fill_value, tuple) and len(fill_value) == 2
            below, above = fill_value if pair else (fill_value, fill_value)
            self._fill = tuple(_filling(z, rest) for z in (below, above))
            bounds_error = True if bounds_error is None else bounds_error
        self.bounds_error = bool(bounds_error)

    def __call__(self, x: Any) -> Any:
        """Return the values at the points x, with their axes in place of the one of y."""
        q = queries("interp1d", x)
        shape, q = shape_of(q), np.reshape(q, -1)
        n, along = shape_of(self.x)[0], np.moveaxis(self.y, self.axis, 0)
        ndim = len(shape_of(along))
        if self._spline is not None:
            out = self._spline(q)
        elif self._kind == "linear":
            out = _linear(self.x, along, q, n, ndim)
        else:
            out = take(along, _nearest(self.x, q, n, str(self._kind)), axis=0)
        if self._fill is not None:
            below, above = q < self.x[0], q > self.x[n - 1]
            if self.bounds_error:
                for outside, word in ((below, "below"), (above, "above")):
                    require(
                        np.logical_not(np.any(outside)),
                        f"interp1d: a value in x_new is {word} the interpolation range; pass "
                        "fill_value=... or bounds_error=False",
                    )
            for outside, value in zip((below, above), self._fill, strict=True):
                out = np.where(column(outside, ndim), value, out)
        return laid_out(out, shape, self.axis)


def _filling(value: Any, rest: tuple[int, ...]) -> Any:
    value = floats(value, "interp1d: fill_value")
    try:
        return np.broadcast_to(value, rest) if shape_of(value) != (1,) or rest else value[0]
    except ValueError:
        raise DimensionMismatch(
            f"interp1d: fill_value of shape {shape_of(value)} must broadcast up to {rest}"
        ) from None


def _linear(x: Any, y: Any, q: Any, n: int, ndim: int) -> Any:
    if n == 1:
        return np.broadcast_to(y, (*shape_of(q), *shape_of(y)[1:]))
    at = places(x, q, 0, n - 2)
    x0, x1, y0, y1 = take(x, at), take(x, at + 1), take(y, at, axis=0), take(y, at + 1, axis=0)
    equal = x0 == x1
    share = np.where(equal, 0.0, q - x0) / np.where(equal, 1.0, x1 - x0)
    return y0 + (y1 - y0) * column(share, ndim)


def _nearest(x: Any, q: Any, n: int, kind: str) -> Any:
    """The index of the point whose value a step has."""
    if kind in ("nearest", "nearest-up"):
        middle = x[1:] / 2.0 + x[:-1] / 2.0
        return np.searchsorted(middle, q, "left" if kind == "nearest" else "right")
    if kind == "previous":
        return places(x, q, 0, n - 1)
    return np.minimum(np.searchsorted(x, q, "left"), n - 1)
