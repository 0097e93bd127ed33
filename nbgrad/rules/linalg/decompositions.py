"""Eigenvalues and QR factors; singular values are in `singular.py`.

The result of each row is one array of all factors, stacked along the rows, so that there is one
pullback; the public functions split it.

The vectors of equal eigenvalues or singular values are defined up to a rotation, and LAPACK returns
one choice. The values have derivatives, whose sums over equal ones are correct. The vectors have a
gradient in functions that are invariant under the rotation, such as the projector onto the space
that they span: the cotangent is orthogonal to small rotations, and the pair contributes 0.
Otherwise the gradient is nan. It is nan, too, if both values and vectors of the pair have a
cotangent, as in `(v * w) @ v.T`, since these do not determine the derivative; `nbgrad.linalg.expm`,
`np.linalg.inv` and other functions of the whole matrix have one. In forward mode the functions of
the vectors are not known, so tangents are nan along directions that separate equal values, as are
second derivatives."""

from collections import namedtuple
from typing import Any

import numpy as np

from ...core.array import implements
from ...core.primitive import Aval, bind, shape_of
from ...errors import ArgumentError, DimensionMismatch, NoRuleError
from .. import batching
from ..dtypes import float_type
from ..families import Custom, Interval, positive, sample, scaled
from ..forms import matrices as forms
from ..forms import spectra
from ..nondiff import stopped
from .matmul import swap
from .matrices import floats, inv, require_square, solve
from .symmetric import bind_symmetric, even, symmetric
from .widened import ComplexResult


def diagonal_of(x):
    """The diagonal matrices with these diagonals."""
    n = shape_of(x)[-1]
    return x[..., None] * np.eye(n, dtype=x.dtype)


def over_gaps(matrix, w, beside=False):
    """matrix[i, j] / (w[j] - w[i]), and 0 on the diagonal. For `w` equal up to rounding it is 0 for
    0, else nan, and nan where `beside` is true; its derivative is nan there."""
    n = shape_of(w)[-1]
    gap = w[..., None, :] - w[..., :, None]
    least = rounding_of(np.max(np.abs(w), axis=-1, initial=0.0), n)
    tied, off = np.abs(gap) <= least[..., None, None], ~np.eye(n, dtype=bool)
    inverse = np.where(tied, np.nan, 1.0 / np.where(tied, 1.0, gap))
    matrix = np.where(np.logical_and(tied, beside), np.nan, matrix)
    return np.where(off, scaled(matrix, inverse), 0.0)


def rounding_of(size, n: int):
    """The rounding error of a sum of n numbers of this size."""
    return size * (8 * max(n, 1)) * float(np.finfo(size.dtype).eps)


def without_rounding(matrix, *columns):
    """The matrix with 0 in place of elements within the rounding error of products with the columns
    of some matrices; its derivative is unchanged."""
    size: Any = sum(np.sqrt(np.sum(np.square(stopped(x)), axis=-2)) for x in columns)
    least = rounding_of(size[..., None, :] + size[..., :, None], shape_of(matrix)[-1])
    value = stopped(matrix)
    return matrix - np.where(np.abs(value) <= least, value, 0.0)


def values_beside(w_bar, *vector_bars):
    """Which pairs have nonzero cotangents of both values and vectors."""
    vectors = np.any(np.not_equal(vector_bars[0], 0), axis=-2)
    for ct in vector_bars[1:]:
        vectors = np.logical_or(vectors, np.any(np.not_equal(ct, 0), axis=-2))
    return np.logical_and(_of_pairs(np.not_equal(w_bar, 0)), _of_pairs(vectors))


def _of_pairs(each):
    """For each pair, whether the condition holds for one of the two."""
    return np.logical_or(each[..., None, :], each[..., :, None])


def _stacked(w, v):
    return np.concatenate([w[..., None, :], v], axis=-2)


def _taken(packed):
    """The stacked values and vectors, split."""
    return packed[..., 0, :], packed[..., 1:, :]


def _one_more_row(x: Aval) -> Aval:
    n = x.shape[-1]
    return Aval.of((*x.shape[:-2], n + 1, n), float_type(x))


samples = [sample((2, 2)), sample((2, 3, 3)), sample((3, 3))]


# -- symmetric matrices ---------------------------------------------------------------------------


def _eigh(x):
    w, v = np.linalg.eigh(symmetric(x))
    return _stacked(w, v)


def odd(x):
    return 0.5 * (x - swap(x))


def _eigh_rule(ct, out, args, need):
    (w_bar, v_bar), (w, v) = _taken(ct), _taken(out)
    turning = without_rounding(odd(swap(v) @ v_bar), v_bar)
    turned = over_gaps(turning, w, values_beside(w_bar, v_bar))
    return [even(v @ (diagonal_of(w_bar) + turned) @ swap(v))]


def _eigh_push(tangents, out, args):
    w, v = _taken(out)
    change = swap(v) @ even(tangents[0]) @ v
    turned = v @ over_gaps(without_rounding(change, change), w)
    return _stacked(np.diagonal(change, 0, -2, -1), turned)


eigh_row = Custom(
    "eigh", _eigh, _one_more_row, _eigh_rule, _eigh_push, reads=(), samples=samples,
    batch=batching.broadcast, form=spectra.eigh, reference=_eigh,
    notes="a function of the symmetric part of the matrix, so the gradient is symmetric; in "
    "vectors of equal eigenvalues it is that of functions which no rotation of these vectors "
    "changes, else nan, as it is in forward mode and second order, and where their eigenvalues are "
    "used beside",
)  # fmt: skip


EighResult = namedtuple("EighResult", "eigenvalues eigenvectors")


def is_upper(op: str, uplo: str) -> bool:
    if not isinstance(uplo, str) or uplo.upper() not in ("L", "U"):
        raise ArgumentError(f"{op}: UPLO={uplo!r} must be 'L' or 'U'")
    return uplo.upper() == "U"


@implements(np.linalg.eigh)
def eigh(a, UPLO="L"):
    """Eigenvalues and eigenvectors of symmetric matrices: of the symmetric part, whose triangles
    share the gradient, or of one triangle if the other one is zero.

    Vectors of equal eigenvalues have a gradient in functions that are invariant under rotations of
    these vectors, such as `v[:, :2] @ v[:, :2].T` if the first two are equal. It is nan in other
    functions, in forward mode, and where their eigenvalues are used too; functions of the whole
    matrix, such as `nbgrad.linalg.expm`, have a gradient there."""
    require_square("eigh", a)
    return EighResult(*_taken(bind_symmetric(eigh_row, a, is_upper("eigh", UPLO))))


@implements(np.linalg.eigvalsh)
def eigvalsh(a, UPLO="L"):
    """Eigenvalues of symmetric matrices; sums over equal ones have a gradient."""
    require_square("eigvalsh", a)
    return _taken(bind_symmetric(eigh_row, a, is_upper("eigvalsh", UPLO)))[0]


# -- other square matrices ------------------------------------------------------------------------


def _eig(x):
    w, v = np.linalg.eig(floats(x))
    if np.iscomplexobj(w):
        raise ComplexResult(
            "eig: an eigenvalue is complex: call np.linalg.eigvals, or take x.astype(complex)"
        )
    return _stacked(w, v)


def _eig_rule(ct, out, args, need):
    (w_bar, v_bar), (w, v) = _taken(ct), _taken(out)
    seen = swap(v) @ v_bar
    # Vectors have length 1: the component along them does not count.
    seen = seen - (swap(v) @ v) * np.diagonal(seen, 0, -2, -1)[..., None, :]
    turned = over_gaps(seen, w, _of_pairs(np.any(np.not_equal(v_bar, 0), axis=-2)))
    return [solve(swap(v), (diagonal_of(w_bar) + turned) @ swap(v))]


def _eig_push(tangents, out, args):
    w, v = _taken(out)
    change = solve(v, tangents[0] @ v)
    moved = v @ over_gaps(change, w)
    moved = moved - v * np.sum(v * moved, axis=-2, keepdims=True)
    return _stacked(np.diagonal(change, 0, -2, -1), moved)


# Matrices of positive elements, so that the eigenvalues of two rows are real and differ.
_apart = [sample((2, 2), domain=positive), sample((2, 2, 2), domain=positive)]
eig_row = Custom(
    "eig", _eig, _one_more_row, _eig_rule, _eig_push, reads=(), samples=_apart,
    batch=batching.broadcast, form=spectra.eig, reference=_eig,
    notes="complex where an eigenvalue is, which compiled programs refuse; nan in vectors of equal "
    "eigenvalues",
)  # fmt: skip


EigResult = namedtuple("EigResult", "eigenvalues eigenvectors")


@implements(np.linalg.eig)
def eig(a):
    """Eigenvalues and eigenvectors. They are complex if an eigenvalue is; compiled programs raise
    MatrixError then unless the matrix is."""
    require_square("eig", a)
    return EigResult(*_taken(bind(eig_row, a)))


@implements(np.linalg.eigvals)
def eigvals(a):
    """Eigenvalues, complex if one of them is."""
    require_square("eigvals", a)
    return _taken(bind(eig_row, a))[0]


# -- QR -------------------------------------------------------------------------------------------


def _qr(x):
    return np.concatenate(np.linalg.qr(floats(x)), axis=-2)


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
    "qr", _qr, _qr_infer, _qr_rule, _qr_push, reads=(), batch=batching.broadcast,
    samples=[sample((3, 2)), sample((2, 2, 2)), sample((4, 3), domain=_tall)], reference=_qr,
    form=forms.qr,
    notes="LinAlgError from the pullback where columns depend on each other",
)  # fmt: skip


QRResult = namedtuple("QRResult", "Q R")


@implements(np.linalg.qr)
def qr(a, mode="reduced"):
    """Factors of each matrix: orthonormal columns, and an upper triangular matrix. Raises
    NoRuleError for modes other than "reduced" and "r"."""
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
