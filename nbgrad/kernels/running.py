"""Running sums on pointers, for compiled programs."""

from ._jit import device


@device
def cumsum(x, out, rows, columns):
    """out[i, j] = x[i, 0] + ... + x[i, j]"""
    for i in range(rows):
        total = x[0] - x[0]
        for j in range(columns):
            total += x[i * columns + j]
            out[i * columns + j] = total


@device
def cumsum_back(x, out, rows, columns):
    """The same from the end of each row."""
    for i in range(rows):
        total = x[0] - x[0]
        for j in range(columns - 1, -1, -1):
            total += x[i * columns + j]
            out[i * columns + j] = total
