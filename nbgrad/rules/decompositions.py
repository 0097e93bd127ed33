"""Eigenvalues and QR factors; singular values are in `singular.py`.

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
from .families import Custom, Interval, positive, sample
from .forms import matrices as forms
from .linalg import swap
from .matrices import floats, inv, require_square, solve

VECTORS = "the signs of vectors are LAPACK's, which compiled programs do not call"


def diagonal_of(x):
    """The matrices with these numbers on their diagonals."""
    n = shape_of(x)[-1]
    return x[..., None] * np.eye(n, dtype=x.dtype)


def over_gaps(matrix, w, touched):
    """matrix[i, j] / (w[j] - w[i]); 0 on the diagonal, and where `w` are equal: nan if anything
    asks for the vectors there, else 0."""
    n = shape_of(w)[-1]
    gap = w[..., None, :] - w[..., :, None]
    least = 8 * np.finfo(w.dtype).eps * np.max(np.abs(w), axis=-1, initial=0.0)
    tied = np.abs(gap) <= least[..., None, None]
    off = ~np.eye(n, dtype=bool)
    quotient = matrix / np.where(tied, 1.0, gap)
    return np.where(off, np.where(tied, np.where(touched, np.nan, 0.0), quotient), 0.0)


def touched_pairs(ct):
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


samples = [sample((2, 2)), sample((2, 3, 3)), sample((3, 3))]


# -- symmetric matrices ---------------------------------------------------------------------------


def even(x):
    return 0.5 * (x + swap(x))


def _eigh(x):
    w, v = np.linalg.eigh(even(floats(x)))
    return _stacked(w, v)


def _eigh_rule(ct, out, args, need):
    (w_bar, v_bar), (w, v) = _taken(ct), _taken(out)
    turned = over_gaps(swap(v) @ v_bar, w, touched_pairs(v_bar))
    return [even(v @ (diagonal_of(w_bar) + turned) @ swap(v))]


def _eigh_push(tangents, out, args):
    w, v = _taken(out)
    change = swap(v) @ even(tangents[0]) @ v
    return _stacked(
        np.diagonal(change, 0, -2, -1), v @ over_gaps(change, w, np.not_equal(change, 0))
    )


eigh_row = Custom(
    "eigh", _eigh, _one_more_row, _eigh_rule, _eigh_push, reads=(), samples=samples,
    batch=batching.stacked, eager_only=VECTORS, reference=_eigh,
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
    require_square("eigh", a)
    _triangle("eigh", UPLO)
    return EighResult(*_taken(bind(eigh_row, a)))


@implements(np.linalg.eigvalsh)
def eigvalsh(a, UPLO="L"):
    """Eigenvalues of symmetric matrices; where some are equal, sums over them have a gradient."""
    require_square("eigvalsh", a)
    _triangle("eigvalsh", UPLO)
    return _taken(bind(eigh_row, a))[0]


# -- other square matrices ------------------------------------------------------------------------


def _eig(x):
    w, v = np.linalg.eig(floats(x))
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
    turned = over_gaps(seen, w, touched_pairs(v_bar))
    return [solve(swap(v), (diagonal_of(w_bar) + turned) @ swap(v))]


def _eig_push(tangents, out, args):
    w, v = _taken(out)
    change = solve(v, tangents[0] @ v)
    moved = v @ over_gaps(change, w, np.not_equal(change, 0))
    moved = moved - v * np.sum(v * moved, axis=-2, keepdims=True)
    return _stacked(np.diagonal(change, 0, -2, -1), moved)


# Of positive numbers, so that the eigenvalues of two rows are real and differ.
_apart = [sample((2, 2), domain=positive), sample((2, 2, 2), domain=positive)]
eig_row = Custom(
    "eig", _eig, _one_more_row, _eig_rule, _eig_push, reads=(), samples=_apart,
    batch=batching.stacked, eager_only=VECTORS, reference=_eig,
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
    require_square("eig", a)
    return EigResult(*_taken(bind(eig_row, a)))


@implements(np.linalg.eigvals)
def eigvals(a):
    """Eigenvalues, where they are real. Raises NoRuleError for complex ones."""
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
    "qr", _qr, _qr_infer, _qr_rule, _qr_push, reads=(), batch=batching.stacked,
    samples=[sample((3, 2)), sample((2, 2, 2)), sample((4, 3), domain=_tall)], reference=_qr,
    form=forms.qr,
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
