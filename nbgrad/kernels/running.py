"""Running sums, linear recurrences and convolutions: on pointers, for compiled programs, and of
arrays."""

import numpy as np

from ..compiler.kernel import device, kernel
from ..compiler.pointers import shift
from ..threads.pieces import by_rows
from .reduce import loop_sizes
from .scalar import like


@device
def _in_step(x, out, at, ahead, rows, step, count):
    """Running sums of `rows` (1 or 4) rows that lie `ahead` apart: `count` elements from `at` on,
    `step` apart. A sum waits for the one before, so four at once take the time of one."""
    if rows == 1:
        total = out[at] = x[at]
        for _ in range(1, count):
            at += step
            total += x[at]
            out[at] = total
        return
    second, third, fourth = at + ahead, at + 2 * ahead, at + 3 * ahead
    a, b, c, d = x[at], x[second], x[third], x[fourth]
    out[at], out[second], out[third], out[fourth] = a, b, c, d
    for j in range(step, step * count, step):
        a, b = a + x[at + j], b + x[second + j]
        c, d = c + x[third + j], d + x[fourth + j]
        out[at + j], out[second + j], out[third + j], out[fourth + j] = a, b, c, d


@device
def _running(x, out, rows, columns, inner, first, step):
    """Running sums along the middle axis from its element `first` on."""
    if columns == 0:
        return
    if inner == 1:
        for i in range(0, rows - 3, 4):
            _in_step(x, out, i * columns + first, columns, 4, step, columns)
        for i in range(rows // 4 * 4, rows):
            _in_step(x, out, i * columns + first, columns, 1, step, columns)
        return
    for i in range(rows):
        at = (i * columns + first) * inner
        for k in range(at, at + inner):
            out[k] = x[k]
        for _ in range(1, columns):
            before, at = at, at + step * inner
            for k in range(inner):
                out[at + k] = out[before + k] + x[at + k]


@device
def cumsum(x, out, rows, columns, inner):
    """out[i, j, k] = x[i, 0, k] + ... + x[i, j, k]"""
    _running(x, out, rows, columns, inner, 0, 1)


@device
def cumsum_back(x, out, rows, columns, inner):
    """out[i, j, k] = x[i, j, k] + ... + x[i, columns - 1, k]"""
    _running(x, out, rows, columns, inner, columns - 1, -1)


@kernel
def _running_of_arrays(x, out, rows, columns, inner, first, step):
    _running(x, out, rows, columns, inner, first, step)


def running_sums(x: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
    """Running sums of floats along an axis, from the end where `reverse`."""
    out = np.empty(x.shape, x.dtype)
    rows, columns, inner = loop_sizes(x.shape, (axis,))
    start = (columns - 1, -1) if reverse else (0, 1)
    _running_of_arrays.calls += 1
    call = _running_of_arrays.dispatcher
    if out.size:
        by_rows(lambda n, *two: call(*two, n, columns, inner, *start), rows, x.ravel(), out.ravel())
    return out


def recurred(a, b, out, rows, columns):
    """out[i, j] = b[i, j] + a[i, j] * out[i, j - 1]"""
    for i in range(rows * (columns > 0)):
        last = out[i * columns] = b[i * columns]
        for j in range(i * columns + 1, (i + 1) * columns):
            last = like(b[j], b[j] + a[j] * last)
            out[j] = last


def recurred_back(a, b, out, rows, columns):
    """out[i, j] = b[i, j] + a[i, j + 1] * out[i, j + 1]"""
    for i in range(rows * (columns > 0)):
        end = (i + 1) * columns - 1
        last = out[end] = b[end]
        for j in range(end - 1, i * columns - 1, -1):
            last = like(b[j], b[j] + a[j + 1] * last)
            out[j] = last


recurred_of_arrays, recurred_back_of_arrays = kernel(recurred), kernel(recurred_back)
recurred, recurred_back = device(recurred), device(recurred_back)


def fed_back(a, x, out, rows, columns, order):
    """out[i, j] = x[i, j] - the sum of a[k] * out[i, j - 1 - k]"""
    for i in range(rows):
        for j in range(columns):
            at = i * columns + j
            total = x[at]
            for k in range(min(order, j)):
                total -= a[k] * out[at - 1 - k]
            out[at] = total


fed_back_of_arrays, fed_back = kernel(fed_back), device(fed_back)


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
