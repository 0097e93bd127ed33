"""Triangular systems, in place: on pointers, for compiled programs.

Large systems with many right-hand sides are solved in blocks of rows, so that most of the work is
products of matrices.
"""

import numpy as np

from ..compiler.instruction import instruction
from ..compiler.kernel import device
from ..compiler.pointers import shift
from .added import alone
from .blas import gemm_of_blas, room
from .gemm import DOUBLE, dtype_of, is_worth, own_product
from .scalar import radd
from .tiles import ADDS

__all__ = ["BLOCK", "block_of", "solve_triangle", "subtract", "subtract_product", "subtract_rows"]

BLOCK = 32


@device
def block_of(n, m):
    """The number of rows of a block of n rows of m numbers."""
    return BLOCK if n > BLOCK and m >= 8 else n


@device
def solve_triangle(a, out, n, m, forward, unit, transposed):
    """Put solutions in the place of m right-hand sides, from the first row on if `forward`, else
    from the last: of a triangle of `a`, or of the transposed one, with ones on its diagonal if
    `unit`."""
    block = block_of(n, m)
    for start in range(0, n, block):
        first = start if forward else max(n - start - block, 0)
        last = min(start + block, n) if forward else n - start
        _solve_block(a, out, n, m, first, last, forward, unit, transposed)
        begin, end = last if forward else 0, n if forward else first
        for row in range(begin, end, block):
            rows, solved = shift(out, row * m), shift(out, first * m)
            count = min(block, end - row)
            if transposed:
                factors = shift(a, first * n + row)
                subtract_product(rows, factors, solved, count, m, last - first, m, 1, n, m)
            else:
                factors = shift(a, row * n + first)
                subtract_product(rows, factors, solved, count, m, last - first, m, n, 1, m)


@device
def _solve_block(a, out, n, m, first, last, forward, unit, transposed):
    """The rows of one block, from which the products of the earlier ones are subtracted."""
    for k in range(last - first):
        i = first + k if forward else last - 1 - k
        if not transposed:
            at = first if forward else i + 1
            _lessen(out, i, at, k, shift(a, i * n + at), m)
        if not unit:
            for c in range(m):
                out[i * m + c] /= a[i * n + i]
        if transposed:
            for row in range(i + 1 if forward else first, last if forward else i):
                subtract(shift(out, row * m), shift(out, i * m), a[i * n + row], m)


@device
def _lessen(out, i, first, count, factors, m):
    """Subtract from row i of m numbers so many rows from the first on, each times its factor."""
    if m == 1:
        rest = out[i]
        for c in range(count):
            rest = radd(rest, -factors[c] * out[first + c])
        out[i] = rest
    else:
        subtract_rows(shift(out, i * m), shift(out, first * m), m, factors, count, m)


@device
def subtract_rows(to, rows, width, factors, count, n):
    """Subtract from a row of n numbers so many rows, each times its factor, four at once."""
    fours = count - count % 4
    for k in range(0, fours, 4):
        a, b, c, d = factors[k], factors[k + 1], factors[k + 2], factors[k + 3]
        p, q = shift(rows, k * width), shift(rows, (k + 1) * width)
        r, s = shift(rows, (k + 2) * width), shift(rows, (k + 3) * width)
        for i in range(n):
            to[i] = to[i] - a * p[i] - b * q[i] - c * r[i] - d * s[i]
    for k in range(fours, count):
        subtract(to, shift(rows, k * width), factors[k], n)


@device
def subtract(to, row, factor, n):
    """Subtract from a row of n numbers another one, times a factor."""
    for c in range(n):
        to[c] -= factor * row[c]


@alone
def _subtracted(c, a, b, m, n, k, c0, a0, a1, b0):
    if is_worth(m, n, k, 1):
        minus = room(c, 1024)  # BLOCK rows of BLOCK numbers
        for i in range(m):
            for j in range(k):
                minus[i * k + j] = -a[i * a0 + j * a1]
        own_product(minus, b, c, m, n, k, ADDS, np.int64(0), k, b0, c0)
    else:
        one, minus_one = room(c, 1), room(c, 1)
        one[0], minus_one[0] = 1.0, -1.0
        kind = np.uint8(100 if dtype_of(c) is DOUBLE else 115)  # d, s
        plain, turned = np.uint8(110), np.uint8(110 if a1 == 1 else 116)  # n, n or t
        lda = a0 if a1 == 1 else a1
        # BLAS counts columns first: it is given c.T -= b.T @ a.T.
        gemm_of_blas(kind, plain, turned, n, m, k, minus_one, b, b0, a, lda, one, c, c0)


@instruction(row=(_subtracted,))
def subtract_product(c, a, b, m, n, k, c0, a0, a1, b0):
    """c -= a @ b: a is m x k, at most BLOCK each, b is k x n; steps lead to the next row, and in a
    to the next column, one of which is 1."""
    for i in range(m):
        for p in range(k):
            for j in range(n):
                c[i * c0 + j] -= a[i * a0 + p * a1] * b[p * b0 + j]
