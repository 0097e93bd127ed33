"""LU factorisations, solutions and inverses: on pointers, for compiled programs.

`lu` holds, for each of `count` matrices of n rows, the unit lower and the upper factor in one
matrix, and behind it a row of the rows that were exchanged (Golub and Van Loan, Matrix
Computations, algorithm 3.4.1). A matrix that is singular leaves a zero on the diagonal.
Inner loops run along rows, and add several rows at once.
"""

from ..compiler.kernel import device
from ..compiler.pointers import shift
from .triangles import solve_triangle, subtract_rows

__all__ = [
    "diagonals",
    "factor",
    "factored",
    "inverted",
    "solved_backward",
    "solved_forward",
    "solved_plain",
    "solved_transposed",
    "substituted",
    "swept",
]


# So many columns are factored before the columns behind them get what they add.
_PANEL = 8


@device
def factored(x, lu, count, n):
    """Factors with partial pivoting, in panels of a few columns."""
    for k in range(count):
        a, matrix = shift(lu, k * (n + 1) * n), shift(x, k * n * n)
        for i in range(n * n):
            a[i] = matrix[i]
        factor(a, n)


@device
def factor(a, n):
    """The factors in place of a matrix, before a row for the rows that are exchanged."""
    for first in range(0, n, _PANEL):
        last = min(first + _PANEL, n)
        for j in range(first, last):
            eliminate(a, j, last, n)
        for i in range(first + 1, n):
            row, known = shift(a, i * n), min(i, last) - first
            subtract_rows(
                shift(row, last), shift(a, first * n + last), n, shift(row, first), known,
                n - last,
            )  # fmt: skip


@device
def eliminate(a, j, last, n):
    """Column j of the factors, subtracted from those before the last."""
    best = j
    for i in range(j + 1, n):
        if abs(a[i * n + j]) > abs(a[best * n + j]):
            best = i
    a[n * n + j] = best
    exchange(a, j, best, n)
    pivot = a[j * n + j]
    if pivot != 0.0:
        for i in range(j + 1, n):
            factor = a[i * n + j] / pivot
            a[i * n + j] = factor
            for c in range(j + 1, last):
                a[i * n + c] -= factor * a[j * n + c]


@device
def exchange(a, i, j, n):
    """Rows i and j of n numbers."""
    if i != j:
        for c in range(n):
            a[i * n + c], a[j * n + c] = a[j * n + c], a[i * n + c]


@device
def substituted(lu, y, out, count, n, m, transposed):
    """The solutions for right-hand sides of n x m, by the matrices or the transposed ones."""
    for i in range(count * n * m):
        out[i] = y[i]
    for k in range(count):
        factors, to = shift(lu, k * (n + 1) * n), shift(out, k * n * m)
        if transposed:
            solve_triangle(factors, to, n, m, True, False, True)
            solve_triangle(factors, to, n, m, False, True, True)
            for i in range(n - 1, -1, -1):
                exchange(to, i, int(factors[n * n + i]), m)
        else:
            replace(factors, to, n, m)


@device
def replace(lu, out, n, m):
    """The solution in place of m right-hand sides."""
    for i in range(n):
        exchange(out, i, int(lu[n * n + i]), m)
    solve_triangle(lu, out, n, m, True, True, False)
    solve_triangle(lu, out, n, m, False, False, False)


@device
def solved_plain(x, out, n, m):
    """The solutions for right-hand sides behind the factors of a matrix."""
    substituted(x, shift(x, n * (n + 1)), out, 1, n, m, False)


@device
def solved_transposed(x, out, n, m):
    """Those of the transposed matrix."""
    substituted(x, shift(x, n * (n + 1)), out, 1, n, m, True)


@device
def swept(a, y, out, count, n, m, lower, unit):
    """The solutions of triangular systems for right-hand sides of n x m."""
    for i in range(count * n * m):
        out[i] = y[i]
    for k in range(count):
        solve_triangle(shift(a, k * n * n), shift(out, k * n * m), n, m, lower, unit, False)


@device
def solved_forward(x, out, n, m):
    """The solutions of the lower triangle of x for the right-hand sides behind it."""
    swept(x, shift(x, n * n), out, 1, n, m, True, False)


@device
def solved_backward(x, out, n, m):
    """Those of the transposed triangle."""
    for i in range(n * m):
        out[i] = x[n * n + i]
    solve_triangle(x, out, n, m, False, False, True)


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
