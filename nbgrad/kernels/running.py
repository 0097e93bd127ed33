"""Running sums, linear recurrences and convolutions: on pointers, for compiled programs, and of
arrays."""

from .jit.kernel import device, kernel
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


def _recurred(a, b, out, rows, columns):
    """out[i, j] = b[i, j] + a[i, j] * out[i, j - 1]"""
    for i in range(rows * (columns > 0)):
        last = out[i * columns] = b[i * columns]
        for j in range(i * columns + 1, (i + 1) * columns):
            last = b[j] + a[j] * last
            out[j] = last


def _recurred_back(a, b, out, rows, columns):
    """out[i, j] = b[i, j] + a[i, j + 1] * out[i, j + 1]"""
    for i in range(rows * (columns > 0)):
        end = (i + 1) * columns - 1
        last = out[end] = b[end]
        for j in range(end - 1, i * columns - 1, -1):
            last = b[j] + a[j + 1] * last
            out[j] = last


recurred, recurred_back = device(_recurred), device(_recurred_back)
recurred_of_arrays, recurred_back_of_arrays = kernel(_recurred), kernel(_recurred_back)


@device
def convolved(x, y, out, n, m):
    """out[k] = the sum of x[i] * y[k - i]."""
    for i in range(n + m - 1):
        out[i] = 0.0
    for j in range(m):
        row, factor = shift(out, j), y[j]
        for i in range(n):
            row[i] += x[i] * factor


@device
def overlapped(x, y, out, n, m):
    """out[k] = the sum of x[k + m - 1 - j] * y[j], where n is not less than m."""
    count = n - m + 1
    for i in range(count):
        out[i] = 0.0
    for j in range(m):
        row, factor = shift(x, m - 1 - j), y[j]
        for i in range(count):
            out[i] += row[i] * factor


@device
def slid(v, x, out, rows, length, n):
    """The sums of a row x with all windows of a row v, for each row."""
    size = length - n + 1
    for r in range(rows):
        window, to = shift(v, r * length), shift(out, r * size)
        for i in range(size):
            to[i] = 0.0
        for j in range(n):
            factor = x[r * n + j]
            for i in range(size):
                to[i] += factor * window[i + j]
