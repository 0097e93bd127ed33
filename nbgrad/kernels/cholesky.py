"""Cholesky factors and their pullback: on pointers, for compiled programs.

Both work in blocks of rows, so that most of the work is products of matrices (Golub and Van Loan,
Matrix Computations, algorithm 4.2.2; Murray 2016, Differentiation of the Cholesky decomposition).
"""

import numpy as np

from ..compiler.kernel import device
from ..compiler.pointers import shift
from .triangles import BLOCK, block_of, subtract, subtract_product

__all__ = ["choleskied", "factor_pulled_back"]


@device
def choleskied(x, out, count, n):
    """Lower factors; nan where a matrix is not positive definite. The upper factor is computed,
    block by block, as its rows lie in memory, and transposed."""
    block = block_of(n, n)
    for k in range(count):
        a, matrix = shift(out, k * n * n), shift(x, k * n * n)
        for i in range(n * n):
            a[i] = matrix[i]
        for first in range(0, n, block):
            last = min(first + block, n)
            for j in range(first, last):
                factor_row(a, j, last, n)
            for row in range(last, n, block):
                factors, rows = shift(a, first * n + row), shift(a, first * n + row)
                subtract_product(
                    shift(a, row * n + row), factors, rows, min(block, n - row), n - row,
                    last - first, n, 1, n, n,
                )  # fmt: skip
        for i in range(n):
            for j in range(i):
                a[i * n + j], a[j * n + i] = a[j * n + i], 0.0


@device
def factor_row(a, j, last, n):
    """Row j of the upper factor, subtracted from those before the last."""
    pivot = a[j * n + j]
    root = np.sqrt(pivot) if pivot > 0.0 else np.nan
    for c in range(j, n):
        a[j * n + c] /= root
    for i in range(j + 1, last):
        subtract(shift(a, i * n + i), shift(a, j * n + i), a[j * n + i], n - i)


@device
def factor_pulled_back(x, out, count, n):
    """The cotangents of the lower triangles of matrices, from their lower factors and, behind all
    of these, the cotangents of the factors."""
    for i in range(count * n):
        for j in range(n):
            out[i * n + j] = x[(count * n + i) * n + j] if j <= i % n else 0.0
    for k in range(count):
        factor, to = shift(x, k * n * n), shift(out, k * n * n)
        for start in range(0, n, BLOCK):
            last = n - start
            _pull_back_block(factor, to, max(last - BLOCK, 0), last, n)
        for i in range(n):
            for j in range(i + 1, n):
                to[i * n + j] = 0.0


@device
def _pull_back_block(a, out, first, last, n):
    """Replace the cotangents of some columns of the factor by those of the matrix, and add to the
    cotangents of the columns before them."""
    size, corner = last - first, first * n + first
    for i in range(last, n):
        _divide(shift(out, i * n + first), shift(a, corner), size, n)
    for row in range(last, n, BLOCK):
        count, at = min(BLOCK, n - row), row * n + first
        below, rows, before = shift(out, at), shift(a, first * n), shift(out, row * n)
        subtract_product(before, below, rows, count, first, size, n, n, 1, n)
        subtract_product(shift(out, corner), below, shift(a, at), size, size, count, n, 1, n, n)
        before = shift(out, first * n)
        subtract_product(before, below, shift(a, row * n), size, first, count, n, 1, n, n)
    for j in range(last - 1, first - 1, -1):
        _pull_back_column(a, out, first, j, last, n)
    # The products with the symmetric matrix of which the block has the lower half.
    for i in range(first, last):
        for j in range(first, i):
            out[j * n + i] = out[i * n + j]
        out[i * n + i] *= 2.0
    before, rows = shift(out, first * n), shift(a, first * n)
    subtract_product(before, shift(out, corner), rows, size, first, size, n, n, 1, n)
    for i in range(first, last):
        out[i * n + i] *= 0.5


@device
def _divide(row, a, size, n):
    """A row times the inverse of a lower triangle, from the right."""
    for p in range(size - 1, -1, -1):
        row[p] /= a[p * n + p]
        subtract(row, shift(a, p * n), row[p], p)


@device
def _pull_back_column(a, out, first, j, last, n):
    """The same for one column, within a block."""
    pivot, known = a[j * n + j], j - first
    total = out[j * n + j]
    for i in range(j + 1, last):
        out[i * n + j] /= pivot
        total -= out[i * n + j] * a[i * n + j]
    total /= pivot
    to = shift(out, j * n + first)
    subtract(to, shift(a, j * n + first), total, known)
    for i in range(j + 1, last):
        row = shift(a, i * n + first)
        subtract(to, row, out[i * n + j], known)
        subtract(shift(out, i * n + first), shift(a, j * n + first), out[i * n + j], known)
    out[j * n + j] = 0.5 * total
