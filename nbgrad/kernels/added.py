"""Products of matrices of any strides that are added to an array, as in functions with loops."""

import numpy as np

from ..compiler.instruction import instruction
from .blas import gemm_of_blas, room
from .gemm import DOUBLE, dtype_of, is_worth, own_product
from .scalar import like, radd
from .tiles import ADDS

__all__ = ["added", "added_product", "alone"]

_FEW = 1 << 11
"""Multiply-adds up to which loops are faster than BLAS."""


def alone(function):
    """Decorator: a function of which there is one copy, as LLVM takes long for it."""
    function.attributes = frozenset(("noinline", "wide"))
    return function


def _added(c, a, b, m, n, k, c0, c1, a0, a1, b0, b1):
    """c += a @ b: a is m x k, b is k x n; steps lead to the next row and to the next column."""
    if n == 1:
        _vector(c, a, b, m, k, c0, a0, a1, b0)
    elif m == 1:
        _vector(c, b, a, n, k, c1, b1, b0, a1)
    elif k == 1 or m * n * k <= _FEW:
        _loops(c, a, b, m, n, k, c0, c1, a0, a1, b0, b1)
    elif c1 == 1:
        _matrices(c, a, b, m, n, k, c0, a0, a1, b0, b1, 1)
    elif c0 == 1:
        _matrices(c, b, a, n, m, k, c1, b1, b0, a1, a0, 1)
    else:
        _loops(c, a, b, m, n, k, c0, c1, a0, a1, b0, b1)


@alone
def _vector(y, a, x, m, k, y0, a0, a1, x0):
    """y += a @ x for vectors."""
    if a1 == 1 and x0 == 1:
        for i in range(m):
            total = like(a[0], 0.0)
            for p in range(k):
                total = radd(total, a[i * a0 + p] * x[p])
            y[i * y0] += total
    elif a0 == 1 and y0 == 1:
        rest = k % 4
        for p in range(rest):
            factor = x[p * x0]
            for i in range(m):
                y[i] += a[p * a1 + i] * factor
        for p in range(rest, k, 4):
            f0, f1, f2, f3 = x[p * x0], x[(p + 1) * x0], x[(p + 2) * x0], x[(p + 3) * x0]
            at = p * a1
            for i in range(m):
                first = a[at + i] * f0 + a[at + a1 + i] * f1
                y[i] += first + (a[at + 2 * a1 + i] * f2 + a[at + 3 * a1 + i] * f3)
    else:
        for i in range(m):
            total = like(a[0], 0.0)
            for p in range(k):
                total = radd(total, a[i * a0 + p * a1] * x[p * x0])
            y[i * y0] += total


@alone
def _loops(c, a, b, m, n, k, c0, c1, a0, a1, b0, b1):
    if b1 == 1 and c1 == 1:
        for i in range(m):
            for p in range(k):
                factor = a[i * a0 + p * a1]
                for j in range(n):
                    c[i * c0 + j] += factor * b[p * b0 + j]
    elif a1 == 1 and b0 == 1:
        for i in range(m):
            for j in range(n):
                total = like(a[0], 0.0)
                for p in range(k):
                    total = radd(total, a[i * a0 + p] * b[j * b1 + p])
                c[i * c0 + j * c1] += total
    else:
        for i in range(m):
            for p in range(k):
                factor = a[i * a0 + p * a1]
                for j in range(n):
                    c[i * c0 + j * c1] += factor * b[p * b0 + j * b1]


@alone
def _matrices(c, a, b, m, n, k, ldc, a0, a1, b0, b1, adds):
    """The same by BLAS, or by our own kernels, for a c with its rows in memory, which is set unless
    it `adds`."""
    ta, tb = a1 != 1, b1 != 1
    lda, ldb = a1 if ta else a0, b1 if tb else b0
    fits_a = (a0 == 1 and lda >= m) if ta else lda >= k
    fits_b = (b0 == 1 and ldb >= k) if tb else ldb >= n
    if not (fits_a and fits_b and ldc >= n):
        if not adds:
            _clear(c, m, n, ldc, 1)
        _loops(c, a, b, m, n, k, ldc, 1, a0, a1, b0, b1)
    elif is_worth(m, n, k, 1):
        own_product(a, b, c, m, n, k, adds * ADDS + np.int64(ta), np.int64(tb), lda, ldb, ldc)
    else:
        one, old = room(c, 1), room(c, 1)
        one[0] = 1.0
        old[0] = like(c[0], adds)
        kind = np.uint8(100 if dtype_of(c) is DOUBLE else 115)  # d, s
        first, second = np.uint8(116 if tb else 110), np.uint8(116 if ta else 110)  # t, n
        # BLAS counts columns first: it is given c.T += b.T @ a.T.
        gemm_of_blas(kind, first, second, n, m, k, one, b, ldb, a, lda, old, c, ldc)


added_product = alone(_added)
"""`_added` as a function."""


@alone
def set_product(c, a, b, m, n, k, c0, c1, a0, a1, b0, b1):
    """c = a @ b."""
    if k == 1:
        if c1 == 1:
            _outer(c, a, b, m, n, c0, a0, b1)
        else:
            _outer(c, b, a, n, m, c1, b1, a0)
        return
    if m > 1 and n > 1 and m * n * k > _FEW and c1 == 1:
        _matrices(c, a, b, m, n, k, c0, a0, a1, b0, b1, 0)
    elif m > 1 and n > 1 and m * n * k > _FEW and c0 == 1:
        _matrices(c, b, a, n, m, k, c1, b1, b0, a1, a0, 0)
    else:
        _clear(c, m, n, c0, c1)
        added_product(c, a, b, m, n, k, c0, c1, a0, a1, b0, b1)


def _clear(c, m, n, c0, c1):
    for i in range(m):
        for j in range(n):
            c[i * c0 + j * c1] = like(c[0], 0.0)


def _outer(c, x, y, m, n, ldc, x0, y0):
    """c = x * y, the element in row i and column j of those numbers."""
    for i in range(m):
        factor = x[i * x0]
        for j in range(n):
            c[i * ldc + j] = factor * y[j * y0]


@instruction(row=(added_product,))
def added(c, a, b, m, n, k, c0, c1, a0, a1, b0, b1):
    """`added_product` for functions that also run as plain Python."""
    _loops(c, a, b, m, n, k, c0, c1, a0, a1, b0, b1)
