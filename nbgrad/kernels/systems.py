"""Factors of square matrices and what is made of them, on pointers, for compiled programs.

`lu` holds, for each of `count` matrices of n rows, the unit lower and the upper factor in one
matrix, and behind it a row of the rows that were exchanged (Golub and Van Loan, Matrix
Computations, algorithm 3.4.1). A matrix that is singular leaves a zero on the diagonal. Inner loops
run along rows.
"""

import numpy as np

from .jit.kernel import device
from .pointers import shift
from .scalar import radd

__all__ = [
    "choleskied",
    "diagonals",
    "factored",
    "inverted",
    "substituted",
]


@device
def factored(x, lu, count, n):
    """Factors with partial pivoting."""
    for k in range(count):
        a, given = shift(lu, k * (n + 1) * n), shift(x, k * n * n)
        exchanged = shift(a, n * n)
        for i in range(n * n):
            a[i] = given[i]
        for j in range(n):
            best = j
            for i in range(j + 1, n):
                if abs(a[i * n + j]) > abs(a[best * n + j]):
                    best = i
            exchanged[j] = best
            exchange(a, j, best, n)
            if a[j * n + j] != 0.0:
                for i in range(j + 1, n):
                    factor = a[i * n + j] / a[j * n + j]
                    a[i * n + j] = factor
                    subtract(shift(a, i * n + j + 1), shift(a, j * n + j + 1), factor, n - j - 1)


@device
def exchange(a, i, j, n):
    """Rows i and j of n numbers."""
    if i != j:
        for c in range(n):
            a[i * n + c], a[j * n + c] = a[j * n + c], a[i * n + c]


@device
def subtract(to, row, factor, n):
    for c in range(n):
        to[c] -= factor * row[c]


@device
def replace(lu, out, n, m):
    """The solution in place of m right-hand sides."""
    for i in range(n):
        exchange(out, i, int(lu[n * n + i]), m)
    for i in range(n):
        for c in range(i):
            subtract(shift(out, i * m), shift(out, c * m), lu[i * n + c], m)
    for i in range(n - 1, -1, -1):
        for c in range(i + 1, n):
            subtract(shift(out, i * m), shift(out, c * m), lu[i * n + c], m)
        for c in range(m):
            out[i * m + c] /= lu[i * n + i]


@device
def substituted(lu, y, out, count, n, m):
    """The solutions for right-hand sides of n x m."""
    for i in range(count * n * m):
        out[i] = y[i]
    for k in range(count):
        replace(shift(lu, k * (n + 1) * n), shift(out, k * n * m), n, m)


@device
def inverted(lu, out, count, n):
    """The solutions for unit matrices."""
    for k in range(count):
        to = shift(out, k * n * n)
        for i in range(n):
            for j in range(n):
                to[i * n + j] = i == j
        replace(shift(lu, k * (n + 1) * n), to, n, n)


@device
def diagonals(lu, out, count, n):
    """The diagonals of the upper factors, a number's sign changed where its row was exchanged: each
    product is a determinant."""
    for k in range(count):
        a = shift(lu, k * (n + 1) * n)
        for j in range(n):
            out[k * n + j] = a[j * n + j] if a[n * n + j] == j else -a[j * n + j]


@device
def choleskied(x, out, count, n):
    """Lower factors, row by row; nan where a matrix is not positive definite."""
    for k in range(count):
        a, given = shift(out, k * n * n), shift(x, k * n * n)
        for i in range(n):
            for j in range(i + 1):
                total = given[0] - given[0]
                for c in range(j):
                    total = radd(total, a[i * n + c] * a[j * n + c])
                rest = given[i * n + j] - total
                if i != j:
                    a[i * n + j] = rest / a[j * n + j]
                else:
                    a[i * n + j] = np.sqrt(rest) if rest > 0.0 else np.nan
            for j in range(i + 1, n):
                a[i * n + j] = 0.0
