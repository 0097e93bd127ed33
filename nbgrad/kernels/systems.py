"""LU, Cholesky and QR factorisations, solutions and inverses: on pointers, for compiled programs.

`lu` holds, for each of `count` matrices of n rows, the unit lower and the upper factor in one
matrix, and behind it a row of the rows that were exchanged (Golub and Van Loan, Matrix
Computations, algorithm 3.4.1). A matrix that is singular leaves a zero on the diagonal. Inner loops
run along rows.
"""

import numpy as np

from ..compiler.kernel import device
from ..compiler.pointers import shift
from .scalar import radd

__all__ = [
    "choleskied",
    "diagonals",
    "factored",
    "inverted",
    "reflected",
    "substituted",
    "swept",
]


@device
def factored(x, lu, count, n):
    """Factors with partial pivoting."""
    for k in range(count):
        a, matrix = shift(lu, k * (n + 1) * n), shift(x, k * n * n)
        exchanged = shift(a, n * n)
        for i in range(n * n):
            a[i] = matrix[i]
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
def swept(a, y, out, count, n, m, lower, unit):
    """The solutions of triangular systems for right-hand sides of n x m."""
    for i in range(count * n * m):
        out[i] = y[i]
    for k in range(count):
        matrix, to = shift(a, k * n * n), shift(out, k * n * m)
        for step in range(n):
            i = step if lower else n - 1 - step
            for c in range(0 if lower else i + 1, i if lower else n):
                subtract(shift(to, i * m), shift(to, c * m), matrix[i * n + c], m)
            if not unit:
                for c in range(m):
                    to[i * m + c] /= matrix[i * n + i]


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
        a, matrix = shift(out, k * n * n), shift(x, k * n * n)
        for i in range(n):
            for j in range(i + 1):
                total = matrix[0] - matrix[0]
                for c in range(j):
                    total = radd(total, a[i * n + c] * a[j * n + c])
                rest = matrix[i * n + j] - total
                if i != j:
                    a[i * n + j] = rest / a[j * n + j]
                else:
                    a[i * n + j] = np.sqrt(rest) if rest > 0.0 else np.nan
            for j in range(i + 1, n):
                a[i * n + j] = 0.0


@device
def reflected(x, out, count, m, n):
    """QR factors of matrices of m rows and no more columns, by Householder's reflections with the
    signs of LAPACK: m rows of Q, and n of R below them."""
    for k in range(count):
        q, r = shift(out, k * (m + n) * n), shift(out, k * (m + n) * n + m * n)
        matrix = shift(x, k * m * n)
        for i in range(m * n):
            q[i] = matrix[i]
        for j in range(n):  # column j below the diagonal becomes the reflection, up to its length
            reflect(q, r, j, m, n)
        for i in range(n):
            for j in range(i):
                r[i * n + j] = 0.0
        for j in range(n - 1, -1, -1):
            unfold(q, r, j, m, n)


@device
def norm_below(q, j, first, m, n):
    """The length of column j from a row on, without overflow."""
    large = abs(q[j]) - abs(q[j])
    for i in range(first, m):
        large = max(large, abs(q[i * n + j]))
    if large == 0.0:
        return large
    total = large - large
    for i in range(first, m):
        total += (q[i * n + j] / large) * (q[i * n + j] / large)
    return large * np.sqrt(total)


@device
def reflect(q, r, j, m, n):
    """One reflection: row j of R, and in column j of q the vector with 1 on the diagonal, whose
    scale is what is left of r below its diagonal."""
    alpha = q[j * n + j]
    below = norm_below(q, j, j + 1, m, n)
    scale = alpha - alpha
    if below != 0.0:
        length = np.hypot(alpha, below)
        beta = -length if alpha >= 0.0 else length
        scale = (beta - alpha) / beta
        for i in range(j + 1, m):
            q[i * n + j] /= alpha - beta
        q[j * n + j] = beta
    totals = shift(r, j * n)  # of the columns; by rows, as they lie in memory
    for c in range(j + 1, n):
        totals[c] = q[j * n + c]
    for i in range(j + 1, m):
        row, factor = shift(q, i * n), q[i * n + j]
        for c in range(j + 1, n):
            totals[c] += factor * row[c]
    for i in range(j + 1, m):
        row, factor = shift(q, i * n), scale * q[i * n + j]
        for c in range(j + 1, n):
            row[c] -= factor * totals[c]
    for c in range(j + 1, n):
        q[j * n + c] -= scale * totals[c]
    for c in range(j, n):
        totals[c] = q[j * n + c]
    q[j * n + j] = scale


@device
def unfold(q, r, j, m, n):
    """Column j of Q from the reflections j, j + 1, ..., which the columns behind it hold done."""
    scale = q[j * n + j]
    totals = shift(q, j * n)
    for c in range(j + 1, n):
        totals[c] = scale - scale
    for i in range(j + 1, m):
        row, factor = shift(q, i * n), q[i * n + j]
        for c in range(j + 1, n):
            totals[c] += factor * row[c]
    for i in range(j + 1, m):
        row, factor = shift(q, i * n), scale * q[i * n + j]
        for c in range(j + 1, n):
            row[c] -= factor * totals[c]
    for c in range(j + 1, n):
        totals[c] *= -scale
    for i in range(j + 1, m):
        q[i * n + j] *= -scale
    q[j * n + j] = 1.0 - scale
    for i in range(j):
        q[i * n + j] = 0.0
