"""Functions with loops, as people write them for Numba, and small arguments for each."""

import math

import numpy as np


def gauss_seidel(a, sweeps):
    for _ in range(sweeps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4.0
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j] * a[i, j]
    return total


def jacobi(a, b, sweeps):
    for _ in range(sweeps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = b[i, j]
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j] * a[i, j]
    return total


def cholesky(a):
    n = a.shape[0]
    for j in range(n):
        for k in range(j):
            for i in range(j, n):
                a[i, j] -= a[i, k] * a[j, k]
        d = math.sqrt(a[j, j])
        for i in range(j, n):
            a[i, j] /= d
    total = 0.0
    for j in range(n):
        total += math.log(a[j, j])
    for i in range(n):
        for j in range(i):
            total += a[i, j] * a[i, j]
    return total


def lu(a):
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += a[i, j] * a[i, j]
    return total


def durbin(r, y, z):
    n = r.shape[0]
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, n):
        beta = (1 - alpha * alpha) * beta
        s = 0.0
        for i in range(k):
            s += r[k - i - 1] * y[i]
        alpha = -(r[k] + s) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha
    total = 0.0
    for i in range(n):
        total += y[i] * y[i]
    return total


def nbody(x, v, steps):
    n = x.shape[0]
    for _ in range(steps):
        for i in range(n):
            ax = 0.0
            ay = 0.0
            for j in range(n):
                dx = x[j, 0] - x[i, 0]
                dy = x[j, 1] - x[i, 1]
                r2 = dx * dx + dy * dy + 0.1
                w = 1.0 / (r2 * math.sqrt(r2))
                ax += dx * w
                ay += dy * w
            v[i, 0] += 0.01 * ax
            v[i, 1] += 0.01 * ay
        for i in range(n):
            x[i, 0] += 0.01 * v[i, 0]
            x[i, 1] += 0.01 * v[i, 1]
    total = 0.0
    for i in range(n):
        total += x[i, 0] * x[i, 1]
    return total


def lotka_volterra(p, steps, dt):
    x = 1.0
    y = 0.5
    for _ in range(steps):
        k1x = p[0] * x - p[1] * x * y
        k1y = p[2] * x * y - p[3] * y
        x2 = x + 0.5 * dt * k1x
        y2 = y + 0.5 * dt * k1y
        k2x = p[0] * x2 - p[1] * x2 * y2
        k2y = p[2] * x2 * y2 - p[3] * y2
        x3 = x + 0.5 * dt * k2x
        y3 = y + 0.5 * dt * k2y
        k3x = p[0] * x3 - p[1] * x3 * y3
        k3y = p[2] * x3 * y3 - p[3] * y3
        x4 = x + dt * k3x
        y4 = y + dt * k3y
        k4x = p[0] * x4 - p[1] * x4 * y4
        k4y = p[2] * x4 * y4 - p[3] * y4
        x = x + dt / 6 * (k1x + 2 * k2x + 2 * k3x + k4x)
        y = y + dt / 6 * (k1y + 2 * k2y + 2 * k3y + k4y)
    return x * x + y


def garch(p, r):
    h = 0.1
    total = 0.0
    for t in range(r.shape[0]):
        total += math.log(h) + r[t] * r[t] / h
        h = p[0] + p[1] * r[t] * r[t] + p[2] * h
    return total


def soft_dtw(d, r, gamma):
    n, m = d.shape
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a = -r[i - 1, j - 1] / gamma
            b = -r[i - 1, j] / gamma
            c = -r[i, j - 1] / gamma
            most = max(max(a, b), c)
            z = math.exp(a - most) + math.exp(b - most) + math.exp(c - most)
            r[i, j] = d[i - 1, j - 1] - gamma * (math.log(z) + most)
    return r[n, m]


def align(a, b, c):
    n = a.shape[0]
    m = b.shape[0]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            both = c[i - 1, j - 1] + a[i - 1] * b[j - 1]
            up = c[i - 1, j] - 0.3
            left = c[i, j - 1] - 0.3
            if both >= up and both >= left:
                c[i, j] = both
            elif up >= left:
                c[i, j] = up
            else:
                c[i, j] = left
    return c[n, m]


def barrier(z, start, sigma, strike):
    total = 0.0
    dt = 1.0 / z.shape[1]
    for i in range(z.shape[0]):
        s = start
        alive = True
        for t in range(z.shape[1]):
            s = s * math.exp(-0.5 * sigma * sigma * dt + sigma * math.sqrt(dt) * z[i, t])
            if s > 130.0:
                alive = False
                break
        if alive and s > strike:
            total += s - strike
    return total / z.shape[0]


def newton(a):
    total = 0.0
    for i in range(a.shape[0]):
        x = a[i]
        while abs(x * x * x - a[i]) > 1e-10:
            x = x - (x * x * x - a[i]) / (3 * x * x)
        total += x * x
    return total


def early(a, x):
    s = 0.0
    for i in range(a.shape[0]):
        if a[i] < -1.5:
            continue
        for j in range(5):
            s += a[i] * x
            if s > 4.0:
                return s * s
            if j * a[i] > 2.0:
                break
            x = x * 1.1
    return s


def burgers(u, w, steps, dt):
    n = u.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            w[i] = u[i] - dt * u[i] * (u[i + 1] - u[i - 1]) + 0.1 * (u[i + 1] - 2 * u[i] + u[i - 1])
        for i in range(1, n - 1):
            u[i] = w[i]
    total = 0.0
    for i in range(n):
        total += u[i] * u[i]
    return total


def definite(rng, n):
    m = rng.normal(size=(n, n))
    return m @ m.T + n * np.eye(n)


def kernels(seed=1):
    """Each function, the places of its active arguments, and its arguments."""
    r = np.random.default_rng(seed)
    return [
        (gauss_seidel, (0,), (r.normal(size=(8, 9)), 3)),
        (jacobi, (0, 1), (r.normal(size=(8, 9)), np.zeros((8, 9)), 3)),
        (garch, (0, 1), (np.array([0.1, 0.2, 0.7]), r.normal(size=20))),
        (lotka_volterra, (0, 2), (np.array([1.0, 0.5, 0.3, 0.7]), 30, 0.05)),
        (cholesky, (0,), (definite(r, 7),)),
        (lu, (0,), (definite(r, 7),)),
        (newton, (0,), (r.uniform(1, 3, size=8),)),
        (align, (0, 1, 2), (r.normal(size=9), r.normal(size=8), np.zeros((10, 9)))),
        (soft_dtw, (0, 1, 2), (r.uniform(size=(6, 7)), r.uniform(size=(7, 8)), 0.7)),
        (barrier, (0, 1, 2), (r.normal(size=(10, 12)), 100.0, 0.4, 95.0)),
        (early, (0, 1), (r.normal(size=30), 0.3)),
        (nbody, (0, 1), (r.normal(size=(5, 2)), r.normal(size=(5, 2)), 4)),
        (durbin, (0, 1, 2), (r.normal(size=9) * 0.1, np.zeros(9), np.zeros(9))),
        (burgers, (0, 1, 3), (r.normal(size=12), np.zeros(12), 5, 0.1)),
    ]
