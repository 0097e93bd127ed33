"""Singular values and vectors, with the conventions of `decompositions.py`."""

from collections import namedtuple

import numpy as np

from ...core.array import implements
from ...core.primitive import Aval, bind, shape_of
from ...errors import DimensionMismatch, NoRuleError
from .. import batching
from ..dtypes import float_type
from ..families import Custom, sample, scaled
from ..forms import spectra
from ..nondiff import stopped
from .decompositions import (
    diagonal_of,
    even,
    odd,
    over_gaps,
    rounding_of,
    samples,
    values_beside,
    without_rounding,
)
from .matmul import swap
from .matrices import floats


def _svd(x):
    u, s, v = np.linalg.svd(floats(x), full_matrices=False)
    return np.concatenate([u, s[..., None, :], swap(v)], axis=-2)


def _parts(packed, m: int):
    """Left vectors, values, and right vectors in columns."""
    return packed[..., :m, :], packed[..., m, :], packed[..., m + 1 :, :]


def _svd_infer(x: Aval) -> Aval:
    *lead, m, n = x.shape
    return Aval.of((*lead, m + 1 + n, min(m, n)), float_type(x))


def _over(matrix, divisor, s):
    """matrix / divisor; where the divisor is 0 relative to the largest of `s`, 0 for 0, else
    nan."""
    largest = np.max(np.abs(s), axis=-1, keepdims=True, initial=0.0)
    least = rounding_of(largest, shape_of(s)[-1])
    zero = divisor <= least[..., None, :]
    return scaled(matrix, np.where(zero, np.nan, 1.0 / np.where(zero, 1.0, divisor)))


def _rest_over(vectors, x, s):
    """The part of the columns of x orthogonal to the vectors, divided by the singular values."""
    size = np.sqrt(np.sum(np.square(stopped(x)), axis=-2, keepdims=True))
    rest = x - vectors @ (swap(vectors) @ x)
    value = stopped(rest)
    small = np.abs(value) <= rounding_of(size, shape_of(x)[-2])
    return _over(rest - np.where(small, value, 0.0), s[..., None, :], s)


# Townsend 2016, Differentiating the singular value decomposition, equations 19 to 21, and their
# transposes. The sum of the rotations of left and right vectors is divided by differences of
# singular values, and their difference by sums: (a s[j] + b s[i]) / (s[j]**2 - s[i]**2) is
# (a + b) / 2 / (s[j] - s[i]) + (a - b) / 2 / (s[j] + s[i]).
def _turned(left, right, s, columns, beside=False):
    """Half the sum of two matrices divided by the gaps, and half the difference divided by the sums
    of `s`."""
    both, apart = (without_rounding(0.5 * x, *columns) for x in (left + right, left - right))
    return over_gaps(both, s, beside), _over(apart, s[..., None, :] + s[..., :, None], s)


def _svd_rule(ct, out, args, need):
    m, n = shape_of(args[0])[-2:]
    (u_bar, s_bar, v_bar), (u, s, v) = _parts(ct, m), _parts(out, m)
    left, right = 2.0 * odd(swap(u) @ u_bar), 2.0 * odd(swap(v) @ v_bar)
    gaps, sums = _turned(left, right, s, (u_bar, v_bar), values_beside(s_bar, u_bar, v_bar))
    x_bar = u @ (diagonal_of(s_bar) + gaps + sums) @ swap(v)
    if m > shape_of(s)[-1]:
        x_bar = x_bar + _rest_over(u, u_bar, s) @ swap(v)
    if n > shape_of(s)[-1]:
        x_bar = x_bar + u @ swap(_rest_over(v, v_bar, s))
    return [x_bar]


def _svd_push(tangents, out, args):
    (x_dot,), (m, n) = tangents, shape_of(args[0])[-2:]
    u, s, v = _parts(out, m)
    change = swap(u) @ x_dot @ v
    gaps, sums = _turned(change, swap(change), s, (change, swap(change)))
    u_dot, v_dot = u @ (gaps + sums), v @ (gaps - sums)
    if m > shape_of(s)[-1]:
        u_dot = u_dot + _rest_over(u, x_dot @ v, s)
    if n > shape_of(s)[-1]:
        v_dot = v_dot + _rest_over(v, swap(x_dot) @ u, s)
    s_dot = np.diagonal(change, 0, -2, -1)
    return np.concatenate([u_dot, s_dot[..., None, :], v_dot], axis=-2)


svd_row = Custom(
    "svd", _svd, _svd_infer, _svd_rule, _svd_push,
    samples=[*samples, sample((3, 2)), sample((2, 3))],
    batch=batching.broadcast, form=spectra.svd, reference=_svd,
    notes="in vectors of equal singular values that of functions which no rotation of both sides "
    "changes, such as `u @ vh`, else nan, as it is in forward mode and second order, where their "
    "values are used beside, and in vectors of those that are 0",
)  # fmt: skip


SVDResult = namedtuple("SVDResult", "U S Vh")


def require_svd(a, full: bool) -> None:
    """Raise DimensionMismatch for fewer than two axes, NoRuleError for additional vectors."""
    shape = shape_of(a)
    if len(shape) < 2:
        raise DimensionMismatch(f"svd: the shape {shape} has fewer than two axes")
    if full and shape[-1] != shape[-2]:
        raise NoRuleError(
            f"svd: of the shape {shape} the full matrices hold vectors that nothing fixes: give "
            "full_matrices=False"
        )


@implements(np.linalg.svd)
def svd(a, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False):
    """Singular values and vectors. Raises NoRuleError for `full_matrices` of matrices that are not
    square, since the additional vectors have no derivative."""
    require_svd(a, full_matrices and compute_uv)
    u, s, v = _parts(bind(svd_row, even(a) if hermitian else a), shape_of(a)[-2])
    return SVDResult(u, s, swap(v)) if compute_uv else s
