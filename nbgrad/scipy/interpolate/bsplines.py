"""B-splines, with derivatives in knots, coefficients and points."""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...core.assertions import require
from ...core.primitive import shape_of
from ...errors import ArgumentError, DimensionMismatch
from ...kernels import shapes
from ...rules.select import take
from ...transforms.trees import register
from .points import column, floats, laid_out, places, queries


@register(fields=("t", "c"))
class BSpline:
    """A spline of degree k as a sum of B-splines on the knots t, times the coefficients c.

    Arguments:
        t: the knots (n + k + 1,), not decreasing.
        c: the coefficients, at least n along `axis`; of more, the first n.
        k: the degree.
        extrapolate: whether the first and the last piece continue outside of t[k] ... t[n], the
            default; False gives nan there, "periodic" repeats the spline.
        axis: the axis of c along which the B-splines lie.

    Knots, coefficients and points are differentiable, also in compiled programs, by de Boor's
    algorithm. At a knot, a derivative is that of the piece on its right, at t[n] of the last piece.
    Raises ValueError as SciPy does.

    >>> hat = nbgrad.scipy.interpolate.BSpline([0.0, 1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 2.0], 1)
    >>> float(hat(1.25)), float(nbgrad.grad(hat)(2.5))
    (0.75, 2.0)
    """

    t: Any
    c: Any
    k: int
    extrapolate: bool | str
    axis: int

    def __init__(self, t: Any, c: Any, k: int, extrapolate: bool | str = True, axis: int = 0):
        t, c, k = floats(t, "BSpline: t"), floats(c, "BSpline: c"), shapes.whole(k, "BSpline: k")
        if not shape_of(c):
            raise DimensionMismatch("BSpline: coefficients must be at least 1-dimensional")
        axis = normalize_axis_index(axis, len(shape_of(c)))
        if k < 0:
            raise ArgumentError(f"BSpline: the spline order k={k} cannot be negative")
        if len(shape_of(t)) != 1:
            raise DimensionMismatch(
                f"BSpline: the knot vector must be one-dimensional, not of shape {shape_of(t)}"
            )
        n = shape_of(t)[0] - k - 1
        if n < k + 1:
            raise DimensionMismatch(
                f"BSpline: {shape_of(t)[0]} knots; need at least {2 * k + 2} for degree {k}"
            )
        require(np.all(np.isfinite(t)), "BSpline: knots should not have nans or infs")
        require(np.all(t[1:] >= t[:-1]), "BSpline: knots must be in a non-decreasing order")
        require(t[k] < t[n], "BSpline: need at least two internal knots")
        c = np.moveaxis(c, axis, 0)
        if shape_of(c)[0] < n:
            raise DimensionMismatch(
                f"BSpline: knots, coefficients and degree are inconsistent: {shape_of(t)[0]} knots "
                f"of degree {k} need {n} coefficients, not {shape_of(c)[0]}"
            )
        self._set(t, c, k, extrapolate, axis)

    def _set(self, t: Any, c: Any, k: int, extrapolate: Any, axis: int) -> None:
        self.t, self.c, self.k, self.axis = t, c, k, axis
        self.extrapolate = extrapolate if extrapolate == "periodic" else bool(extrapolate)

    @property
    def tck(self) -> tuple:
        """The knots, the coefficients and the degree."""
        return self.t, self.c, self.k

    def __call__(self, x: Any, nu: int = 0, extrapolate: bool | str | None = None) -> Any:
        """Return the values, or the derivatives of order `nu`, at the points x of any shape."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        nu = shapes.whole(nu, "BSpline: nu")
        if nu < 0:
            raise ArgumentError(f"BSpline: order of derivative nu={nu} cannot be negative")
        t, k = self.t, self.k
        n = shape_of(t)[0] - k - 1
        q = queries("BSpline", x)
        shape, q = shape_of(q), np.reshape(q, -1)
        first, last = t[k], t[n]
        if extrapolate == "periodic":
            q, extrapolate = first + np.mod(q - first, last - first), False
        at = _intervals(t, q, k)
        ndim = len(shape_of(self.c))
        parts = [take(self.c, at - k + i, axis=0) for i in range(k + 1)]
        out = _de_boor(_near(t, at, k), parts, q, k, nu, ndim)
        inside = np.logical_not(np.isnan(q))
        if not extrapolate:
            inside = np.logical_and(q >= first, q <= last)
        if not extrapolate or k - nu < 1:
            out = np.where(column(inside, ndim), out, np.nan)
        return laid_out(out, shape, self.axis)

    def derivative(self, nu: int = 1) -> "BSpline":
        """Return the derivative of order `nu`, a BSpline of degree k - nu."""
        if nu < 0:
            return self.antiderivative(-nu)
        t, k = self.t, self.k
        if nu > k:
            raise ArgumentError(
                f"BSpline: order of derivative (nu = {nu}) must be <= order of spline (k = {k})"
            )
        n = shape_of(t)[0] - k - 1
        c, ndim = self.c[:n], len(shape_of(self.c))
        for _ in range(nu):
            n = shape_of(c)[0]
            wide = t[k + 1 : k + n] - t[1:n]
            # Between equal knots there is no B-spline, whose coefficient is then 0.
            flat = wide == 0.0
            share = np.where(flat, 0.0, k / np.where(flat, 1.0, wide))
            c, t, k = (c[1:] - c[:-1]) * column(share, ndim), t[1:-1], k - 1
        return made(t, c, k, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> "BSpline":
        """Return the antiderivative of order `nu`, a BSpline of degree k + nu."""
        if nu < 0:
            return self.derivative(-nu)
        t, k = self.t, self.k
        c, ndim = self.c[: shape_of(t)[0] - k - 1], len(shape_of(self.c))
        for _ in range(nu):
            wide = column(t[k + 1 :] - t[: -k - 1], ndim) / (k + 1.0)
            c = np.concatenate([0.0 * c[:1], np.cumsum(c * wide, axis=0)], axis=0)
            t, k = np.concatenate([t[:1], t, t[-1:]]), k + 1
        extrapolate = False if self.extrapolate == "periodic" and nu else self.extrapolate
        return made(t, c, k, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: bool | str | None = None) -> Any:
        """Return the integral from the number a to the number b. Without extrapolation the spline
        is 0 outside of its interval."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        first, last = self.t[self.k], self.t[shape_of(self.t)[0] - self.k - 1]
        whole = self.antiderivative()
        whole.axis = 0
        if extrapolate == "periodic":
            period = last - first
            begin = whole(first, extrapolate=True)
            total = whole(last, extrapolate=True) - begin

            def up_to(q: Any) -> Any:
                rounds = np.floor((q - first) / period)
                return rounds * total + whole(q - rounds * period, extrapolate=True)

            return up_to(b) - up_to(a)
        if not extrapolate:
            a, b = (np.minimum(np.maximum(q, first), last) for q in (a, b))
        return whole(b, extrapolate=True) - whole(a, extrapolate=True)


def made(t: Any, c: Any, k: int, extrapolate: bool | str, axis: int) -> BSpline:
    spline = object.__new__(BSpline)
    spline._set(t, c, k, extrapolate, axis)
    return spline


def _intervals(t: Any, q: Any, k: int) -> Any:
    """The index of the knot at which the interval of each q begins, which has a positive length."""
    n = shape_of(t)[0] - k - 1
    if k == 0:  # the last knot has a value of its own, as in SciPy
        return places(t, q, 0, n - 1)
    first, last = t[k : k + 1], t[n : n + 1]
    low, high = np.searchsorted(t, first, "right"), np.searchsorted(t, last, "left")
    return places(t, q, low - 1, high - 1)


def _near(t: Any, at: Any, k: int) -> dict[int, Any]:
    """The knots t[at + i] for i = 1 - k, ..., k."""
    return {i: take(t, at + i) for i in range(1 - k, k + 1)}


def _de_boor(near: dict[int, Any], parts: list, q: Any, k: int, nu: int, ndim: int) -> Any:
    """The derivative of order `nu` at q, from the k + 1 coefficients of B-splines that are not 0
    there (de Boor, A practical guide to splines, 1978). All differences of knots are positive."""
    if nu > k:
        return 0.0 * parts[0]
    for r in range(nu):  # coefficients of the derivative, of one degree less
        p = k - r
        parts = [
            (parts[i + 1] - parts[i]) * column(p / (near[i + 1] - near[i + 1 - p]), ndim)
            for i in range(p)
        ]
    p = k - nu
    for r in range(1, p + 1):
        for i in range(p, r - 1, -1):
            low = near[i - p]
            share = column((q - low) / (near[i + 1 - r] - low), ndim)
            parts[i] = (1.0 - share) * parts[i - 1] + share * parts[i]
    return parts[p]


def basis(t: Any, q: Any, k: int, nu: int) -> tuple[Any, Any]:
    """The interval of each q, and derivatives of order `nu` of the k + 1 B-splines that are not 0
    in it, as columns."""
    at = _intervals(t, q, k)
    near = _near(t, at, k)
    units = [np.broadcast_to(row, (shape_of(q)[0], k + 1)) for row in np.eye(k + 1)]
    return at, _de_boor(near, units, q, k, nu, 2)
