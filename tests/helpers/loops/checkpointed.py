"""Functions with a loop over `nbgrad.steps`, and arguments for them."""

# ruff: noqa: B007

import math

import numpy as np

import nbgrad
from nbgrad.compiler.kernel import device


@device
def scaled(a, factor):
    for i in range(a.shape[0]):
        a[i] = a[i] * factor


def checkpointed(how, by_count, steps=nbgrad.steps):
    """Cases (function, places of arguments to differentiate, arguments); the last two arguments are
    the number of steps and of copies. `how` is the schedule, unless `by_count`; it and the
    number are given to `steps`."""

    def numbers(x, n, k):
        y, last, s = 0.3, 0.0, 0.0
        for t in steps(n, k if by_count else how):
            z = x * y
            last = y
            x = x + 0.01 * math.sin(z)
            y = y - 0.02 * x * y
            s += z * t
        return x * y + last + 0.001 * s

    def stencil(a, b, c, n, k):
        for t in steps(n, k if by_count else how):
            for i in range(1, a.shape[0] - 1):
                b[i] = a[i] + c * math.cos(a[i]) * (a[i - 1] - 2 * a[i] + a[i + 1])
            for i in range(1, a.shape[0] - 1):
                a[i] = b[i]
        s = 0.0
        for i in range(a.shape[0]):
            s += a[i] * a[i]
        return s

    def in_place(a, w, n, k):
        """`w` is only read by the steps, and written before and behind them."""
        for j in range(w.shape[0]):
            w[j] = w[j] * w[j]
        for t in steps(n, checkpoint=k if by_count else how):
            for i in range(1, a.shape[0]):
                for j in range(1, i):
                    a[i, j] = a[i, j - 1] * a[i - 1, j] + w[t % w.shape[0]] * math.sin(a[i, j])
        for j in range(w.shape[0]):
            w[j] = math.exp(0.1 * w[j]) * a[2, 1]
        return a[3, 2] * w[0] + w[2]

    def branches(a, x, n, k):
        count, up = 0, False
        for t in steps(n, k if by_count else how):
            if a[t % 5] * x > 0.3:
                x = 0.9 * x + 0.1 * math.sin(a[t % 5])
                a[(t + count) % 5] = x * a[t % 5]
                count += 1
                up = not up
            elif up:
                a[0] *= 1.01
            else:
                x = x * 1.02
        return x * a[0] + a[3] + 0.1 * count

    def arrays_made(a, n, k):
        m = a.shape[0]
        total = np.zeros(m)
        for t in steps(n, k if by_count else how):
            part = np.empty(m)
            for i in range(m):
                part[i] = a[i] * math.cos(total[i])
            more = np.zeros(m + 1)
            for i in range(m):
                more[i + 1] = more[i] + part[i]
            for i in range(m):
                total[i] = 0.5 * total[i] + 0.1 * more[i] * part[i]
        s = 0.0
        for i in range(m):
            s += total[i] * total[i]
        return s

    def roots(a, n, k):
        x, s = 1.0, 0.0
        for t in steps(n, k if by_count else how):
            target, rounds = a[t % a.shape[0]] + 0.01 * s, 0
            while abs(x * x * x - target) > 1e-9:
                x = x - (x * x * x - target) / (3 * x * x)
                rounds += 1
                if rounds > 20:
                    break
            s += x * math.log(x)
        return s

    def outer(a, w, n, k):
        """The loop is inside of another one, and under a condition."""
        v, s = 1.0, 0.0
        for r in range(4):
            v = v * w[r] + 0.1
            scaled(w, 0.9)
            if v > 0.2:
                low = v * v
                for t in steps(n + r, k if by_count else how):
                    for i in range(a.shape[0]):
                        a[i] = a[i] * math.cos(low) + 0.1 * v * w[(r + t) % 4]
                v = v + 0.01 * a[0]
            s += v * a[1]
        return s

    def nested(a, x, n, k):
        for r in steps(3, k if by_count else how):
            y = x
            for t in steps(n, k if by_count else how):
                for i in range(1, a.shape[0]):
                    a[i] = math.sin(a[i - 1] + y * a[i])
                y = 0.9 * y + 0.1 * a[2]
            x = x * y + a[1]
        return x

    def trajectory(a, p, n, k):
        """Each step writes another element, which later ones read."""
        m = a.shape[0]
        for t in steps(min(n, m - 2), k if by_count else how):
            a[t + 2] = p[0] * a[t + 1] * math.sin(a[t]) + p[1]
            p[1] = 0.999 * p[1]
        s = 0.0
        for t in range(m):
            s += a[t] * a[t] * p[0]
        return s

    def permuted(a, places, n, k):
        for t in steps(n, k if by_count else how):
            m = a.shape[0]
            for i in range(m):
                j = places[i]
                a[j] = 0.5 * a[j] + 0.3 * math.sin(a[(j + 1) % m])
                places[i] = (j + t) % m
        return a[0] * a[places[1]]

    def twice(a, b, n, k):
        """Two such loops on the same arrays, and the other way round."""
        for t in steps(n, k if by_count else how):
            for i in range(a.shape[0]):
                a[i] = math.sin(a[i] + b[i])
        a[0] = a[0] * b[1]
        for t in steps(2 * n, k if by_count else how):
            for i in range(a.shape[0]):
                b[i] = 0.5 * b[i] + 0.1 * a[i] * a[i]
        a[1] = a[1] * b[0] * a[0]
        return a[0] * a[1] + b[1] + b[2]

    def whole_arrays(a, b, n, k):
        for t in steps(n, k if by_count else how):
            b[1:-1] = a[1:-1] + 0.1 * (a[:-2] - 2 * a[1:-1] + a[2:])
            a[:] = np.sin(b) * 0.9 + 0.1 * b
        return np.sum(a * a)

    random = np.random.default_rng(0)

    def normal(*shape):
        return random.normal(size=shape)

    return [
        (numbers, (0,), [0.7]),
        (stencil, (0, 1, 2), [normal(9), normal(9), 0.1]),
        (in_place, (0, 1), [0.5 * normal(5, 6), normal(3)]),
        (branches, (0, 1), [normal(5), 0.6]),
        (arrays_made, (0,), [normal(4)]),
        (roots, (0,), [random.uniform(1, 3, size=4)]),
        (outer, (0, 1), [normal(3), random.uniform(0.1, 1, size=4)]),
        (nested, (0, 1), [normal(4), 0.4]),
        (trajectory, (0, 1), [normal(400), random.uniform(0.5, 1, size=2)]),
        (permuted, (0,), [normal(6), random.permutation(6)]),
        (twice, (0, 1), [normal(3), normal(3)]),
        (whole_arrays, (0, 1), [normal(7), normal(7)]),
    ]
