"""Small NumPy programs that write to their arrays, as people write them, with shapes to try.

Each begins with copies of its arguments, and leaves these as they are. `branches` says that it
asks for numbers, which neither compiled programs nor vmap know.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Written(NamedTuple):
    """A function, the shapes of its arguments, and whether it branches on numbers."""

    f: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    branches: bool = False


TABLE: dict[str, Written] = {}


def case(*shapes: tuple[int, ...], branches: bool = False) -> Callable:
    """Decorator: a program of the table, for arguments of these shapes."""

    def add(f: Callable) -> Callable:
        TABLE[f.__name__] = Written(f, shapes, branches)
        return f

    return add


@case((3,), (3, 4), (4,))
def accumulates_a_product(x, A, y):
    def add_to(x1, A, y):
        x1 += A @ y

    total = x * 1.0
    add_to(total, A, y)
    add_to(total, A, np.sin(y))
    return total


@case((6,))
def prefix_sums(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] += y[i - 1]
    return y


@case((7,))
def recursive_filter(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i]
        if i > 0:
            y[i] += 0.5 * y[i - 1]
        if i > 1:
            y[i] -= 0.2 * y[i - 2] * y[i - 1]
    return y


@case((6,), (3,))
def convolution(x, k):
    y = np.zeros_like(x)
    for i in range(len(x)):
        for j in range(min(len(k), i + 1)):
            y[i] += k[j] * x[i - j]
    return y


@case((4,), (5,), (4,), (5,))
def thomas(a, b, c, d):
    a, b, d = a.copy(), b + 3.0, d.copy()
    n = len(d)
    for i in range(1, n):
        w = a[i - 1] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    d[-1] /= b[-1]
    for i in range(n - 2, -1, -1):
        d[i] = (d[i] - c[i] * d[i + 1]) / b[i]
    return d


@case((4,), (3,))
def horner(coefficients, t):
    y = np.zeros_like(t)
    for c in coefficients[::-1]:
        y *= t
        y += c
    return y


@case((3, 4))
def softmax_in_place(x):
    y = x.copy()
    y -= np.max(y, axis=-1, keepdims=True)
    np.exp(y, out=y)
    y /= np.sum(y, axis=-1, keepdims=True)
    return y


@case((6,))
def running_maxima(x):
    y = x * 1.0
    for i in range(1, len(y)):
        np.maximum(y[i : i + 1], y[i - 1 : i], out=y[i : i + 1])
    return y


@case((5,), branches=True)
def bubble_sort(x):
    y = x.copy()
    for end in range(len(y) - 1, 0, -1):
        for j in range(end):
            if y[j] > y[j + 1]:
                y[j], y[j + 1] = y[j + 1], y[j]
    return y * np.arange(1.0, len(y) + 1)


@case((5,))
def sorting_network(x):
    y = x.copy()
    for end in range(len(y) - 1, 0, -1):
        for j in range(end):
            low, high = np.minimum(y[j], y[j + 1]), np.maximum(y[j], y[j + 1])
            y[j], y[j + 1] = low, high
    return y * np.arange(1.0, len(y) + 1)


@case((4,), branches=True)
def insertion_sort(x):
    y = x.copy()
    for i in range(1, len(y)):
        key, j = y[i], i - 1
        while j >= 0 and y[j] > key:
            y[j + 1] = y[j]
            j -= 1
        y[j + 1] = key
    return y * np.arange(1.0, len(y) + 1)


@case((6,))
def sorts_itself(x):
    y = np.sin(3.0 * x)
    y.sort()
    return y * np.arange(len(x))


@case((7,))
def ring_buffer(x):
    held, out = np.zeros_like(x[:3]), np.zeros_like(x)
    for i in range(len(x)):
        held[i % 3] = x[i] * 1.0
        out[i] = np.sum(held * held)
    return out


@case((6,))
def no_negative(x):
    y = x - 0.7
    y[y < 0] = 0
    return y * y


@case((6,))
def rectified(x):
    y = x - 0.7
    np.maximum(y, 0, out=y)
    return y + x


@case((6,))
def leaks(x):
    y = x - 0.7
    y[y < 0] *= 0.1
    return y


@case((6,))
def clipped(x):
    y = np.exp(x)
    np.clip(y, 1.5, 2.5, out=y)
    return y * x


@case((5,))
def reversed_in_place(x):
    y = x * 1.0
    y[:] = y[::-1]
    y[1:] *= y[:-1]
    return y


@case((5,))
def rotates(x):
    y = x.copy()
    for _ in range(2):
        first = y[0]
        y[:-1] = y[1:] * 1.1
        y[-1] = first
    return y


@case((6,))
def moving_average(x):
    y = x.copy()
    np.multiply(y, 0.3, out=y)
    for i in range(1, len(y)):
        y[i] += 0.7 * y[i - 1]
    return y


@case((8,))
def haar(x):
    y, n = x.copy(), len(x)
    while n > 1:
        low, high = (y[:n:2] + y[1:n:2]) / 2, (y[:n:2] - y[1:n:2]) / 2
        y[: n // 2], y[n // 2 : n] = low, high * low
        n //= 2
    return y


@case((8,))
def hadamard(x):
    y, h = x.copy(), 1
    while h < len(y):
        pairs = y.reshape(-1, 2, h)
        upper = pairs[:, 0].copy()
        pairs[:, 0] += pairs[:, 1]
        pairs[:, 1] = upper - pairs[:, 1]
        h *= 2
    return y * y


@case((4,), (4,))
def divided_differences(x, y):
    t, c = x + np.arange(4.0) * 2, y.copy()
    for j in range(1, len(c)):
        c[j:] = (c[j:] - c[j - 1 : -1]) / (t[j:] - t[:-j])
    return c


@case((5,), ())
def de_casteljau(points, t):
    b = points.copy()
    for k in range(1, len(b)):
        b[:-k] = (1 - t) * b[:-k] + t * b[1 : len(b) - k + 1]
    return b[0] * b[1]


@case((5,))
def durbin(r):
    r = 0.1 * r
    y = np.zeros_like(r)
    y[0] = -r[0]
    alpha, beta = -r[0], 1.0
    for k in range(1, len(r)):
        beta = beta * (1 - alpha * alpha)
        alpha = -(r[k] + np.dot(r[:k][::-1], y[:k])) / beta
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha
    return y
