"""Piecewise polynomials with derivatives in the coefficients, the breakpoints and the points."""

import math
from typing import Any

import numpy as np

from ...core.assertions import require
from ...core.primitive import shape_of
from ...errors import ArgumentError, DimensionMismatch
from ...kernels import shapes
from ...rules.select import take
from ...transforms.trees import register
from .points import column, floats, laid_out, places, queries


def _falling(power: int, nu: int) -> float:
    """power * (power - 1) * ..., `nu` factors: that of a derivative of x**power."""
    return float(math.perm(power, nu)) if power >= nu else 0.0


@register(fields=("c", "x"))
class PPoly:
    """A piecewise polynomial: between x[i] and x[i + 1] the sum of c[m, i] * (q - x[i])**(k-1-m).

    Arguments:
        c: the coefficients (k, n - 1, ...), from the highest power to the constant.
        x: the breakpoints (n,), increasing.
        extrapolate: whether the first and the last piece continue outside of the breakpoints, the
            default; False gives nan there, "periodic" repeats the pieces.
        axis: the axis of the result along which the points lie.

    Coefficients, breakpoints and points are differentiable, also in compiled programs. At a
    breakpoint, the derivative is that of the piece on its right, at the last one of the last piece.
    Raises ValueError as SciPy does.

    >>> square = nbgrad.scipy.interpolate.PPoly([[1.0], [0.0], [0.0]], [0.0, 2.0])
    >>> float(square(1.5)), float(nbgrad.grad(square)(1.5))
    (2.25, 3.0)
    """

    c: Any
    x: Any
    extrapolate: bool | str
    axis: int

    def __init__(self, c: Any, x: Any, extrapolate: bool | str | None = None, axis: int = 0):
        op = type(self).__name__
        c, x = floats(c, f"{op}: c"), floats(x, f"{op}: x")
        if len(shape_of(c)) < 2:
            raise DimensionMismatch(f"{op}: the coefficients must be at least 2-dimensional")
        if not 0 <= axis < len(shape_of(c)) - 1:
            raise ArgumentError(f"{op}: axis={axis} must be between 0 and {len(shape_of(c)) - 1}")
        if axis:
            c = np.moveaxis(np.moveaxis(c, axis + 1, 0), axis + 1, 0)
        if len(shape_of(x)) != 1 or shape_of(x)[0] < 2:
            raise DimensionMismatch(
                f"{op}: x must be 1-dimensional, with at least 2 breakpoints; it has the shape "
                f"{shape_of(x)}"
            )
        if not shape_of(c)[0] or shape_of(c)[1] != shape_of(x)[0] - 1:
            raise DimensionMismatch(
                f"{op}: coefficients of shape {shape_of(c)} for {shape_of(x)[0]} breakpoints; they "
                "have the shape (k, number of breakpoints - 1, ...)"
            )
        require(np.all(x[1:] >= x[:-1]), f"{op}: `x` must be strictly increasing")
        self._set(c, x, extrapolate, axis)

    def _set(self, c: Any, x: Any, extrapolate: Any, axis: int) -> None:
        if extrapolate is None:
            extrapolate = True
        self.c, self.x, self.axis = c, x, axis
        self.extrapolate = extrapolate if extrapolate == "periodic" else bool(extrapolate)

    def __call__(self, x: Any, nu: int = 0, extrapolate: bool | str | None = None) -> Any:
        """Return the values, or the derivatives of order `nu`, at the points x of any shape."""
        op = type(self).__name__
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        nu = shapes.whole(nu, f"{op}: nu")
        if nu < 0:
            raise ArgumentError(f"{op}: order of derivative nu={nu} cannot be negative")
        q = queries(op, x)
        shape, q = shape_of(q), np.reshape(q, -1)
        x, n = self.x, shape_of(self.x)[0]
        if extrapolate == "periodic":
            q = x[0] + np.mod(q - x[0], x[n - 1] - x[0])
            extrapolate = False
        at = places(x, q, 0, n - 2)
        ndim = len(shape_of(self.c)) - 1
        parts, s = take(self.c, at, axis=1), column(q - take(x, at), ndim)
        k = shape_of(self.c)[0]
        factors = [_falling(k - 1 - m, nu) for m in range(k - nu)]
        out = 0.0 * parts[0] if nu >= k else factors[0] * parts[0] if nu else parts[0]
        for m in range(1, k - nu):
            out = out * s + (factors[m] * parts[m] if nu else parts[m])
        if not extrapolate:
            inside = np.logical_and(q >= x[0], q <= x[n - 1])
            out = np.where(column(inside, ndim), out, np.nan)
        elif k - nu < 2:
            out = np.where(column(np.isnan(q), ndim), np.nan, out)
        return laid_out(out, shape, self.axis)

    def derivative(self, nu: int = 1) -> "PPoly":
        """Return the derivative of order `nu`, a PPoly; the antiderivative if it is negative."""
        if nu < 0:
            return self.antiderivative(-nu)
        k = shape_of(self.c)[0]
        if nu >= k:
            c = 0.0 * self.c[:1]
        else:
            factors = np.array([_falling(k - 1 - m, nu) for m in range(k - nu)])
            c = self.c[: k - nu] * column(factors, len(shape_of(self.c)))
        return _made(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> "PPoly":
        """Return the antiderivative of order `nu`, a continuous PPoly that begins with 0."""
        if nu <= 0:
            return self.derivative(-nu)
        c, ndim = self.c, len(shape_of(self.c))
        steps = column(self.x[1:] - self.x[:-1], ndim - 1)
        for _ in range(nu):
            k = shape_of(c)[0]
            c = c / column(np.arange(float(k), 0.0, -1.0), ndim)
            ends = c[0] * steps
            for m in range(1, k):
                ends = (ends + c[m]) * steps
            first = np.concatenate([0.0 * ends[:1], np.cumsum(ends[:-1], axis=0)], axis=0)
            c = np.concatenate([c, first[None]], axis=0)
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return _made(c, self.x, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: bool | str | None = None) -> Any:
        """Return the integral from the number a to the number b."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        whole = self.antiderivative()
        whole.axis = 0
        if extrapolate != "periodic":
            return whole(b, extrapolate=extrapolate) - whole(a, extrapolate=extrapolate)
        x = self.x
        first, period = x[0], x[shape_of(x)[0] - 1] - x[0]
        total = whole(first + period, extrapolate=True)

        def up_to(q: Any) -> Any:
            rounds = np.floor((q - first) / period)
            return rounds * total + whole(q - rounds * period, extrapolate=True)

        return up_to(b) - up_to(a)


def _made(c: Any, x: Any, extrapolate: bool | str, axis: int) -> PPoly:
    made = object.__new__(PPoly)
    made._set(c, x, extrapolate, axis)
    return made
