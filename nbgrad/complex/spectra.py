"""Eigenvalues, eigenvectors and singular values of complex matrices.

Equal values are treated as for real matrices (`rules/linalg/decompositions.py`). A vector is
defined up to a phase. LAPACK makes one element of it real: of eigenvectors the first one for
Hermitian matrices, the largest one for others; of singular vectors the first one of the right ones,
or of the left ones for wide matrices. The derivative is that of these vectors. Where the element is
0, the vectors move orthogonally to themselves.
"""

from typing import Any

import numpy as np

from ..core.primitive import shape_of
from ..rules.families import scaled
from ..rules.forms import spectra as forms
from ..rules.linalg.decompositions import (
    EighResult,
    EigResult,
    diagonal_of,
    is_upper,
    over_gaps,
    rounding_of,
    values_beside,
    without_rounding,
)
from ..rules.linalg.matrices import require_square
from ..rules.linalg.singular import SVDResult, require_svd
from ..rules.linalg.symmetric import have_one_triangle
from ..rules.nondiff import stopped
from .calls import complexly
from .pair import joined, parts_of
from .stacked import ComplexRow, adjoint, by_parts_of, whole


def even(x: Any) -> Any:
    """The Hermitian part."""
    return 0.5 * (x + adjoint(x))


def odd(x: Any) -> Any:
    """The part that is minus its conjugate transpose."""
    return 0.5 * (x - adjoint(x))


def _rounded(x: Any, *columns: Any) -> Any:
    """The matrices without elements that are rounding errors of products with the columns."""
    sizes = [np.abs(c) for c in columns]
    return by_parts_of(without_rounding, x, *sizes)


def _over_gaps(x: Any, w: Any, beside: Any = False) -> Any:
    return by_parts_of(over_gaps, x, w, beside)


def _column_sums(x: Any) -> Any:
    return np.sum(x, axis=-2, keepdims=True)


# -- phases ---------------------------------------------------------------------------------------


def _over_pivot(v: Any, pivot: Any) -> Any:
    """The pivots p of the columns as i p / |p|**2, 0 where they are 0."""
    p = _column_sums(v * pivot)
    square = p.real * p.real + p.imag * p.imag
    null = square <= rounding_of(np.ones_like(square), shape_of(v)[-2]) ** 2
    return np.where(null, 0.0, 1.0) * p / np.where(null, 1.0, square)


def _turning(*pairs: Any) -> Any:
    """The cotangents of the phases of the columns of vectors, from pairs of vectors and their
    cotangents; without rounding errors, as functions that no phase changes have none."""
    terms, size = [], 0.0
    for v, v_bar in pairs:
        terms.append(_column_sums(v.real * v_bar.imag - v.imag * v_bar.real))
        size = size + np.sqrt(_column_sums(stopped(v_bar.real) ** 2 + stopped(v_bar.imag) ** 2))
    total = sum(terms[1:], terms[0])
    value = stopped(total)
    least = rounding_of(size, shape_of(pairs[0][0])[-2])
    return total - np.where(np.abs(value) <= least, value, 0.0)


def _pulled_pivot(turning: Any, over: Any, pivot: Any) -> Any:
    """What the cotangents of the phases add to those of the vectors with the pivots."""
    return -1j * (over * turning) * pivot


def _phases(v_dot: Any, over: Any, pivot: Any) -> Any:
    """How fast the phases move that the pivots lose again."""
    moved = _column_sums(v_dot * pivot)
    return over.real * moved.imag - over.imag * moved.real


def _first(v: Any) -> np.ndarray:
    out = np.zeros((shape_of(v)[-2], 1))
    out[:1] = 1.0
    return out


def _largest(v: Any) -> Any:
    """1 at the largest element of each column."""
    size = stopped(v.real) ** 2 + stopped(v.imag) ** 2
    place = np.argmax(size, axis=-2)
    rows = np.arange(shape_of(v)[-2])[:, None]
    return np.where(np.equal(place[..., None, :], rows), 1.0, 0.0)


# -- Hermitian matrices ---------------------------------------------------------------------------


def _stacked(w: Any, v: Any) -> Any:
    return np.concatenate([w[..., None, :], v], axis=-2)


def _taken(packed: Any) -> tuple[Any, Any]:
    return packed[..., 0, :], packed[..., 1:, :]


def _eigh(a: Any) -> Any:
    return _stacked(*np.linalg.eigh(even(a)))


def _eigh_rule(ct: Any, out: Any, args: Any, need: Any) -> list:
    (w_bar, v_bar), (w, v) = _taken(ct), _taken(out)
    w, w_bar, pivot = w.real, w_bar.real, _first(v)
    moved = v_bar + _pulled_pivot(_turning((v, v_bar)), _over_pivot(v, pivot), pivot)
    turning = _rounded(odd(adjoint(v) @ moved), moved)
    turned = _over_gaps(turning, w, values_beside(w_bar, moved))
    return [even(v @ (diagonal_of(w_bar) + turned) @ adjoint(v))]


def _eigh_push(tangents: Any, out: Any, args: Any) -> Any:
    w, v = _taken(out)
    change = adjoint(v) @ even(tangents[0]) @ v
    moved = v @ _over_gaps(_rounded(change, change), w.real)
    moved = moved - 1j * v * _phases(moved, _over_pivot(v, _first(v)), _first(v))
    return _stacked(np.real(np.diagonal(change, 0, -2, -1)) + 0j, moved)


eigh_row = ComplexRow(
    "eigh", _eigh, lambda x: (x[0] + 1, x[1]), _eigh_rule, _eigh_push, reads=(),
    form=forms.complex_eigh,
)  # fmt: skip


def hermitian(a: Any, upper: bool = False) -> Any:
    """Hermitian matrices of one triangle, if it is the only one, else of the Hermitian part."""
    a = whole(a)
    lone = have_one_triangle(stopped(np.abs(a)))
    a = adjoint(a) if upper else a
    low = np.tril(a, -1)
    return np.where(lone, low + adjoint(low) + np.tril(np.triu(a)).real, even(a))


@complexly(np.linalg.eigh)
def eigh(a, UPLO="L"):
    """Real eigenvalues and the vectors of Hermitian matrices: of the Hermitian part."""
    require_square("eigh", a)
    w, v = _taken(eigh_row(hermitian(a, is_upper("eigh", UPLO))))
    return EighResult(w.real, v)


@complexly(np.linalg.eigvalsh)
def eigvalsh(a, UPLO="L"):
    return eigh(a, UPLO)[0]


# -- other square matrices ------------------------------------------------------------------------


def _eig(a: Any, *, real: bool) -> Any:
    return _stacked(*np.linalg.eig(a.real if real else a)).astype(a.dtype)


def _inverse_gaps(w: Any, beside: Any) -> Any:
    """1 / (w[j] - w[i]), and 0 on the diagonal; for equal ones nan where `beside` is true."""
    gap = w[..., None, :] - w[..., :, None]
    n, size = shape_of(w)[-1], np.abs(w)
    least = rounding_of(np.max(size, axis=-1, initial=0.0), n)
    square = gap.real * gap.real + gap.imag * gap.imag
    tied = square <= (least * least)[..., None, None]
    lost = np.where(np.logical_and(tied, beside), np.nan, 1.0)
    lost = np.where(np.eye(n, dtype=bool), 0.0, lost)
    return np.conjugate(gap) * (lost / np.where(tied, 1.0, square))


def _scaled(x: Any, y: Any) -> Any:
    """The product, in which 0 times nan is 0."""
    real = scaled(x.real, y.real) - scaled(x.imag, y.imag)
    imag = scaled(x.real, y.imag) + scaled(x.imag, y.real)
    return by_parts_of(lambda part: part, joined(real, imag))


def _eig_rule(ct: Any, out: Any, args: Any, need: Any, **params: Any) -> list:
    (w_bar, v_bar), (w, v) = _taken(ct), _taken(out)
    pivot = _largest(v)
    moved = v_bar + _pulled_pivot(_turning((v, v_bar)), _over_pivot(v, pivot), pivot)
    seen = adjoint(v) @ moved
    # Vectors have length 1: the component along them does not count.
    seen = seen - (adjoint(v) @ v) * np.diagonal(seen, 0, -2, -1)[..., None, :]
    used = np.any(np.not_equal(v_bar, 0), axis=-2)
    beside = np.logical_or(used[..., None, :], used[..., :, None])
    turned = _scaled(seen, np.conjugate(_inverse_gaps(w, beside)))
    return [np.linalg.solve(adjoint(v), (diagonal_of(w_bar) + turned) @ adjoint(v))]


def _eig_push(tangents: Any, out: Any, args: Any, **params: Any) -> Any:
    w, v = _taken(out)
    change = np.linalg.solve(v, tangents[0] @ v)
    moved = v @ _scaled(change, _inverse_gaps(w, True))
    moved = moved - v * _column_sums(np.conjugate(v) * moved)
    pivot = _largest(v)
    moved = moved - 1j * v * _phases(moved, _over_pivot(v, pivot), pivot)
    return _stacked(np.diagonal(change, 0, -2, -1), moved)


eig_row = ComplexRow(
    "eig", _eig, lambda x: (x[0] + 1, x[1]), _eig_rule, _eig_push, reads=(),
    form=forms.complex_eig,
)  # fmt: skip


@complexly(np.linalg.eig)
def eig(a):
    """Eigenvalues and vectors, in LAPACK's order. Real matrices come here if one is complex."""
    require_square("eig", a)
    real, imag = parts_of(a)
    return EigResult(*_taken(eig_row(joined(real, imag), real=type(imag) is float)))


@complexly(np.linalg.eigvals)
def eigvals(a):
    return eig(a)[0]


# -- singular values ------------------------------------------------------------------------------


def _svd(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.concatenate([u, s[..., None, :], adjoint(vh)], axis=-2)


def _split(packed: Any, m: int) -> tuple[Any, Any, Any]:
    """Left vectors, values, and right vectors in columns."""
    return packed[..., :m, :], packed[..., m, :], packed[..., m + 1 :, :]


def _over(x: Any, divisor: Any, s: Any) -> Any:
    """x / divisor; where the divisor is 0 beside the largest of `s`, 0 for 0, else nan."""
    largest = np.max(np.abs(s), axis=-1, keepdims=True, initial=0.0)
    least = rounding_of(largest, shape_of(s)[-1])
    null = divisor <= least[..., None, :]
    inverse = np.where(null, np.nan, 1.0 / np.where(null, 1.0, divisor))
    return by_parts_of(scaled, x, inverse)


def _rest_over(vectors: Any, x: Any, s: Any) -> Any:
    """The part of the columns of x orthogonal to the vectors, divided by the singular values."""
    size = np.sqrt(_column_sums(np.square(stopped(x.real)) + np.square(stopped(x.imag))))
    rest = x - vectors @ (adjoint(vectors) @ x)

    def cleared(part: Any) -> Any:
        value = stopped(part)
        small = np.abs(value) <= rounding_of(size, shape_of(x)[-2])
        return part - np.where(small, value, 0.0)

    return _over(by_parts_of(cleared, rest), s[..., None, :], s)


def _turned(left: Any, right: Any, s: Any, columns: tuple, beside: Any = False) -> tuple:
    both, apart = (_rounded(0.5 * x, *columns) for x in (left + right, left - right))
    return _over_gaps(both, s, beside), _over(apart, s[..., None, :] + s[..., :, None], s)


def _svd_rule(ct: Any, out: Any, args: Any, need: Any) -> list:
    m, n = shape_of(args[0])[-2:]
    (u_bar, s_bar, v_bar), (u, s, v) = _split(ct, m), _split(out, m)
    s, s_bar, k = s.real, s_bar.real, shape_of(s)[-1]
    turning = _turning((u, u_bar), (v, v_bar))
    if m >= n:
        v_bar = v_bar + _pulled_pivot(turning, _over_pivot(v, _first(v)), _first(v))
    else:
        u_bar = u_bar + _pulled_pivot(turning, _over_pivot(u, _first(u)), _first(u))
    left, right = 2.0 * odd(adjoint(u) @ u_bar), 2.0 * odd(adjoint(v) @ v_bar)
    gaps, sums = _turned(left, right, s, (u_bar, v_bar), values_beside(s_bar, u_bar, v_bar))
    x_bar = u @ (diagonal_of(s_bar) + gaps + sums) @ adjoint(v)
    if m > k:
        x_bar = x_bar + _rest_over(u, u_bar, s) @ adjoint(v)
    if n > k:
        x_bar = x_bar + u @ adjoint(_rest_over(v, v_bar, s))
    return [x_bar]


def _svd_push(tangents: Any, out: Any, args: Any) -> Any:
    (x_dot,), (m, n) = tangents, shape_of(args[0])[-2:]
    u, s, v = _split(out, m)
    s = s.real
    change = adjoint(u) @ x_dot @ v
    gaps, sums = _turned(change, adjoint(change), s, (change, adjoint(change)))
    u_dot, v_dot = u @ (gaps + sums), v @ (gaps - sums)
    if m > shape_of(s)[-1]:
        u_dot = u_dot + _rest_over(u, x_dot @ v, s)
    if n > shape_of(s)[-1]:
        v_dot = v_dot + _rest_over(v, adjoint(x_dot) @ u, s)
    fixed, moved = (v, v_dot) if m >= n else (u, u_dot)
    phases = 1j * _phases(moved, _over_pivot(fixed, _first(fixed)), _first(fixed))
    s_dot = np.real(np.diagonal(change, 0, -2, -1)) + 0j
    return np.concatenate(
        [u_dot - u * phases, s_dot[..., None, :], v_dot - v * phases], axis=-2
    )  # fmt: skip


svd_row = ComplexRow(
    "svd", _svd, lambda x: (x[0] + 1 + x[1], min(x)), _svd_rule, _svd_push,
    form=forms.complex_svd,
)  # fmt: skip


@complexly(np.linalg.svd)
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    """Singular values and vectors, as of real matrices."""
    require_svd(a, full_matrices and compute_uv)
    u, s, v = _split(svd_row(even(whole(a)) if hermitian else a), shape_of(a)[-2])
    return SVDResult(u, s.real, adjoint(v)) if compute_uv else s.real


@complexly(np.linalg.svdvals)
def svdvals(x):
    return svd(x, compute_uv=False)
