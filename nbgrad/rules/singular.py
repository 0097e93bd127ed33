"""Singular values and their vectors, on the terms of `decompositions.py`."""

from typing import Any, NamedTuple

import numpy as np

from ..core.array import implements
from ..core.primitive import Aval, bind, shape_of
from ..errors import DimensionMismatch, NoRuleError
from . import batching
from .decompositions import VECTORS, diagonal_of, even, over_gaps, samples, touched_pairs
from .dtypes import float_type
from .families import Custom, sample
from .linalg import swap
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


def _over_values(matrix, s, touched):
    """The columns over the singular values; over 0, nan if anything asks for it, else 0."""
    least = 8 * np.finfo(s.dtype).eps * np.max(np.abs(s), axis=-1, keepdims=True, initial=0.0)
    zero = (s <= least)[..., None, :]
    quotient = matrix / np.where(zero, 1.0, s[..., None, :])
    return np.where(zero, np.where(touched, np.nan, 0.0), quotient)


def _rest(vectors, x):
    """What of x lies outside of the space of the vectors."""
    return x - vectors @ (swap(vectors) @ x)


# Townsend 2016, Differentiating the singular value decomposition, equations 19 to 21, and their
# transposes; F[i, j] there is 1 / (s[j]**2 - s[i]**2).
def _svd_rule(ct, out, args, need):
    m = shape_of(args[0])[-2]
    (u_bar, s_bar, v_bar), (u, s, v) = _parts(ct, m), _parts(out, m)
    touched = np.logical_or(touched_pairs(u_bar), touched_pairs(v_bar))
    left, right = swap(u) @ u_bar, swap(v) @ v_bar
    left = over_gaps(left - swap(left), s * s, touched)
    right = over_gaps(right - swap(right), s * s, touched)
    row, column = s[..., None, :], s[..., :, None]
    x_bar = u @ (diagonal_of(s_bar) + left * row + column * right) @ swap(v)
    if m > shape_of(u)[-1]:
        x_bar = x_bar + _over_values(_rest(u, u_bar), s, _asked(u_bar)) @ swap(v)
    if shape_of(args[0])[-1] > shape_of(u)[-1]:
        x_bar = x_bar + u @ swap(_over_values(_rest(v, v_bar), s, _asked(v_bar)))
    return [x_bar]


def _asked(ct):
    return np.any(ct != 0, axis=-2)[..., None, :]


def _svd_push(tangents, out, args):
    (x_dot,), m = tangents, shape_of(args[0])[-2]
    u, s, v = _parts(out, m)
    change = swap(u) @ x_dot @ v
    row, column = s[..., None, :], s[..., :, None]
    left = change * row + column * swap(change)
    right = column * change + swap(change) * row
    u_dot = u @ over_gaps(left, s * s, np.not_equal(left, 0))
    v_dot = v @ over_gaps(right, s * s, np.not_equal(right, 0))
    if m > shape_of(u)[-1]:
        rest = _rest(u, x_dot @ v)
        u_dot = u_dot + _over_values(rest, s, np.not_equal(rest, 0))
    if shape_of(x_dot)[-1] > shape_of(u)[-1]:
        rest = _rest(v, swap(x_dot) @ u)
        v_dot = v_dot + _over_values(rest, s, np.not_equal(rest, 0))
    s_dot = np.diagonal(change, 0, -2, -1)
    return np.concatenate([u_dot, s_dot[..., None, :], v_dot], axis=-2)


svd_row = Custom(
    "svd", _svd, _svd_infer, _svd_rule, _svd_push,
    samples=[*samples, sample((3, 2)), sample((2, 3))],
    batch=batching.stacked, eager_only=VECTORS, reference=_svd,
    notes="nan in vectors of equal singular values, and of those that are 0 where the matrix is "
    "not square",
)  # fmt: skip


class SVDResult(NamedTuple):
    """What np.linalg.svd gives."""

    U: Any
    S: Any
    Vh: Any


@implements(np.linalg.svd)
def svd(a, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False):
    """Singular values and their vectors. Raises NoRuleError for `full_matrices` of matrices that
    are not square, as the vectors beyond have no derivative."""
    shape = shape_of(a)
    if len(shape) < 2:
        raise DimensionMismatch(f"svd: the shape {shape} has fewer than two axes")
    if compute_uv and full_matrices and shape[-1] != shape[-2]:
        raise NoRuleError(
            f"svd: of the shape {shape} the full matrices hold vectors that nothing fixes: give "
            "full_matrices=False"
        )
    u, s, v = _parts(bind(svd_row, even(a) if hermitian else a), shape[-2])
    return SVDResult(u, s, swap(v)) if compute_uv else s


@implements(np.linalg.svdvals)
def svdvals(x, /):
    """The singular values of each matrix, the largest first."""
    return svd(x, compute_uv=False)
