"""`make_interp_spline`: interpolation by B-splines of any degree."""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...core.assertions import require
from ...core.primitive import shape_of
from ...errors import ArgumentError, DimensionMismatch, NoRuleError
from ...kernels import shapes
from ...linalg import solve_banded
from ...rules.select import take
from .bands import by_diagonals, solve_cyclic
from .bsplines import BSpline, basis, made
from .points import floats

__all__ = ["make_interp_spline"]


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0,
    check_finite: bool = True,
) -> BSpline:  # fmt: skip
    """Return the BSpline of degree k with the values y at the points x.

    Arguments:
        x: the points (n,), increasing.
        y: the values, of length n along `axis`.
        k: the degree, 3 by default.
        t: the knots; by default those of the boundary conditions.
        bc_type: None or "not-a-knot", "natural", "clamped" or "periodic", or a pair of conditions
            at the ends: None, "natural", "clamped", or a list of (order, value) for derivatives.
        axis: the axis of y along which x runs.
        check_finite: whether nan and inf in x and y are refused.

    x, y, t, the values of derivatives and the points of evaluation are differentiable: the
    coefficients solve a banded system. A periodic spline has the derivative 0 in the last values:
    they repeat the first ones. Raises ValueError as SciPy does, NoRuleError for knots of a periodic
    spline.

    >>> x = np.arange(6.0)
    >>> spline = nbgrad.scipy.interpolate.make_interp_spline(x, x**2, k=2)
    >>> float(spline(2.5).round(12))
    6.25
    """
    op = "make_interp_spline"
    periodic = isinstance(bc_type, str) and bc_type == "periodic"
    x, y, k = floats(x, f"{op}: x"), floats(y, f"{op}: y"), shapes.whole(k, f"{op}: k")
    axis = normalize_axis_index(axis, len(shape_of(y)))
    y = np.moveaxis(y, axis, 0)
    if len(shape_of(x)) != 1 or shape_of(x)[0] != shape_of(y)[0]:
        raise DimensionMismatch(
            f"{op}: shapes of x {shape_of(x)} and y {shape_of(y)} are incompatible"
        )
    if check_finite:
        for z in (x, y):
            require(np.all(np.isfinite(z)), f"{op}: array must not contain infs or NaNs")
    require(
        np.all(x[1:] > x[:-1]), f"{op}: expect x to be a 1D strictly increasing sequence, without "
        "duplicates",
    )  # fmt: skip
    if k < 0:
        raise ArgumentError(f"{op}: expect non-negative k, not {k}")
    if periodic:
        require(
            np.all(np.abs(y[0] - y[-1]) <= 1e-15 + 1e-5 * np.abs(y[-1])),
            f"{op}: first and last points do not match while periodic case expected",
        )
    left, right = (None, None) if periodic else _ends(op, bc_type)
    if (k <= 1 and t is None) or k == 0:
        if t is not None or left or right:
            raise ArgumentError(f"{op}: too much info for k={k}: t and bc_type can only be None")
        t = np.concatenate([x[:1], x, x[-1:]] if k else [x, x[-1:]])
        return made(t, y, k, True, axis)
    if periodic:
        if t is not None:
            raise NoRuleError(
                f"{op}: the knots of bc_type='periodic' follow from x: leave out t, or make a "
                "BSpline of your knots and coefficients"
            )
        t = _periodic_knots(x, k)
        return made(t, _periodic(t, x, y, k), k, "periodic", axis)
    left, right = (_derivatives(op, z, shape_of(y)[1:], k) for z in (left, right))
    if t is None:
        t = _augmented(x, k) if left or right else _not_a_knot(x, k)
    t = floats(t, f"{op}: t")
    n, size = shape_of(x)[0], shape_of(t)[0] - k - 1
    if len(shape_of(t)) != 1 or size < n:
        raise DimensionMismatch(
            f"{op}: got knots of shape {shape_of(t)}, need at least {n + k + 1} in one row"
        )
    require(np.all(t[1:] >= t[:-1]), f"{op}: expect t to be a 1-D sorted array_like")
    require(
        np.logical_and(x[0] >= t[k], x[-1] <= t[shape_of(t)[0] - k]),
        f"{op}: out of bounds: x must lie between t[k] and t[-k]",
    )
    if size - n != len(left) + len(right):
        raise ArgumentError(
            f"{op}: the number of derivatives at boundaries does not match: expected {size - n}, "
            f"got {len(left)}+{len(right)}"
        )
    points = [(x[:1], left), (x, None), (x[-1:], right)]
    orders = [
        basis(t, q, k, nu)
        for q, ends in points
        for nu in ([0] if ends is None else [order for order, _ in ends])
    ]
    at, weights = (np.concatenate(z, axis=0) for z in zip(*orders, strict=True))
    bands = by_diagonals(at - k, weights, size, k)
    values = [*(v[None] for _, v in left), y, *(v[None] for _, v in right)]
    c = np.concatenate(values, axis=0) if len(values) > 1 else y
    flat = c if len(shape_of(c)) == 1 else np.reshape(c, (size, -1))
    c = np.reshape(solve_banded((k, k), bands, flat), shape_of(c))
    return made(t, c, k, True, axis)


def _ends(op: str, bc_type: Any) -> tuple:
    if bc_type is None or (isinstance(bc_type, str) and bc_type == "not-a-knot"):
        return None, None
    if isinstance(bc_type, str):
        return bc_type, bc_type
    try:
        left, right = bc_type
    except (TypeError, ValueError):
        raise ArgumentError(f"{op}: unknown boundary condition: {bc_type}") from None
    return left, right


def _derivatives(op: str, ends: Any, shape: tuple[int, ...], k: int) -> list[tuple[int, Any]]:
    """The orders and values of the derivatives that an end prescribes."""
    if ends is None:
        return []
    if isinstance(ends, str):
        if ends not in ("clamped", "natural"):
            raise ArgumentError(f"{op}: unknown boundary condition: {ends}")
        ends = [(1 if ends == "clamped" else 2, np.zeros(shape))]
    found = []
    for pair in ends:
        try:
            order, value = pair
        except (TypeError, ValueError):
            raise ArgumentError(
                f"{op}: derivatives, `bc_type`, should be specified as a pair of iterables of "
                "pairs of (order, value)"
            ) from None
        order = shapes.whole(order, f"{op}: the order of a derivative")
        if not 0 <= order <= k:
            raise ArgumentError(f"{op}: bad boundary conditions: a derivative of order {order}")
        found.append((order, np.broadcast_to(floats(value, f"{op}: a derivative"), shape)))
    return found


def _not_a_knot(x: Any, k: int) -> Any:
    inner = x if k % 2 else (x[1:] + x[:-1]) / 2.0
    cut = (k + 1) // 2
    return np.concatenate([*[x[:1]] * (k + 1), inner[cut:-cut], *[x[-1:]] * (k + 1)])


def _augmented(x: Any, k: int) -> Any:
    return np.concatenate([*[x[:1]] * k, x, *[x[-1:]] * k])


def _periodic_knots(x: Any, k: int) -> Any:
    """The points, or for even degrees their middles, continued by k knots on both sides."""
    if k % 2 == 0:
        x = np.concatenate([x[:1], (x[:-2] + x[1:-1]) / 2.0, x[-1:]])
    steps, turn = x[1:] - x[:-1], np.arange(k) % (shape_of(x)[0] - 1)
    before = x[0] - np.cumsum(take(steps[::-1], turn))
    return np.concatenate([before[::-1], x, x[-1] + np.cumsum(take(steps, turn))])


def _periodic(t: Any, x: Any, y: Any, k: int) -> Any:
    """The coefficients of a periodic spline."""
    n = shape_of(x)[0] - 1
    _, weights = basis(t, x[:-1], k, 0)  # row i has the columns i - k // 2, ... of `found`
    found = solve_cyclic(weights, k // 2, np.reshape(y[:-1], (n, -1)))
    c = take(found, (np.arange(n + k) - k // 2) % n, axis=0)
    return np.reshape(c, (n + k, *shape_of(y)[1:]))
