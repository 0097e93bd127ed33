"""Running sums on pointers, for compiled programs."""

from ._jit import device


@device
def cumsum(x, out, rows, columns):
    """out[i, j] = x[i, 0] + ... + x[i, j]"""
    for i in range(rows):
        start = i * columns
        for j in range(start, start + columns):
            total = x[j] if j == start else total + x[j]
            out[j] = total


@device
def cumsum_back(x, out, rows, columns):
    """The same from the end of each row."""
    for i in range(rows):
        start = i * columns
        for j in range(start + columns - 1, start - 1, -1):
            total = x[j] if j == start + columns - 1 else total + x[j]
            out[j] = total
