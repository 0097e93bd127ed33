"""NumPy's functions of polynomials, with the highest coefficient first, and polynomial fits."""

from typing import Any

import numpy as np

from ...core.array import Array, implements
from ...core.primitive import bind, shape_of
from ...errors import (
    ArgumentError,
    ArgumentTypeError,
    DimensionMismatch,
    NoRuleError,
    UntrackedError,
)
from ...kernels import shapes
from ..convolutions import convolve, whole_or_given
from ..dtypes import common_type, float_type
from ..evalpoly import evalpoly
from ..layout import array, given
from ..linalg.decompositions import eigvals
from ..linalg.systems import solution
from ..recurrences import recurrence_row
from ..select import are_whole, on_shared_values, on_values


def _given(x, op: str):
    """Coefficients as a 1-D array."""
    if isinstance(x, np.poly1d):
        x = x.coeffs
    x = given(x)
    if len(shape_of(x)) > 1:
        raise NoRuleError(f"{op}: coefficients of shape {shape_of(x)}; they have one axis")
    return np.reshape(x, -1)


@implements(np.polyval)
def polyval(p, x):
    """The polynomial with coefficients `p`, highest first, at each element of `x`."""
    if isinstance(x, np.poly1d):
        raise NoRuleError("polyval: x is a poly1d: nest two calls with plain coefficients instead")
    x = whole_or_given(x)
    p = _given(p if isinstance(p, np.poly1d) else whole_or_given(p), "polyval")
    if are_whole(p, x):  # as NumPy does, for the same dtypes
        out = np.zeros(shape_of(x), x.dtype)
        for i in range(shape_of(p)[0]):
            out = out * x + p[i]
        return out
    n = shape_of(p)[0]
    if not n:
        return np.zeros(shape_of(x), x.dtype)
    out = evalpoly(x, np.flip(p)) if n > 1 else x * 0.0 + p[0]  # nan where x is
    return out.astype(common_type(p.dtype, x.dtype))


@implements(np.polymul)
def polymul(a1, a2):
    """The product of two polynomials. Leading zeros are kept, since they have a derivative; NumPy
    drops them."""
    return convolve(_given(a1, "polymul"), _given(a2, "polymul"))


@on_shared_values
def _leading_zeros(rest) -> int:
    """The number of leading zeros that NumPy drops."""
    zeros = np.isclose(rest, 0, rtol=1e-14)
    return len(rest) - 1 if zeros[:-1].all() else int(np.argmin(zeros))


@implements(np.polydiv)
def polydiv(u, v):
    """Quotient and remainder of two polynomials; leading zeros of the remainder are dropped, by the
    current values."""
    u, v = _given(u, "polydiv"), _given(v, "polydiv")
    m, n = shape_of(u)[0] - 1, shape_of(v)[0] - 1
    quotient: list[Any] = []
    rest, v = u + 0.0, v + 0.0
    dtype = np.result_type(rest.dtype, v.dtype)
    rest, scale = rest.astype(dtype), 1.0 / v[0]
    for k in range(m - n + 1):
        factor = rest[k] * scale  # rounded as in NumPy, which decides about leading zeros
        quotient.append(factor)
        parts = rest[:k], rest[k : k + n + 1] - factor * v, rest[k + n + 1 :]
        rest = np.concatenate(parts)
    found = np.stack(quotient) if quotient else np.zeros(1, dtype)
    return found, rest[_leading_zeros(rest) :]


@implements(np.polyder)
def polyder(p, m=1):
    """The coefficients of the derivative, `m` times."""
    p, m = _given(p, "polyder"), shapes.whole(m, "polyder: m")
    if m < 0:
        raise ArgumentError("Order of derivative must be positive (see polyint)")
    for _ in range(min(m, shape_of(p)[0] + 1)):  # no coefficients are left
        n = shape_of(p)[0] - 1
        p = p[:-1] * np.arange(n, 0, -1)
    return p


@implements(np.polyint)
def polyint(p, m=1, k=None):
    """The coefficients of the integral, `m` times, with `k` as constants."""
    p, m = _given(p, "polyint"), shapes.whole(m, "polyint: m")
    if m < 0:
        raise ArgumentError("Order of integral must be positive (see polyder)")
    k = np.zeros(m) if k is None else _given(k, "polyint")
    k = k if shape_of(k)[0] != 1 else np.broadcast_to(k, (m,))
    if shape_of(k)[0] < m:
        raise ArgumentError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(m):
        n = shape_of(p)[0]
        divided = p / np.arange(n, 0, -1)
        p = np.concatenate([divided, np.reshape(k[i], 1)])
    return p


@implements(np.poly)
def poly(seq_of_zeros):
    """The coefficients of the polynomial with these roots, or of the characteristic polynomial of a
    matrix."""
    zeros = seq_of_zeros if hasattr(seq_of_zeros, "dtype") else array(seq_of_zeros)
    if len(shape_of(zeros)) == 2 and shape_of(zeros)[0] == shape_of(zeros)[1] != 0:
        zeros = eigvals(zeros)
    zeros = np.reshape(zeros.astype(float_type(zeros.dtype)), -1)
    out = np.ones(1, zeros.dtype)
    for i in range(shape_of(zeros)[0]):
        out = np.pad(out, (0, 1)) - np.pad(out, (1, 0)) * zeros[i]
    return out


@on_values
def _ends(*parts):
    places = np.flatnonzero(sum(np.not_equal(x, 0) for x in parts))
    return np.array([places[0], places[-1] + 1] if len(places) else [0, 0])


def nonzero_range(*parts) -> tuple[int, int]:
    """Where the nonzero coefficients begin and end, in all samples of a batch. Raises
    UntrackedError if samples differ."""
    ends: Any = _ends(*parts)
    while isinstance(ends, Array):
        ends = ends.below
    ends = np.reshape(ends, (-1, 2))
    if np.any(ends != ends[:1]):
        raise UntrackedError(
            "roots: leading or trailing coefficients are 0 in some samples only, so that the "
            "numbers of roots differ: call it outside of vmap"
        )
    return int(ends[0, 0]), int(ends[0, 1])


@implements(np.roots)
def roots(p):
    """The roots of a polynomial, which must be distinct; complex if one of them is."""
    p = _given(p, "roots")
    first, end = nonzero_range(p)
    if first == end:
        return np.zeros(0)
    behind = shape_of(p)[0] - end
    p = p[first:end]
    n = shape_of(p)[0] - 1
    zeros = np.zeros(behind, p.dtype)
    if not n:
        return zeros
    below = np.eye(n, k=-1, dtype=p.dtype)[1:]
    found = eigvals(np.concatenate([np.reshape(-p[1:] / p[0], (1, n)), below]))
    return np.concatenate([found, zeros]) if behind else found


@implements(np.vander)
def vander(x, N=None, increasing: bool = False):
    """Columns of powers of x, highest first."""
    x = x if hasattr(x, "dtype") else array(x)
    if len(shape_of(x)) != 1:
        raise ArgumentError("x must be a one-dimensional array or sequence.")
    n = shape_of(x)[0] if N is None else shapes.whole(N, "vander: N")
    x = x.astype(np.promote_types(x.dtype, int))
    if not n:
        return np.zeros((*shape_of(x), 0), x.dtype)
    first = np.full((*shape_of(x), n), -0.0).astype(x.dtype)  # -0.0 preserves the sign of zero
    first[:, 0] = 1
    factors = np.broadcast_to(np.reshape(x, (-1, 1)), first.shape)
    powers = bind(recurrence_row, factors, first, reverse=False)
    return powers if increasing else np.flip(powers, 1)


@implements(np.polyfit)
def polyfit(x, y, deg, rcond=None, full: bool = False, w=None, cov: Any = False):
    """The coefficients of the least squares polynomial of degree `deg`, with derivatives in x, y
    and the weights w."""
    x, y = (z if hasattr(z, "dtype") else array(z) for z in (x, y))
    x, y = np.add(x, 0.0), np.add(y, 0.0)
    order = shapes.whole(deg, "polyfit: deg") + 1
    if order < 1:
        raise ArgumentError("expected deg >= 0")
    if len(shape_of(x)) != 1 or not shape_of(x)[0] or len(shape_of(y)) not in (1, 2):
        raise ArgumentTypeError("expected 1D vector for x, and 1D or 2D array for y")
    if shape_of(x)[0] != shape_of(y)[0]:
        raise DimensionMismatch(
            f"polyfit: the shapes {shape_of(x)} and {shape_of(y)} differ in their first length"
        )
    if rcond is None:
        rcond = shape_of(x)[0] * np.finfo(x.dtype).eps
    left, right = vander(x, order), y
    if w is not None:
        w = np.add(w if hasattr(w, "dtype") else array(w), 0.0)
        left = left * w[:, None]
        right = right * (w[:, None] if len(shape_of(y)) == 2 else w)
    scale = np.sqrt(np.sum(np.square(left), axis=0))
    scaled = left / scale
    found, rank = solution("polyfit", scaled, right, rcond)
    c = found / (scale[:, None] if len(shape_of(y)) == 2 else scale)
    squares = np.sum(np.square(right - scaled @ found), axis=0)
    squares = np.reshape(squares, -1) if rank == order < shape_of(x)[0] else np.zeros(0, c.dtype)
    if full:
        return c, squares, rank, np.linalg.svdvals(scaled), rcond
    if not cov:
        return c
    if rank < order:
        raise NoRuleError("polyfit: cov=... of points that do not fix the polynomial")
    base = np.linalg.inv(np.transpose(left) @ left)
    factor: Any = 1.0
    if not (isinstance(cov, str) and cov == "unscaled"):
        if shape_of(x)[0] <= order:
            raise ArgumentError(
                "the number of data points must exceed order to scale the covariance matrix"
            )
        factor = squares / (shape_of(x)[0] - order)
    if len(shape_of(y)) == 1:
        return c, base * factor
    return c, base[:, :, None] * factor
