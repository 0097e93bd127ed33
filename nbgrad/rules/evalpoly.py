"""Polynomials, with derivatives in x and in the coefficients."""

import numpy as np

from ..core.array import Array
from ..core.primitive import Aval, Primitive, bind, shape_of
from ..errors import DimensionMismatch, require_unmasked
from ..kernels.scalar import polynomial as kernels
from .families import Custom, float_type, sample, zeros_like
from .forms.recorded import recorded
from .layout import array


def _compute(x, c):
    dtype = float_type(x.dtype, c.dtype)
    x, c = np.asarray(x, dtype), np.array(c, dtype)
    out = np.empty(x.shape, dtype)
    kernels.evalpoly(x.ravel(), c, out.ravel())
    return out


def _slope(x, c):
    """The derivative of the polynomial at x."""
    n = shape_of(c)[0]
    return evalpoly(x, c[1:] * np.arange(1.0, n, dtype=c.dtype)) if n > 1 else zeros_like(c[0])


def _moments(ct, x, n: int):
    """sum(ct * x**k) for k = 0, ..., n - 1."""
    sums = []
    for _ in range(n):
        sums.append(np.sum(ct))
        ct = ct * x
    return np.stack(sums)


def _rule(ct, out, args, need):
    x, c = args
    return [
        ct * _slope(x, c) if need[0] else None,
        _moments(ct, x, shape_of(c)[0]) if need[1] else None,
    ]


def _fused(ct, out, args, need):
    x, c = args
    if not (ct.dtype == x.dtype == c.dtype):
        return _rule(ct, out, args, need)
    x_bar, c_bar = np.empty(x.shape, x.dtype), np.empty(c.shape, c.dtype)
    power = np.empty(kernels.BLOCK, x.dtype)
    kernels.evalpoly_pullback(ct.ravel(), x.ravel(), np.array(c), x_bar.ravel(), c_bar, power)
    return [x_bar, c_bar]


def _batch(primitive, size, args, batched):
    """One call for samples that share the coefficients."""
    if batched[1]:
        return Primitive.batch(primitive, size, args, batched)
    return bind(primitive, *args)


def _push(tangents, out, args):
    (x, c), (x_dot, c_dot) = args, tangents
    terms = []
    if x_dot is not None:
        terms.append(x_dot * _slope(x, c))
    if c_dot is not None:
        terms.append(evalpoly(x, c_dot))
    return sum(terms[1:], terms[0])


def _horner(x, c):
    out = np.broadcast_to(c[-1], shape_of(x))
    for k in range(shape_of(c)[0] - 2, -1, -1):
        out = out * x + c[k]
    return out


evalpoly_row = Custom(
    "evalpoly", _compute, lambda x, c: Aval.of(x.shape, float_type(x, c)), _rule, _push,
    fused=_fused, batch=_batch, form=recorded(_horner),
    reference=lambda x, c: np.polyval(c[::-1], x),
    samples=[
        sample((3,), (4,)), sample((2, 3), (2,)), sample((), (3,)), sample((3,), (1,)),
        sample((0, 3), (3,)),
    ],
)  # fmt: skip


def evalpoly(x, coefficients):
    """coefficients[0] + coefficients[1] * x + coefficients[2] * x**2 + ..., for each element of x.

    `coefficients` is a 1-D array or a sequence of numbers, from low to high, tracked or plain; the
    result has the shape of x, and its dtype for Python numbers. Both get gradients. Raises
    DimensionMismatch for empty coefficients and for other shapes.

    >>> nbgrad.evalpoly(np.array([0.0, 2.0]), [1.0, 0.0, 3.0])
    array([ 1., 13.])
    """
    given = coefficients if hasattr(coefficients, "dtype") else list(coefficients)
    if isinstance(given, list):
        numbers = all(type(c) in (float, int) for c in given) and hasattr(x, "dtype")
        given = np.asarray(given, float_type(x.dtype)) if numbers else array(given)
    if len(shape_of(given)) != 1 or not shape_of(given)[0]:
        raise DimensionMismatch(
            f"evalpoly: coefficients of shape {shape_of(given)}; they are one row of numbers, from "
            "low to high, at least one"
        )
    number = type(x) in (int, float)
    require_unmasked(x, "evalpoly")
    x = x if number or isinstance(x, Array) else np.asarray(x)
    if given.dtype.kind in "iub":  # the slope multiplies them by their powers
        given = given.astype(float_type(given.dtype if number else x.dtype, given.dtype))
    return bind(evalpoly_row, np.asarray(x, given.dtype) if number else x, given)
