"""Cubic interpolators: splines, and pieces from slopes at the points."""

from typing import Any

import numpy as np

from ...core.assertions import require
from ...core.primitive import shape_of
from ...errors import ArgumentError, DimensionMismatch, NoRuleError
from ...linalg import solve_banded
from ...transforms.trees import register
from .piecewise import PPoly
from .points import column, floats, prepared


def _steps(x: Any, y: Any) -> tuple[Any, Any]:
    """The lengths of the intervals, with as many axes as y, and the slopes between the points."""
    steps = column(x[1:] - x[:-1], len(shape_of(y)))
    return steps, (y[1:] - y[:-1]) / steps


@register(fields=("c", "x"))
class CubicHermiteSpline(PPoly):
    """The piecewise cubic polynomial with the values y and the slopes `dydx` at the points x.

    Arguments:
        x: the points (n,), increasing, at least 2.
        y, dydx: arrays of one shape, of length n along `axis`.
        axis, extrapolate: as in `PPoly`.

    x, y, `dydx` and the points of evaluation are differentiable, also in compiled programs. Raises
    ValueError as SciPy does.

    >>> cubic = nbgrad.scipy.interpolate.CubicHermiteSpline([0.0, 1.0], [0.0, 1.0], [0.0, 3.0])
    >>> float(cubic(0.5))  # x**3
    0.125
    """

    def __init__(
        self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: bool | str | None = None
    ):
        x, y, axis, slopes = prepared(type(self).__name__, x, y, axis, dydx)
        self._fit(x, y, slopes, axis, extrapolate)

    def _fit(self, x: Any, y: Any, slopes: Any, axis: int, extrapolate: Any) -> None:
        steps, slope = _steps(x, y)
        left, right = slopes[:-1], slopes[1:]
        bend = (left + right - 2.0 * slope) / steps
        c = np.stack([bend / steps, (slope - left) / steps - bend, left, y[:-1]])
        self._set(c, x, extrapolate, axis)


@register(fields=("c", "x"))
class CubicSpline(CubicHermiteSpline):
    """The interpolating spline of degree 3, which has two continuous derivatives.

    Arguments:
        x: the points (n,), increasing, at least 2.
        y: the values, of length n along `axis`.
        axis: the axis of y along which x runs.
        bc_type: "not-a-knot", "natural", "clamped" or "periodic", or a pair of conditions at the
            two ends: one of the first three names, or (order, value) for the first or the second
            derivative, whose value may be tracked.
        extrapolate: as in `PPoly`; "periodic" by default for bc_type="periodic", else True.

    x, y, the values of derivatives and the points of evaluation are differentiable: the slopes at
    the points solve a tridiagonal system. The spline is linear in y. Raises ValueError as SciPy
    does; a compiled program raises it when it runs if it depends on traced values.

    >>> x, y = np.arange(5.0), np.arange(5.0) ** 3
    >>> float(nbgrad.grad(nbgrad.scipy.interpolate.CubicSpline(x, y))(1.5).round(12))
    6.75
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        axis: int = 0,
        bc_type: Any = "not-a-knot",
        extrapolate: bool | str | None = None,
    ):
        x, y, axis, _ = prepared("CubicSpline", x, y, axis)
        conditions = _conditions(bc_type, y)
        if extrapolate is None:
            extrapolate = "periodic" if conditions[0] == "periodic" else True
        self._fit(x, y, _spline_slopes(x, y, *conditions), axis, extrapolate)


def _conditions(bc_type: Any, y: Any) -> list:
    """The conditions at both ends: a name, or the order and value of a derivative."""
    shape = shape_of(y)[1:]
    if isinstance(bc_type, str):
        if bc_type == "periodic":
            close = np.abs(y[0] - y[-1]) <= 1e-15 + 1e-15 * np.abs(y[-1])
            require(
                np.all(close),
                "CubicSpline: the first and last `y` must be identical (within machine precision) "
                "when bc_type='periodic'",
            )
        pair = [bc_type, bc_type]
    else:
        pair = list(bc_type)
        if len(pair) != 2:
            raise ArgumentError(
                "CubicSpline: `bc_type` must contain 2 elements to specify start and end conditions"
            )
        if any(isinstance(bc, str) and bc == "periodic" for bc in pair):
            raise ArgumentError(
                "CubicSpline: 'periodic' `bc_type` is defined for both curve ends and cannot be "
                "used with other boundary conditions: pass bc_type='periodic'"
            )
    return [_condition(bc, shape) for bc in pair]


def _condition(bc: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(bc, str):
        if bc in ("not-a-knot", "periodic"):
            return bc
        if bc not in ("clamped", "natural"):
            raise ArgumentError(
                f"CubicSpline: bc_type={bc!r} is not allowed: use 'not-a-knot', 'natural', "
                "'clamped', 'periodic', or (order, value)"
            )
        return (1 if bc == "clamped" else 2), np.zeros(shape)
    try:
        order, value = bc
    except (TypeError, ValueError):
        raise ArgumentError(
            "CubicSpline: a specified derivative value must be given in the form (order, value)"
        ) from None
    if order not in (1, 2):
        raise ArgumentError(
            f"CubicSpline: the specified derivative order must be 1 or 2, not {order}"
        )
    value = floats(value, "CubicSpline: a derivative")
    if shape_of(value) != shape:
        raise DimensionMismatch(
            f"CubicSpline: `deriv_value` shape {shape_of(value)} is not the expected one {shape}"
        )
    return order, value


def _spline_slopes(x: Any, y: Any, start: Any, end: Any) -> Any:
    """The slopes of the spline at the points (de Boor, A practical guide to splines, 1978)."""
    n, ndim = shape_of(x)[0], len(shape_of(y))
    steps, slope = _steps(x, y)
    if n == 2:
        start = (1, slope[0]) if isinstance(start, str) else start
        end = (1, slope[0]) if isinstance(end, str) else end
    if n == 3 and start == "not-a-knot" and end == "not-a-knot":  # a parabola
        bend = (slope[1] - slope[0]) / (x[2] - x[0])
        return np.stack([
            slope[0] - bend * steps[0], slope[0] + bend * steps[0], slope[1] + bend * steps[1],
        ])  # fmt: skip
    if n == 3 and start == "periodic":
        mean = np.sum(slope / steps, axis=0) / np.sum(1.0 / steps, axis=0)
        return np.stack([mean] * 3)
    h = x[1:] - x[:-1]
    inner = 3.0 * (steps[1:] * slope[:-1] + steps[:-1] * slope[1:])
    if start == "periodic":
        return _periodic_slopes(h, steps, slope, inner)
    diagonal, above, below = 2.0 * (h[:-1] + h[1:]), h[:-1], h[1:]
    # Each end gives its element of the diagonal, the one beside it, and the right-hand side.
    first = _end(start, h[:2], steps[:2], slope[:2], 1.0, n)
    last = _end(end, h[::-1][:2], steps[::-1][:2], slope[::-1][:2], -1.0, n)
    zero = np.zeros(1)
    bands = np.stack([
        np.concatenate([zero, _one(first[1]), above]),
        np.concatenate([_one(first[0]), diagonal, _one(last[0])]),
        np.concatenate([below, _one(last[1]), zero]),
    ])  # fmt: skip
    right = np.concatenate([first[2][None], inner, last[2][None]], axis=0)
    return _solved(bands, right, ndim)


def _one(x: Any) -> Any:
    return np.reshape(x, 1) if hasattr(x, "dtype") else np.array([x])


def _end(bc: Any, h: Any, steps: Any, slope: Any, sign: float, n: int) -> tuple:
    """The equation of an end, from the lengths and slopes of the two intervals next to it; `sign`
    is 1.0 at the start and -1.0 at the end, where the curve runs backwards."""
    if bc == "not-a-knot":
        d, wide = h[0] + h[1], steps[0] + steps[1]
        right = ((steps[0] + 2.0 * wide) * steps[1] * slope[0] + steps[0] ** 2 * slope[1]) / wide
        return h[1], d, right
    order, value = bc
    if order == 1:
        return 1.0, 0.0, value + 0.0 * slope[0]
    return 2.0 * h[0], h[0], 3.0 * slope[0] * steps[0] - sign * 0.5 * value * steps[0] ** 2


def _solved(bands: Any, right: Any, ndim: int) -> Any:
    shape = shape_of(right)
    flat = right if ndim == 1 else np.reshape(right, (shape[0], -1))
    return np.reshape(solve_banded((1, 1), bands, flat), shape)


def _periodic_slopes(h: Any, steps: Any, slope: Any, inner: Any) -> Any:
    """The slopes of a periodic spline: a cyclic system, of which the last unknown is eliminated."""
    m, ndim = shape_of(h)[0], len(shape_of(slope))  # m unknowns
    first = 3.0 * (steps[0] * slope[-1] + steps[-1] * slope[0])
    right = np.concatenate([first[None], inner], axis=0)
    diagonal = 2.0 * np.concatenate([h[-1:] + h[:1], h[:-1] + h[1:]])
    above = np.concatenate([h[-1:], h[:-1]])  # of row i, for the unknown i + 1
    below = np.concatenate([h[:1], h[1:]])  # of row i, for the unknown i - 1
    zero = np.zeros(1)
    bands = np.stack([
        np.concatenate([zero, above[: m - 2]]), diagonal[: m - 1],
        np.concatenate([below[1 : m - 1], zero]),
    ])  # fmt: skip
    corners = np.concatenate([-below[:1], np.zeros(m - 3), -above[m - 2 : m - 1]])
    one, other = _solved(bands, right[:-1], ndim), _solved(bands, corners, 1)
    to_first, before = above[m - 1], below[m - 1]
    last = (right[-1] - to_first * one[0] - before * one[-1]) / (
        diagonal[m - 1] + to_first * other[0] + before * other[-1]
    )
    slopes = one + column(other, ndim) * last
    return np.concatenate([slopes, last[None], slopes[:1]], axis=0)


@register(fields=("c", "x"))
class PchipInterpolator(CubicHermiteSpline):
    """The monotone piecewise cubic of Fritsch and Butland (1984): it does not overshoot the values.

    Arguments: x, y, axis and extrapolate as in `CubicHermiteSpline`.

    x, y and the points of evaluation are differentiable. The slope at a point is 0 where the
    data turn; where a difference of values changes its sign, derivatives in y and x are those of
    one side. Raises ValueError as SciPy does.

    >>> x = np.arange(4.0)
    >>> step = nbgrad.scipy.interpolate.PchipInterpolator(x, [0.0, 0.0, 1.0, 1.0])
    >>> float(step(1.5)), float(step(2.5))
    (0.5, 1.0)
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: bool | str | None = None):
        x, y, axis, _ = prepared("PchipInterpolator", x, y, axis)
        steps, slope = _steps(x, y)
        if shape_of(x)[0] == 2:
            slopes = np.concatenate([slope, slope], axis=0)
        else:
            left, right, before, behind = slope[:-1], slope[1:], steps[:-1], steps[1:]
            turns = np.logical_or(np.sign(left) != np.sign(right), left * np.sign(right) == 0.0)
            one, other = 2.0 * behind + before, behind + 2.0 * before
            # 1 in place of slopes that are not used: no division by 0, no nan in derivatives.
            left, right = np.where(turns, 1.0, left), np.where(turns, 1.0, right)
            mean = (one + other) / (one / left + other / right)
            ends = [
                _pchip_end(*(z[i] for z in (steps, slope) for i in at)) for at in ((0, 1), (-1, -2))
            ]
            inner = np.where(turns, 0.0, mean)
            slopes = np.concatenate([ends[0][None], inner, ends[1][None]], axis=0)
        self._fit(x, y, slopes, axis, extrapolate)


def _pchip_end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    """The one-sided slope of three points, limited so that the curve keeps its shape."""
    d = ((2.0 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = np.logical_and(np.sign(m0) != np.sign(m1), np.abs(d) > 3.0 * np.abs(m0))
    return np.where(np.sign(d) != np.sign(m0), 0.0, np.where(steep, 3.0 * m0, d))


@register(fields=("c", "x"))
class Akima1DInterpolator(CubicHermiteSpline):
    """The piecewise cubic of Akima (1970), in which an outlier moves few neighbours.

    Arguments:
        x, y, axis: as in `CubicHermiteSpline`.
        method: "akima" or "makima", the modified weights.
        extrapolate: as in `PPoly`; False by default, which gives nan outside.

    x, y and the points of evaluation are differentiable, where no two neighbouring slopes are
    equal: there the slope at a point may jump. Raises ValueError as SciPy does.

    >>> x = np.arange(6.0)
    >>> float(nbgrad.scipy.interpolate.Akima1DInterpolator(x, x**2)(2.5))
    6.25
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, *, method: str = "akima",
        extrapolate: bool | str | None = None,
    ):  # fmt: skip
        if method not in ("akima", "makima"):
            raise NoRuleError(
                f"Akima1DInterpolator: `method`={method} is unsupported: use 'akima' or 'makima'"
            )
        x, y, axis, _ = prepared("Akima1DInterpolator", x, y, axis)
        _, slope = _steps(x, y)
        if shape_of(x)[0] == 2:
            slopes = np.concatenate([slope, slope], axis=0)
        else:
            slopes = _akima_slopes(slope, method)
        self._fit(x, y, slopes, axis, False if extrapolate is None else extrapolate)


def _akima_slopes(slope: Any, method: str) -> Any:
    def beyond(m: Any) -> list:
        """Two slopes before the first one, from the outer one inwards."""
        near = 2.0 * m[0] - m[1]
        return [2.0 * near - m[0], near]

    before, behind = beyond(slope), beyond(slope[::-1])[::-1]
    parts = [*(z[None] for z in before), slope, *(z[None] for z in behind)]
    m = np.concatenate(parts, axis=0)
    weights = np.abs(m[1:] - m[:-1])
    if method == "makima":
        weights = weights + 0.5 * np.abs(m[1:] + m[:-1])
    one, other = weights[2:], weights[:-2]
    both = one + other
    defined = both > 1e-9 * np.max(both)
    share = other / np.where(defined, both, 1.0)
    between = m[1:-2] + share * (m[2:-1] - m[1:-2])
    return np.where(defined, between, 0.5 * (m[3:] + m[:-3]))
