"""`map_coordinates`: images at positions between their elements."""

import itertools
import math
from typing import Any

import numpy as np
import scipy.ndimage as _plain

from ...core.fillable import highest
from ...core.primitive import shape_of
from ...errors import ArgumentError, DimensionMismatch
from ...linalg import solve_banded
from ...rules.layout import given
from ...rules.select import take
from ..interpolate.bands import solve_cyclic
from .borders import inside, mode_of, with_margins
from .filters import image

_MARGIN = 12  # as in SciPy, of modes whose spline has no simple border


def map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """Return an image at given positions, by splines.

    Arguments:
        input: an array with n axes.
        coordinates: the positions (n, ...), in units of indices.
        output: must be None for tracked arrays.
        order: the degree of the spline, 0 to 5.
        mode: how the image continues: "reflect", "grid-mirror", "constant", "grid-constant",
            "nearest", "mirror", "grid-wrap" or "wrap".
        cval: the value outside in modes "constant" and "grid-constant".
        prefilter: whether the coefficients of the spline are computed; if not, `input` holds them.

    Returns an array of the shape of `coordinates` without the first axis, in the dtype of the
    image. Image, positions and `cval` are differentiable, also in compiled programs. For order 1,
    the derivative in a position on the grid is that of the cell above; for order 0 it is 0; it is 0
    where the result is `cval`.

    Plain arrays are passed to SciPy, whose splines in mode "reflect" do not meet the image exactly
    along axes shorter than about 12; those of tracked images do.

    Raises DimensionMismatch for shapes that do not fit, ValueError for another mode or order.

    >>> x = np.array([[0.0, 1.0], [2.0, 5.0]])
    >>> nbgrad.grad(lambda p: map_coordinates(x, p, order=1)[0])(np.array([[0.5], [0.5]]))
    array([[3.],
           [2.]])
    """
    op = "map_coordinates"
    if highest(input, coordinates, cval) is None:
        return _plain.map_coordinates(input, coordinates, output, order, mode, cval, prefilter)
    if order not in range(6):
        raise ArgumentError(f"{op}: spline order {order} not supported: use 0 to 5")
    x, at = image(op, input, output), given(coordinates)
    mode, n = mode_of(op, mode), len(shape_of(x))
    if not n or len(shape_of(at)) < 2 or shape_of(at)[0] != n:
        raise DimensionMismatch(
            f"{op}: coordinates of shape {shape_of(at)} for an image of {n} axes; they have the "
            f"shape ({n}, ...), with at least two axes"
        )
    dtype = x.dtype
    x = x if dtype == np.float64 else x.astype(np.float64)
    at = at if at.dtype == np.float64 else at.astype(np.float64)
    shift = 0
    if prefilter and order > 1:
        if mode in ("nearest", "grid-constant"):
            shift = _MARGIN
            for axis in range(n):
                x = with_margins(x, axis, shift, shift, mode, cval)
        for axis in range(n):
            x = _coefficients(x, axis, order, mode)
    out = _at(x, [at[i] + shift for i in range(n)], order, mode, cval)
    return out if dtype == np.float64 else out.astype(dtype)


def _at(x: Any, axes: list, order: int, mode: str, cval: Any) -> Any:
    """The spline with coefficients x at positions inside of its continuation."""
    seen, missing, terms = True, False, []
    for q, n in zip(axes, shape_of(x), strict=True):
        missing = np.logical_or(missing, np.isnan(q))
        if mode == "constant":
            seen = np.logical_and(seen, np.logical_and(q >= 0, q <= n - 1))
        q = _continued(q, n, mode)
        plain = np.where(np.isnan(q), 0.0, q)
        q, plain = (z if order % 2 else z + 0.5 for z in (q, plain))
        low = np.floor(plain)
        weights = _weights(q - low, order) if order else [None]
        first = low.astype(np.intp) - order // 2
        terms.append([_term(first + i, w, n, mode) for i, w in enumerate(weights)])
    sizes = shape_of(x)
    flat = np.reshape(x, -1)
    total: Any = None
    for corner in itertools.product(*terms):
        place = corner[0][0]
        for size, (i, _, _) in zip(sizes[1:], corner[1:], strict=True):
            place = place * size + i
        part = take(flat, place)
        if mode == "grid-constant":
            held = corner[0][2]
            for _, _, is_inside in corner[1:]:
                held = np.logical_and(held, is_inside)
            part = np.where(held, part, cval)
        weights = [w for _, w, _ in corner if w is not None]
        part = part * math.prod(weights[1:], start=weights[0]) if weights else part
        total = part if total is None else total + part
    if mode == "constant":
        total = np.where(seen, total, cval)
    return np.where(missing, np.nan, total)


def _term(i: Any, weight: Any, n: int, mode: str) -> tuple:
    """A position inside, its weight, and whether it was inside."""
    spline = "mirror" if mode in ("constant", "wrap") else mode
    return inside(i, n, spline), weight, np.logical_and(i >= 0, i < n)


def _continued(q: Any, n: int, mode: str) -> Any:
    """The positions from which positions outside read; their slope is 1, -1 or 0."""
    if mode in ("nearest", "grid-constant"):  # continued by the elements that are read
        return q
    if mode == "mirror":
        if n == 1:
            return 0.0 * q
        turned = np.mod(np.abs(q), 2.0 * n - 2.0)
        back = turned >= np.where(q < 0, n - 1, n)
        folded = np.where(back, 2.0 * n - 2.0 - turned, turned)
    elif mode == "reflect":
        turned = np.mod(q, 2.0 * n)
        folded = np.where(turned >= n, 2.0 * n - 1.0 - turned, turned)
    elif mode == "grid-wrap":
        folded = np.mod(q, float(n))
    elif mode == "wrap":
        period = max(n - 1.0, 1.0)
        below = q + period * (np.floor(-q / period) + 1.0)
        folded = np.where(q < 0, below, q - period * np.floor(q / period))
    else:  # constant: nothing is read outside
        return np.where(np.logical_and(q >= 0, q <= n - 1), q, 0.0)
    return np.where(np.logical_or(q < 0, q > n - 1), folded, q)


def _weights(s: Any, order: int) -> list:
    """The B-splines that are not 0 at a distance s in [0, 1) behind a knot."""
    weights: list[Any] = [1.0]
    for k in range(1, order + 1):
        rising = [(s + float(k - 1 - j)) / k * w for j, w in enumerate(weights)]
        falling = [(float(j + 1) - s) / k * w for j, w in enumerate(weights)]
        between = [a + b for a, b in zip(rising, falling[1:], strict=False)]
        weights = [falling[0], *between, rising[-1]]
    return weights


def _coefficients(x: Any, axis: int, order: int, mode: str) -> Any:
    """The coefficients of the spline along an axis, which solve a banded system."""
    n, reach = shape_of(x)[axis], order // 2
    if n == 1:
        return x
    x = np.moveaxis(x, axis, 0)
    right = np.reshape(x, (n, -1))
    at_points = np.array(_weights(0.0 if order % 2 else 0.5, order)[: 2 * reach + 1])
    if mode == "grid-wrap":
        out = solve_cyclic(np.broadcast_to(at_points, (n, 2 * reach + 1)), reach, right)
    else:
        rows, places = np.arange(n)[:, None], np.arange(-reach, reach + 1)
        folded = inside(rows + places, n, "reflect" if mode in ("reflect", "nearest") else "mirror")
        bands = np.zeros((2 * reach + 1, n))
        np.add.at(bands, (reach + rows - folded, folded), at_points)
        out = solve_banded((reach, reach), bands, right)
    return np.moveaxis(np.reshape(out, shape_of(x)), 0, axis)
