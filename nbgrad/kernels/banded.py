"""Systems of banded matrices, on pointers, for compiled programs."""

from ..compiler.kernel import device
from ..compiler.pointers import shift
from .triangles import subtract

__all__ = ["banded"]


@device
def banded(ab, y, out, count, n, m, lower, upper):
    """The solutions for right-hand sides of n x m, of matrices by diagonals: `ab[upper + i - j, j]`
    is the element i, j.

    Row i of the result holds the columns i - lower ... i + upper + lower of the upper factor, with
    its pivot at `lower`, and behind them the solution. A singular matrix leaves a pivot 0.
    """
    row = 2 * lower + upper + 1 + m
    for k in range(count):
        band, right = shift(ab, k * (lower + upper + 1) * n), shift(y, k * n * m)
        to = shift(out, k * n * row)
        unfold(band, right, to, n, m, lower, upper)
        eliminate(to, n, m, lower, upper)
        for i in range(n - 1, -1, -1):
            solution = shift(to, i * row + row - m)
            for c in range(i + 1, min(n, i + lower + upper + 1)):
                subtract(solution, shift(to, c * row + row - m), to[i * row + c - i + lower], m)
            for c in range(m):
                solution[c] /= to[i * row + lower]


@device
def unfold(ab, y, to, n, m, lower, upper):
    """The rows of the matrix, and of the right-hand sides behind them."""
    width = 2 * lower + upper + 1
    for i in range(n):
        for c in range(width):
            j = i + c - lower
            inside = 0 <= j < n and c <= lower + upper
            to[i * (width + m) + c] = ab[(upper + lower - c) * n + j] if inside else 0.0
        for c in range(m):
            to[i * (width + m) + width + c] = y[i * m + c]


@device
def eliminate(to, n, m, lower, upper):
    """Gauss with partial pivoting, which fills `lower` more columns of each row."""
    width = 2 * lower + upper + 1
    row = width + m
    for j in range(n):
        best = j
        for i in range(j + 1, min(n, j + lower + 1)):
            if abs(to[i * row + j - i + lower]) > abs(to[best * row + j - best + lower]):
                best = i
        columns = min(n - j, lower + upper + 1)
        pivot, other = shift(to, j * row + lower), shift(to, best * row + j - best + lower)
        exchange_parts(pivot, other, columns)
        exchange_parts(shift(to, j * row + width), shift(to, best * row + width), m)
        if pivot[0] != 0.0:
            for i in range(j + 1, min(n, j + lower + 1)):
                rest = shift(to, i * row + j - i + lower)
                factor = rest[0] / pivot[0]
                subtract(shift(rest, 1), shift(pivot, 1), factor, columns - 1)
                subtract(shift(to, i * row + width), shift(to, j * row + width), factor, m)


@device
def exchange_parts(a, b, n):
    """n numbers of two rows, which may be one."""
    for c in range(n):
        a[c], b[c] = b[c], a[c]
