"""Pseudo-inverses, ranks and least squares of complex matrices, by the real ones of twice the size,
whose singular values are the same, each twice."""

import numpy as np

from ..core.functions import functions
from ..errors import DimensionMismatch
from ..rules.linalg.systems import solution
from .calls import complexly
from .matrices import doubled, halved
from .pair import ComplexArray
from .stacked import whole


@complexly(np.linalg.pinv)
def pinv(a, rcond=None, hermitian=False):
    a = whole(a)
    if a.ndim < 2:
        raise DimensionMismatch(f"pinv: the shape {a.shape} has fewer than two axes")
    *_, m, n = a.shape
    return halved(np.linalg.pinv(doubled(a), rcond, hermitian), n, m)


@complexly(np.linalg.matrix_rank)
def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    A = whole(A)
    if A.ndim < 2:
        return functions[np.linalg.matrix_rank](np.abs(A))
    if tol is None and rtol is None:
        rtol = max(A.shape[-2:]) * np.finfo(A.dtype).eps
    given = {"rtol": rtol} if tol is None else {"tol": tol}
    return functions[np.linalg.matrix_rank](doubled(A), hermitian=hermitian, **given) // 2


@complexly(np.linalg.lstsq)
def lstsq(a, b, rcond=None):
    """The least squares solution, sums of squared residuals, the rank, and singular values."""
    a, b = whole(a), whole(b)
    if a.ndim != 2 or not b.shape or a.shape[0] != b.shape[0]:
        raise DimensionMismatch(
            f"lstsq: the shapes {a.shape} and {b.shape} do not fit: a matrix, and as many rows as "
            "it has"
        )
    m, n = a.shape
    cutoff = np.finfo(a.dtype).eps * max(m, n) if rcond is None else rcond
    x, rank = solution("lstsq", doubled(a), np.concatenate([b.real, b.imag]), cutoff)
    x = ComplexArray(x[:n], x[n:])
    away = b - a @ x
    squares = np.sum(away.real**2 + away.imag**2, axis=0)
    full = rank // 2 == n and m > n
    squares = np.reshape(squares, -1) if full else np.zeros(0, a.real.dtype)
    return x, squares, rank // 2, np.linalg.svdvals(a)
