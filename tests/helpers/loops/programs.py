"""Small functions with loops, branches and writes in place, and arguments for them."""

# ruff: noqa: B007

import math

import numpy as np

from nbgrad.compiler.kernel import device


def shifted(a, x):
    for i in range(1, a.shape[0]):
        a[i] = a[i - 1] * x + a[i] * a[i]
    return a[-1]


def backwards(a):
    for i in range(a.shape[0] - 2, -1, -1):
        a[i] = math.sin(a[i + 1]) * a[i]
    return a[0] * a[0]


def every_third(a, x):
    s = 0.0
    for i in range(1, a.shape[0], 3):
        s += a[i] * a[i - 1] * x
        a[i] = s
    return s


def swapped(a):
    n = a.shape[0]
    for i in range(n // 2):
        t = a[i]
        a[i] = a[n - 1 - i] * 2.0
        a[n - 1 - i] = t * t
    return a[0] * a[n - 1] + a[1]


def bubbled(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                t = a[j]
                a[j] = a[j + 1]
                a[j + 1] = t
    s = 0.0
    for i in range(n):
        s += a[i] * a[i] * (i + 1.0)
    return s


def cleared(a, b):
    for i in range(a.shape[0]):
        if b[i] > 0.0:
            a[i] = 0.0
        elif b[i] > -0.5:
            a[i] = a[i] * b[i]
        b[i] = a[i] * a[i] + b[i] * 0.5
    return b[0] * b[2] + b[1]


def halved(x, y):
    n = 0
    while x > 0.1:
        x = x * y
        n += 1
        if n > 30:
            break
    return x * n


def searched(a, x):
    i = 0
    while True:
        if i >= a.shape[0]:
            return x * x
        if a[i] * x > 2.0:
            break
        x += a[i] * 0.25
        i += 1
    return a[i] * x * x


def nested_whiles(a):
    total = 0.0
    for i in range(a.shape[0]):
        x = 1.0 * a[i]
        while abs(x) > 0.2:
            y = x * x
            while y > 0.3:
                y = y * 0.5 * abs(math.cos(x))
                total += y * x
            x = x * 0.6
            if total > 50.0:
                break
        total += x * x
    return total


def skipping(a, x):
    s = 1.0
    for i in range(a.shape[0]):
        if a[i] < 0.0:
            continue
        s = s * a[i] + x
        if s > 40.0:
            s = math.sqrt(s)
            continue
        a[i] = s * x
    return s


def returns_early(a, x):
    for i in range(a.shape[0]):
        for j in range(i):
            x = x + a[i] * a[j]
            a[j] = x
            if x > 3.0:
                return x * a[i]
    return x * x * 0.5


def conditional(a, b):
    s = 0.0
    for i in range(a.shape[0]):
        t = a[i] * b[i] if a[i] > b[i] else b[i] / (1.0 + a[i] * a[i])
        s += t * t if t > 0.0 and s < 3.0 else -t
    return s


def extremes(a):
    low, high = a[0], a[0]
    for i in range(a.shape[0]):
        low = min(low, a[i] * a[i])
        high = max(high, a[i])
    return low * high + high * high


def functions(a, x):
    s = 0.0
    for i in range(a.shape[0]):
        s += math.tanh(a[i]) * math.exp(-x * a[i]) + math.log(1.0 + a[i] * a[i])
        s += math.atan2(a[i], x + 2.0) + math.cosh(a[i] * 0.5) * math.cos(x)
        s += math.sqrt(x * x + a[i] * a[i] + 1.0) + math.tan(a[i] * 0.3) + math.erf(x * a[i])
    return s


def powers(a, x):
    s = 0.0
    for i in range(a.shape[0]):
        s += abs(a[i]) ** x + x ** a[i] + a[i] ** 3 + (a[i] * a[i]) ** 1.5
    return s


def lerped(a, x):
    i = int(x)
    w = x - i
    s = a[i] * (1.0 - w) + a[i + 1] * w
    for k in range(3):
        j = int(abs(s) * 3.0) % a.shape[0]
        s = s + a[j] * w * s
    return s


def products(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] += s
    t = 0.0
    for i in range(c.shape[0]):
        for j in range(i, c.shape[1]):
            t += c[i, j] * c[i, j]
    return t


def substituted(m, b):
    n = b.shape[0]
    for i in range(n):
        for j in range(i):
            b[i] -= m[i, j] * b[j]
        b[i] /= m[i, i]
    return b[n - 1] * b[0]


def softmaxed(a):
    top = a[0]
    for i in range(1, a.shape[0]):
        if a[i] > top:
            top = a[i]
    z = 0.0
    for i in range(a.shape[0]):
        a[i] = math.exp(a[i] - top)
        z += a[i]
    for i in range(a.shape[0]):
        a[i] /= z
    return a[0] * a[1]


def logistic(x, r, n):
    for i in range(n):
        x = r * x * (1.0 - x)
    return x


def two_results(a, x):
    p = 1.0
    s = 0.0
    for i in range(a.shape[0]):
        p *= a[i] + x
        s += p
    return p, s * x


def empty_loops(a, n):
    s = 1.0
    for i in range(n):
        for j in range(i):
            s *= a[j]
    for i in range(n, 0):
        s *= a[i]
    return s * a[0]


@device
def scaled(u, v, k):
    return u * v + k


def calling(a, x):
    s = x
    for i in range(a.shape[0]):
        s = scaled(s, a[i], x)
        if s > 5.0:
            s = scaled(x, s, 0.5)
        a[i] = scaled(a[i], s, 1.0)
    return s


def flagged(a):
    up = True
    s = 0.0
    for i in range(a.shape[0] - 1):
        up = a[i + 1] > a[i] if i % 2 == 0 else not up
        if up:
            s += a[i] * a[i + 1]
        else:
            s -= a[i] / (1.0 + s * s)
    return s


def root_of_one(x):
    s = math.sqrt(x)
    return (s - 1.0) * (s - 1.0)


def cube_root_of_one(x):
    s = np.cbrt(x)
    return (s - 1.0) * (s - 1.0)


def power_of_nothing(x, y):
    return x**y


def equal_logs(a, b):
    c = np.logaddexp(a, b)
    return np.sum(c * c)


def wrapped(a, k):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i - 3] * a[(i * 5 + k) % a.shape[0]]
        a[i - 1] = s * 0.3
    return s


def made_inside(a, x):
    n = a.shape[0]
    b = np.zeros(n)
    for i in range(n):
        c = np.empty(i + 1)
        for j in range(i + 1):
            c[j] = a[j] * x + b[i - j]
        for j in range(i + 1):
            b[i] += c[j] * c[i - j]
    return b[n - 1] * b[0]


def whole_arrays(a, b):
    c = a * b + np.sin(a)
    for i in range(3):
        c[:] = c * a - b[i]
        a[1:] = c[:-1] * 0.5
    return np.sum(c * c)


def checked(a, x):
    s = x
    for i in range(a.shape[0]):
        if s > 1e6:
            raise ValueError("too large")
        s = s * a[i] + math.sin(s)
    return s


def programs(seed=3):
    """Each function, the places of its active arguments, and its arguments."""
    r = np.random.default_rng(seed)

    def some(*shape):
        return r.normal(size=shape)

    return [
        (shifted, (0, 1), (some(6) * 0.5, 0.4)),
        (backwards, (0,), (some(7),)),
        (every_third, (0, 1), (some(11), 0.7)),
        (swapped, (0,), (some(7),)),
        (bubbled, (0,), (some(7),)),
        (cleared, (0, 1), (some(8), some(8))),
        (halved, (0, 1), (1.7, 0.8)),
        (searched, (0, 1), (some(9), 0.8)),
        (searched, (0, 1), (np.array([0.3, 0.2, 0.5, 2.4, 1.0]), 0.8)),
        (nested_whiles, (0,), (some(5),)),
        (skipping, (0, 1), (some(12) * 2.0, 0.6)),
        (returns_early, (0, 1), (some(7), 0.3)),
        (returns_early, (0, 1), (some(7) * 0.1, 0.3)),
        (conditional, (0, 1), (some(9), some(9))),
        (extremes, (0,), (some(9),)),
        (functions, (0, 1), (some(5), 0.6)),
        (powers, (0, 1), (some(5), 1.6)),
        (lerped, (0, 1), (some(6), 2.3)),
        (products, (0, 1, 2), (some(3, 4), some(4, 5), some(3, 5))),
        (substituted, (0, 1), (some(5, 5) + 4.0 * np.eye(5), some(5))),
        (softmaxed, (0,), (some(5),)),
        (logistic, (0, 1), (0.3, 3.1, 12)),
        (two_results, (0, 1), (some(5), 0.8)),
        (empty_loops, (0,), (some(4), 0)),
        (empty_loops, (0,), (some(4), 4)),
        (calling, (0, 1), (some(6), 0.9)),
        (flagged, (0,), (some(9),)),
        (root_of_one, (0,), (1.0,)),
        (cube_root_of_one, (0,), (1.0,)),
        (power_of_nothing, (0, 1), (2.0, 0.0)),
        (equal_logs, (0, 1), (np.ones(2), np.ones(2))),
        (wrapped, (0,), (some(8), 2)),
        (made_inside, (0, 1), (some(5), 0.7)),
        (whole_arrays, (0, 1), (some(5), some(5))),
        (checked, (0, 1), (some(6), 0.7)),
    ]
