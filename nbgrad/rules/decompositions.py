"""Eigenvalues, singular values and QR factors, and what is made of them.

Each row gives all factors below each other in one array, so that one pullback serves them; the
functions take them apart. Where two eigenvalues or singular values are equal, their vectors have no
derivative: nan, wherever vectors are asked for, and never a number that only looks right. The
values themselves keep theirs, so that sums over all of them are right there too.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.array import implements
from ..core.primitive import Aval, bind, shape_of
from ..errors import DimensionMismatch, NoRuleError
from . import batching
from .dtypes import float_type
from .families import Custom, Interval, sample
from .forms import matrices as forms
from .linalg import swap
from .matrices import inv, solve

_VECTORS = "the signs of vectors are LAPACK's, which compiled programs do not call"


def _floats(x) -> np.ndarray:
    x = np.asarray(x)
    return x.astype(float_type(x.dtype), copy=False)


def _square(op: str, x) -> None:
    shape = shape_of(x)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise DimensionMismatch(
            f"{op}: the shape {shape} is not that of square matrices: its last two lengths must "
            "be equal"
        )


def _diagonal(x):
    """The matrices with these numbers on their diagonals."""
    n = shape_of(x)[-1]
    return x[..., None] * np.eye(n, dtype=x.dtype)


def _over_gaps(matrix, w, touched):
    """matrix[i, j] / (w[j] - w[i]); 0 on the diagonal, and where `w` are equal: nan if anything
    asks for the vectors there, else 0."""
    n = shape_of(w)[-1]
    gap = w[..., None, :] - w[..., :, None]
    least = 8 * np.finfo(w.dtype).eps * np.max(np.abs(w), axis=-1, initial=0.0)
    tied = np.abs(gap) <= least[..., None, None]
    off = ~np.eye(n, dtype=bool)
    quotient = matrix / np.where(tied, 1.0, gap)
    return np.where(off, np.where(tied, np.where(touched, np.nan, 0.0), quotient), 0.0)


def _touched(ct):
    """For each pair of columns whether one of them has a cotangent."""
    each = np.any(ct != 0, axis=-2)
    return np.logical_or(each[..., None, :], each[..., :, None])


def _stacked(w, v):
    return np.concatenate([w[..., None, :], v], axis=-2)


def _taken(packed):
    """The values and the vectors that are stacked."""
    return packed[..., 0, :], packed[..., 1:, :]


def _one_more_row(x: Aval) -> Aval:
    n = x.shape[-1]
    return Aval.of((*x.shape[:-2], n + 1, n), float_type(x))


_samples = [sample((2, 2)), sample((2, 3, 3)), sample((3, 3))]


# -- symmetric matrices ---------------------------------------------------------------------------


def _even(x):
    return 0.5 * (x + swap(x))


def _eigh(x):
    w, v = np.linalg.eigh(_even(_floats(x)))
    return _stacked(w, v)


def _eigh_rule(ct, out, args, need):
    (w_bar, v_bar), (w, v) = _taken(ct), _taken(out)
    turned = _over_gaps(swap(v) @ v_bar, w, _touched(v_bar))
    return [_even(v @ (_diagonal(w_bar) + turned) @ swap(v))]


def _eigh_push(tangents, out, args):
    w, v = _taken(out)
    change = swap(v) @ _even(tangents[0]) @ v
    return _stacked(
        np.diagonal(change, 0, -2, -1), v @ _over_gaps(change, w, np.not_equal(change, 0))
    )


eigh_row = Custom(
    "eigh", _eigh, _one_more_row, _eigh_rule, _eigh_push, reads=(), samples=_samples,
    batch=batching.stacked, eager_only=_VECTORS, spelling="`np.linalg.eigh`", reference=_eigh,
    notes="a function of the symmetric part of the matrix, so the gradient is symmetric; nan in "
    "vectors of equal eigenvalues",
)  # fmt: skip


class EighResult(NamedTuple):
    """What np.linalg.eigh gives."""

    eigenvalues: Any
    eigenvectors: Any


def _triangle(op: str, uplo: str) -> None:
    if uplo.upper() not in ("L", "U"):
        raise ValueError(f"{op}: UPLO={uplo!r} must be 'L' or 'U'")


@implements(np.linalg.eigh)
def eigh(a, UPLO="L"):
    """Eigenvalues and eigenvectors of symmetric matrices: of the symmetric part, whose triangles
    share the gradient. Vectors of equal eigenvalues have the derivative nan."""
    _square("eigh", a)
    _triangle("eigh", UPLO)
    return EighResult(*_taken(bind(eigh_row, a)))


@implements(np.linalg.eigvalsh)
def eigvalsh(a, UPLO="L"):
    """Eigenvalues of symmetric matrices; where some are equal, sums over them have a gradient."""
    _square("eigvalsh", a)
    _triangle("eigvalsh", UPLO)
    return _taken(bind(eigh_row, a))[0]


# -- other square matrices ------------------------------------------------------------------------


def _eig(x):
    w, v = np.linalg.eig(_floats(x))
    if np.iscomplexobj(w):
        raise NoRuleError(
            "eig: an eigenvalue is complex; nbgrad computes with real numbers: use np.linalg.eigh "
            "for symmetric matrices, or x.data for the value"
        )
    return _stacked(w, v)


def _eig_rule(ct, out, args, need):
    (w_bar, v_bar), (w, v) = _taken(ct), _taken(out)
    seen = swap(v) @ v_bar
    # Vectors have length 1: what would stretch them does not count.
    seen = seen - (swap(v) @ v) * np.diagonal(seen, 0, -2, -1)[..., None, :]
    turned = _over_gaps(seen, w, _touched(v_bar))
    return [solve(swap(v), (_diagonal(w_bar) + turned) @ swap(v))]


def _eig_push(tangents, out, args):
    w, v = _taken(out)
    change = solve(v, tangents[0] @ v)
    moved = v @ _over_gaps(change, w, np.not_equal(change, 0))
    moved = moved - v * np.sum(v * moved, axis=-2, keepdims=True)
    return _stacked(np.diagonal(change, 0, -2, -1), moved)


_apart = [
    sample(np.array([[1.0, 0.3], [-0.1, 2.0]]) + np.zeros((2, 1, 1))),
    sample(np.array([[3.0, 0.4, 0.2], [0.1, 1.0, 0.3], [-0.2, 0.5, -1.0]])),
]
eig_row = Custom(
    "eig", _eig, _one_more_row, _eig_rule, _eig_push, reads=(), samples=_apart,
    batch=batching.stacked, eager_only=_VECTORS, spelling="`np.linalg.eig`", reference=_eig,
    notes="real eigenvalues only; nan in vectors of equal eigenvalues",
)  # fmt: skip


class EigResult(NamedTuple):
    """What np.linalg.eig gives."""

    eigenvalues: Any
    eigenvectors: Any


@implements(np.linalg.eig)
def eig(a):
    """Eigenvalues and eigenvectors of matrices whose eigenvalues are real. Raises NoRuleError for
    complex ones."""
    _square("eig", a)
    return EigResult(*_taken(bind(eig_row, a)))


@implements(np.linalg.eigvals)
def eigvals(a):
    """Eigenvalues, where they are real. Raises NoRuleError for complex ones."""
    _square("eigvals", a)
    return _taken(bind(eig_row, a))[0]


# -- singular values ------------------------------------------------------------------------------


def _svd(x):
    u, s, v = np.linalg.svd(_floats(x), full_matrices=False)
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
    touched = np.logical_or(_touched(u_bar), _touched(v_bar))
    left, right = swap(u) @ u_bar, swap(v) @ v_bar
    left = _over_gaps(left - swap(left), s * s, touched)
    right = _over_gaps(right - swap(right), s * s, touched)
    row, column = s[..., None, :], s[..., :, None]
    x_bar = u @ (_diagonal(s_bar) + left * row + column * right) @ swap(v)
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
    u_dot = u @ _over_gaps(left, s * s, np.not_equal(left, 0))
    v_dot = v @ _over_gaps(right, s * s, np.not_equal(right, 0))
    if m > shape_of(u)[-1]:
        rest = _rest(u, x_dot @ v)
        u_dot = u_dot + _over_values(rest, s, np.not_equal(rest, 0))
    if shape_of(x_dot)[-1] > shape_of(u)[-1]:
        rest = _rest(v, swap(x_dot) @ u)
        v_dot = v_dot + _over_values(rest, s, np.not_equal(rest, 0))
    s_dot = np.diagonal(change, 0, -2, -1)
    return np.concatenate([u_dot, s_dot[..., None, :], v_dot], axis=-2)


svd_row = Custom(
    "svd", _svd, _svd_infer, _svd_rule, _svd_push, samples=[*_samples, sample((3, 2)), sample((2, 3))],
    batch=batching.stacked, eager_only=_VECTORS, spelling="`np.linalg.svd`", reference=_svd,
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
    u, s, v = _parts(bind(svd_row, _even(a) if hermitian else a), shape[-2])
    return SVDResult(u, s, swap(v)) if compute_uv else s


@implements(np.linalg.svdvals)
def svdvals(x, /):
    """The singular values of each matrix, the largest first."""
    return svd(x, compute_uv=False)


# -- QR -------------------------------------------------------------------------------------------


def _qr(x):
    return np.concatenate(np.linalg.qr(_floats(x)), axis=-2)


def _qr_infer(x: Aval) -> Aval:
    *lead, m, n = x.shape
    return Aval.of((*lead, m + n, n), float_type(x))


def _lower(x):
    return np.tril(x, -1)


# Walter and Lehmann 2018, Algorithmic differentiation of linear algebra functions, section 4.
def _qr_rule(ct, out, args, need):
    m = shape_of(args[0])[-2]
    q_bar, r_bar, q, r = ct[..., :m, :], ct[..., m:, :], out[..., :m, :], out[..., m:, :]
    seen = r @ swap(np.triu(r_bar)) - swap(q_bar) @ q
    even = np.tril(seen) + swap(_lower(seen))
    return [swap(solve(r, swap(q_bar + q @ even)))]


def _qr_push(tangents, out, args):
    m = shape_of(args[0])[-2]
    q, r = out[..., :m, :], out[..., m:, :]
    change = tangents[0] @ inv(r)
    inside = swap(q) @ change
    odd = _lower(inside) - swap(_lower(inside))
    return np.concatenate([change - q @ inside + q @ odd, (inside - odd) @ r], axis=-2)


_tall = Interval(0.5, 2.5)
qr_row = Custom(
    "qr", _qr, _qr_infer, _qr_rule, _qr_push, reads=(), batch=batching.stacked,
    samples=[sample((3, 2)), sample((2, 2, 2)), sample((4, 3), domain=_tall)], reference=_qr,
    form=forms.qr, spelling="`np.linalg.qr`",
    notes="LinAlgError from the pullback where columns depend on each other",
)  # fmt: skip


class QRResult(NamedTuple):
    """What np.linalg.qr gives."""

    Q: Any
    R: Any


@implements(np.linalg.qr)
def qr(a, mode="reduced"):
    """Factors of each matrix, one with orthogonal columns and one that is upper triangular. Raises
    NoRuleError for other modes than "reduced" and "r"."""
    shape = shape_of(a)
    if len(shape) < 2:
        raise DimensionMismatch(f"qr: the shape {shape} has fewer than two axes")
    *_, m, n = shape
    if mode not in ("reduced", "r") and not (mode == "complete" and m <= n):
        raise NoRuleError(f"qr: mode={mode!r} has no derivative rule: give 'reduced' or 'r'")
    packed = bind(qr_row, a[..., :m] if m < n else a)
    q, r = packed[..., :m, :], packed[..., m:, :]
    if m < n:
        r = np.concatenate([r, swap(q) @ a[..., m:]], axis=-1)
    return r if mode == "r" else QRResult(q, r)
