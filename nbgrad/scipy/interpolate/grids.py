"""Interpolation on grids of any number of axes."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.array import Array
from ...core.assertions import require
from ...core.primitive import shape_of
from ...errors import ArgumentError, DimensionMismatch
from ...kernels import shapes
from ...rules.layout import given
from ...rules.select import take
from ...transforms.trees import register
from .bsplines import basis
from .cubic import PchipInterpolator
from .fitting import make_interp_spline
from .points import column, floats, places, queries

_DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}
_POINTS = {"linear": 1, "nearest": 1, "pchip": 4} | {name: k + 1 for name, k in _DEGREES.items()}


@register(fields=("grid", "values", "fill_value"))
class RegularGridInterpolator:
    """An interpolator of values on a grid, whose points along each axis may lie unevenly.

    Arguments:
        points: for each axis, the points (m,), increasing, or decreasing if they are plain.
        values: the values (m1, ..., mn, ...).
        method: "linear" or "nearest"; "slinear", "cubic" or "quintic", products of splines;
            "pchip", `PchipInterpolator` along each axis in turn, from the last one.
        bounds_error: whether points outside raise ValueError, the default.
        fill_value: the value outside, nan by default; None extrapolates.

    Points, values and the positions of evaluation are differentiable, also in compiled programs. On
    the grid, the derivative of "linear" in a position is that of the cell above; "nearest" has the
    derivative 0. Raises ValueError as SciPy does.

    >>> table = np.array([[0.0, 1.0], [2.0, 5.0]])
    >>> at = nbgrad.scipy.interpolate.RegularGridInterpolator(([0.0, 1.0], [0.0, 1.0]), table)
    >>> at([0.5, 0.5]), nbgrad.grad(lambda xi: at(xi)[0])(np.array([0.5, 0.5]))
    (array([2.]), array([3., 2.]))
    """

    grid: tuple
    values: Any
    method: str

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
    ):
        op = "RegularGridInterpolator"
        self.method = _method(method)
        values = given(values)
        if values.dtype.kind != "f":
            values = floats(values, f"{op}: values")
        if len(points) > len(shape_of(values)):
            raise DimensionMismatch(
                f"{op}: there are {len(points)} point arrays, but values has "
                f"{len(shape_of(values))} dimensions"
            )
        grid = []
        for i, p in enumerate(points):
            p = floats(p, f"{op}: points")
            if len(shape_of(p)) != 1:
                raise DimensionMismatch(f"{op}: the points in dimension {i} must be 1-dimensional")
            if shape_of(p)[0] != shape_of(values)[i]:
                raise DimensionMismatch(
                    f"{op}: there are {shape_of(p)[0]} points and {shape_of(values)[i]} values in "
                    f"dimension {i}"
                )
            falls = np.all(p[1:] < p[:-1])
            if shape_of(p)[0] > 1 and not isinstance(falls, Array) and falls:
                p, values = np.flip(p), np.flip(values, i)
            require(
                np.all(p[1:] > p[:-1]),
                f"{op}: the points in dimension {i} must be strictly ascending or descending",
            )
            grid.append(p)
        self.grid, self.values, self.bounds_error = tuple(grid), values, bool(bounds_error)
        self.fill_value = None if fill_value is None else given(fill_value)
        for i, p in enumerate(self.grid):
            least = _POINTS[self.method]
            if shape_of(p)[0] < least:
                raise DimensionMismatch(
                    f"{op}: there are {shape_of(p)[0]} points in dimension {i}, but method "
                    f"{self.method} requires at least {least} points per dimension"
                )

    def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> Any:
        """Return the values at the positions xi (..., n), or at a tuple of n coordinates.

        `nu` are the orders of derivatives for each axis, for splines.
        """
        op, n = "RegularGridInterpolator", len(self.grid)
        method = self.method if method is None else _method(method)
        if nu is not None and method not in _DEGREES:
            raise ArgumentError(
                f"{op}: can only compute derivatives for methods 'slinear', 'cubic' and 'quintic'"
            )
        orders = [0] * n if nu is None else [shapes.whole(i, f"{op}: nu") for i in nu]
        if isinstance(xi, tuple):
            xi = np.stack(np.broadcast_arrays(*(queries(op, x) for x in xi)), axis=-1)
        else:
            xi = queries(op, xi)
        if len(shape_of(xi)) == 1 and (n == 1 or shape_of(xi)[0] == n):
            xi = np.reshape(xi, (-1, n))
        if not shape_of(xi) or shape_of(xi)[-1] != n:
            raise DimensionMismatch(
                f"{op}: the requested sample points xi of shape {shape_of(xi)} do not have the "
                f"dimension {n} of the grid as their last axis"
            )
        lead = shape_of(xi)[:-1]
        xi = np.reshape(xi, (-1, n))
        axes = [xi[:, i] for i in range(n)]
        outside, missing = False, False
        for i, (q, p) in enumerate(zip(axes, self.grid, strict=True)):
            low, high = q < p[0], q > p[shape_of(p)[0] - 1]
            beyond = np.logical_or(low, high)
            missing = np.logical_or(missing, np.isnan(q))
            if self.bounds_error:
                require(
                    np.logical_not(np.any(np.logical_or(beyond, np.isnan(q)))),
                    f"{op}: one of the requested xi is out of bounds in dimension {i}; pass "
                    "bounds_error=False for fill_value there",
                )
            outside = np.logical_or(outside, beyond)
        if method == "pchip":
            total = _monotone(self.grid, self.values, axes)
        else:
            total = self._products(method, axes, orders)
        ndim = len(shape_of(total))
        if not self.bounds_error and self.fill_value is not None:
            total = np.where(column(outside, ndim), self.fill_value, total)
        total = np.where(column(missing, ndim), np.nan, total)
        return np.reshape(total, (*lead, *shape_of(total)[1:]))

    def _products(self, method: str, axes: list, orders: list[int]) -> Any:
        """Sums of values or coefficients times a product of weights, one for each axis."""
        values, terms = self.values, []
        for i, (p, q) in enumerate(zip(self.grid, axes, strict=True)):
            if method in _DEGREES:
                k = _DEGREES[method]
                spline = make_interp_spline(p, values, k, axis=i)
                values = np.moveaxis(spline.c, 0, i)
                at, weights = basis(spline.t, q, k, orders[i])
                terms.append([(at - k + j, weights[:, j]) for j in range(k + 1)])
            else:
                terms.append(_beside(p, q, method))
        total: Any = None
        for corner in itertools.product(*terms):
            part = _gathered(values, [at for at, _ in corner])
            weights = [w for _, w in corner if w is not None]
            if weights:
                weight = math.prod(weights[1:], start=weights[0])
                part = part * column(weight, len(shape_of(part)))
            total = part if total is None else total + part
        return total


def _monotone(grid: tuple, values: Any, axes: list) -> Any:
    """`PchipInterpolator` along each axis: behind the last one, each point has its own values."""
    n = len(grid)
    last = PchipInterpolator(grid[-1], values, axis=n - 1)
    out = np.moveaxis(last(axes[-1]), n - 1, 0)
    for i in range(n - 2, -1, -1):
        pieces, q = PchipInterpolator(grid[i], out, axis=i + 1), axes[i]
        size, count, *rest = shape_of(pieces.c)[1:]
        at = places(grid[i], q, 0, size - 1)
        c = np.reshape(pieces.c, (4, size * count, *rest))
        cubic, square, slope, out = take(c, at * count + np.arange(count), axis=1)
        s = column(q - take(grid[i], at), len(shape_of(out)))
        out = ((cubic * s + square) * s + slope) * s + out
    return out


def _method(method: str) -> str:
    if method not in _POINTS:
        raise ArgumentError(f"RegularGridInterpolator: method {method!r} is not defined")
    return method


def _gathered(values: Any, at: list) -> Any:
    """values[at[0], at[1], ...], by flat positions, which may be traced."""
    sizes = shape_of(values)[: len(at)]
    place, size = at[0], sizes[0]
    for n, i in zip(sizes[1:], at[1:], strict=True):
        place, size = place * n + i, size * n
    flat = np.reshape(values, (size, *shape_of(values)[len(at) :]))
    return take(flat, place, axis=0)


def _beside(p: Any, q: Any, method: str) -> list[tuple[Any, Any]]:
    """The positions along one axis whose values are read, and their weights; None is a weight 1."""
    n = shape_of(p)[0]
    if n == 1:
        return [(0 * np.searchsorted(p, q), None)]
    at = places(p, q, 0, n - 2)
    low, high = take(p, at), take(p, at + 1)
    share = (q - low) / (high - low)
    if method == "nearest":
        return [(at + np.where(share <= 0.5, 0, 1), None)]
    return [(at, 1.0 - share), (at + 1, share)]


def interpn(
    points: Sequence[Any], values: Any, xi: Any, method: str = "linear", bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> Any:  # fmt: skip
    """Return values on a grid, interpolated at xi: `RegularGridInterpolator` in one call.

    >>> x = np.array([0.0, 1.0, 2.0])
    >>> nbgrad.scipy.interpolate.interpn((x,), x**2, [[1.5]])
    array([2.5])
    """
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)
