"""Running sums and convolutions on pointers, for compiled programs."""

from .jit.kernel import device
from .pointers import shift


@device
def cumsum(x, out, rows, columns):
    """out[i, j] = x[i, 0] + ... + x[i, j]"""
    for i in range(rows * (columns > 0)):
        total = out[i * columns] = x[i * columns]
        for j in range(i * columns + 1, (i + 1) * columns):
            total += x[j]
            out[j] = total


@device
def cumsum_back(x, out, rows, columns):
    """out[i, j] = x[i, j] + ... + x[i, columns - 1]"""
    for i in range(rows * (columns > 0)):
        last = (i + 1) * columns - 1
        total = out[last] = x[last]
        for j in range(last - 1, i * columns - 1, -1):
            total += x[j]
            out[j] = total


@device
def convolved(x, y, out, n, m):
    """out[k] = the sum of x[i] * y[k - i]."""
    for i in range(n + m - 1):
        out[i] = 0.0
    for j in range(m):
        row, factor = shift(out, j), y[j]
        for i in range(n):
            row[i] += x[i] * factor
