"""Functions with loops of independent rounds that are worth several threads."""

import numpy as np
from numba import prange

__all__ = [
    "batch", "forces", "gain", "histogram", "knocked_out", "logarithm", "long_sum", "orbit",
    "spread_out",
]  # fmt: skip


def knocked_out(z, s0, sigma, strike):
    """A barrier option: paths on drawn noise that may end early."""
    total = 0.0
    dt = 1.0 / z.shape[1]
    for i in range(z.shape[0]):
        s = s0
        alive = True
        for t in range(z.shape[1]):
            s = s * np.exp(-0.5 * sigma * sigma * dt + sigma * np.sqrt(dt) * z[i, t])
            if s > 150.0:
                alive = False
                break
        if alive and s > strike:
            total += s - strike
    return np.exp(-0.05 * sigma) * total / z.shape[0]


def logarithm(z, s0, sigma, strike):
    """The same, of which the result is no multiple of the sum, so that records are kept."""
    total = 0.0
    hits = 0
    dt = 1.0 / z.shape[1]
    for i in range(z.shape[0]):
        s = s0
        for t in range(z.shape[1]):
            s = s * np.exp(-0.5 * sigma * sigma * dt + sigma * np.sqrt(dt) * z[i, t])
            if s > 150.0:
                hits += 1
                break
        if s > strike:
            total += s - strike
    return np.log(total / z.shape[0]) + hits * sigma


def batch(w, v, x, y):
    """The loss of a network of one layer, sample by sample."""
    total = 0.0
    for i in prange(x.shape[0]):
        h = np.zeros(w.shape[0])
        for j in range(w.shape[0]):
            a = 0.0
            for k in range(w.shape[1]):
                a += w[j, k] * x[i, k]
            h[j] = np.tanh(a)
        p = 0.0
        for j in range(w.shape[0]):
            p += v[j] * h[j]
        total += (p - y[i]) ** 2
    return total / x.shape[0]


def forces(x, v, steps):
    """Bodies that attract each other, step by step."""
    n = x.shape[0]
    a = np.zeros((n, 2))
    for _ in range(steps):
        for i in prange(n):
            ax = 0.0
            ay = 0.0
            for j in range(n):
                dx = x[j, 0] - x[i, 0]
                dy = x[j, 1] - x[i, 1]
                r = dx * dx + dy * dy + 0.1
                f = 1.0 / (r * np.sqrt(r))
                ax += f * dx
                ay += f * dy
            a[i, 0] = ax
            a[i, 1] = ay
        for i in range(n):
            for c in range(2):
                v[i, c] += 0.01 * a[i, c]
                x[i, c] += 0.01 * v[i, c]
    e = 0.0
    for i in range(n):
        e += v[i, 0] * v[i, 0] + v[i, 1] * v[i, 1]
    return e


def gain(x):
    return np.sqrt(x) * np.exp(-0.01 * x) + np.tanh(x)


def orbit(p, n):
    """A trajectory of hares and lynxes, which ends with an error outside of bounds."""
    x, y = p[0], p[1]
    for _ in range(n):
        if x > 40.0:
            raise ValueError("grows")
        if x < -40.0:
            raise ArithmeticError("shrinks")
        dx = x * (1.1 - 0.4 * y)
        dy = y * (0.1 * x - 0.4)
        x += 0.01 * dx
        y += 0.01 * dy
    return x * y


def histogram(x, w, places):
    sums = np.zeros(50)
    for i in prange(x.size):
        sums[places[i]] += np.sin(x[i]) * w
    return np.sum(sums * sums)


def spread_out(x, places):
    out = np.zeros(x.size)
    for i in prange(x.size):
        out[places[i]] = np.sin(x[i])
    return np.sum(out)


def long_sum(x):
    total = 0.0
    for i in prange(x.size):
        total += x[i] * x[i] * np.exp(x[i] * x[i] * 0.1)
    return total
