"""Values and gradients of kernels of paths and series, derived by hand and compiled by Numba.

Each takes the arguments of its kernel, does not change them, and returns the value, then the
gradients. They record as little as a person would: recurrences their state, and a path that
depends on no other only itself.
"""

import math

import numpy as np
from numba import njit


@njit
def nbody(x, v, steps):
    n = x.shape[0]
    x, v = x.copy(), v.copy()
    kept = np.empty((steps, n, 2))
    for t in range(steps):
        kept[t] = x
        for i in range(n):
            ax = ay = 0.0
            for j in range(n):
                dx, dy = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1]
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
    x_bar, v_bar = np.empty((n, 2)), np.zeros((n, 2))
    for i in range(n):
        total += x[i, 0] * x[i, 1]
        x_bar[i, 0], x_bar[i, 1] = x[i, 1], x[i, 0]
    for t in range(steps - 1, -1, -1):
        for i in range(n):
            v_bar[i, 0] += 0.01 * x_bar[i, 0]
            v_bar[i, 1] += 0.01 * x_bar[i, 1]
        # The acceleration is symmetric in each pair: its adjoint is, with differences of v_bar.
        for i in range(n):
            gx = gy = 0.0
            for j in range(n):
                dx, dy = kept[t, j, 0] - kept[t, i, 0], kept[t, j, 1] - kept[t, i, 1]
                ux, uy = v_bar[j, 0] - v_bar[i, 0], v_bar[j, 1] - v_bar[i, 1]
                r2 = dx * dx + dy * dy + 0.1
                w = 1.0 / (r2 * math.sqrt(r2))
                along = 3 * w / r2 * (ux * dx + uy * dy)
                gx += ux * w - along * dx
                gy += uy * w - along * dy
            x_bar[i, 0] += 0.01 * gx
            x_bar[i, 1] += 0.01 * gy
    return total, x_bar, v_bar


@njit
def _rates(p, x, y):
    return p[0] * x - p[1] * x * y, p[2] * x * y - p[3] * y


@njit
def _back(p, p_bar, x, y, u, w):
    """The cotangents of x and y for those of the rates; those of p are added."""
    p_bar[0] += u * x
    p_bar[1] -= u * x * y
    p_bar[2] += w * x * y
    p_bar[3] -= w * y
    return u * (p[0] - p[1] * y) + w * p[2] * y, w * (p[2] * x - p[3]) - u * p[1] * x


@njit
def lotka_volterra(p, steps, dt):
    kept = np.empty((steps, 2))
    x, y = 1.0, 0.5
    for t in range(steps):
        kept[t, 0], kept[t, 1] = x, y
        k1x, k1y = _rates(p, x, y)
        k2x, k2y = _rates(p, x + 0.5 * dt * k1x, y + 0.5 * dt * k1y)
        k3x, k3y = _rates(p, x + 0.5 * dt * k2x, y + 0.5 * dt * k2y)
        k4x, k4y = _rates(p, x + dt * k3x, y + dt * k3y)
        x = x + dt / 6 * (k1x + 2 * k2x + 2 * k3x + k4x)
        y = y + dt / 6 * (k1y + 2 * k2y + 2 * k3y + k4y)
    p_bar = np.zeros(4)
    u, w = 2 * x, 1.0
    for t in range(steps - 1, -1, -1):
        x1, y1 = kept[t, 0], kept[t, 1]
        kx, ky = _rates(p, x1, y1)
        x2, y2 = x1 + 0.5 * dt * kx, y1 + 0.5 * dt * ky
        kx, ky = _rates(p, x2, y2)
        x3, y3 = x1 + 0.5 * dt * kx, y1 + 0.5 * dt * ky
        kx, ky = _rates(p, x3, y3)
        x4, y4 = x1 + dt * kx, y1 + dt * ky
        ux, uy = dt / 6 * u, dt / 6 * w
        sx, sy = _back(p, p_bar, x4, y4, ux, uy)
        tx, ty = _back(p, p_bar, x3, y3, 2 * ux + dt * sx, 2 * uy + dt * sy)
        u, w = u + sx + tx, w + sy + ty
        sx, sy = _back(p, p_bar, x2, y2, 2 * ux + 0.5 * dt * tx, 2 * uy + 0.5 * dt * ty)
        tx, ty = _back(p, p_bar, x1, y1, ux + 0.5 * dt * sx, uy + 0.5 * dt * sy)
        u, w = u + sx + tx, w + sy + ty
    return x * x + y, p_bar


@njit
def garch(p, r):
    n = r.shape[0]
    kept = np.empty(n)
    h, total = 0.1, 0.0
    for t in range(n):
        kept[t] = h
        total += math.log(h) + r[t] * r[t] / h
        h = p[0] + p[1] * r[t] * r[t] + p[2] * h
    r_bar = np.empty(n)
    h_bar = p0 = p1 = p2 = 0.0
    for t in range(n - 1, -1, -1):
        h, square = kept[t], r[t] * r[t]
        part = 1 / h
        p0 += h_bar
        p1 += h_bar * square
        p2 += h_bar * h
        r_bar[t] = 2 * r[t] * (h_bar * p[1] + part)
        h_bar = h_bar * p[2] + part - square * part * part
    return total, np.array([p0, p1, p2]), r_bar


@njit
def soft_dtw(d, r, gamma):
    n, m = d.shape
    r = r.copy()
    to = np.empty((n, m, 3))  # the share of each neighbour
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a, b, c = -r[i - 1, j - 1] / gamma, -r[i - 1, j] / gamma, -r[i, j - 1] / gamma
            most = max(max(a, b), c)
            ea, eb, ec = math.exp(a - most), math.exp(b - most), math.exp(c - most)
            z = ea + eb + ec
            to[i - 1, j - 1, 0], to[i - 1, j - 1, 1], to[i - 1, j - 1, 2] = ea / z, eb / z, ec / z
            r[i, j] = d[i - 1, j - 1] - gamma * (math.log(z) + most)
    bar = np.zeros((n + 1, m + 1))
    d_bar = np.empty((n, m))
    bar[n, m] = 1.0
    gamma_bar = 0.0
    for i in range(n, 0, -1):
        for j in range(m, 0, -1):
            g = bar[i, j]
            d_bar[i - 1, j - 1] = g
            ga, gb, gc = (
                g * to[i - 1, j - 1, 0], g * to[i - 1, j - 1, 1], g * to[i - 1, j - 1, 2]
            )  # fmt: skip
            bar[i - 1, j - 1] += ga
            bar[i - 1, j] += gb
            bar[i, j - 1] += gc
            mixed = ga * r[i - 1, j - 1] + gb * r[i - 1, j] + gc * r[i, j - 1]
            gamma_bar += (g * (r[i, j] - d[i - 1, j - 1]) - mixed) / gamma
    return r[n, m], d_bar, gamma_bar


@njit
def align(a, b, c):
    n, m = a.shape[0], b.shape[0]
    c = c.copy()
    choice = np.empty((n, m), np.int8)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            both = c[i - 1, j - 1] + a[i - 1] * b[j - 1]
            up, left = c[i - 1, j] - 0.3, c[i, j - 1] - 0.3
            if both >= up and both >= left:
                c[i, j] = both
                choice[i - 1, j - 1] = 0
            elif up >= left:
                c[i, j] = up
                choice[i - 1, j - 1] = 1
            else:
                c[i, j] = left
                choice[i - 1, j - 1] = 2
    # Only the path that was taken has cotangents.
    a_bar, b_bar = np.zeros(n), np.zeros(m)
    i, j = n, m
    while i > 0 and j > 0:
        if choice[i - 1, j - 1] == 0:
            i, j = i - 1, j - 1
            a_bar[i] += b[j]
            b_bar[j] += a[i]
        elif choice[i - 1, j - 1] == 1:
            i -= 1
        else:
            j -= 1
    return c[n, m], a_bar, b_bar


@njit
def barrier(z, start, sigma, strike):
    paths, steps = z.shape
    dt = 1.0 / steps
    root = math.sqrt(dt)
    z_bar = np.zeros_like(z)
    total = start_bar = sigma_bar = 0.0
    for i in range(paths):
        s = start
        alive = True
        for t in range(steps):
            s = s * math.exp(-0.5 * sigma * sigma * dt + sigma * root * z[i, t])
            if s > 130.0:
                alive = False
                break
        if alive and s > strike:
            total += s - strike
            start_bar += s / start
            for t in range(steps):  # each factor's derivative is s times its exponent's
                z_bar[i, t] = s * sigma * root / paths
                sigma_bar += s * (root * z[i, t] - sigma * dt)
    return total / paths, z_bar, start_bar / paths, sigma_bar / paths


@njit
def newton(a):
    total = 0.0
    a_bar = np.empty_like(a)
    kept = np.empty(100)
    for i in range(a.shape[0]):
        x = a[i]
        count = 0
        while abs(x * x * x - a[i]) > 1e-10:
            kept[count] = x
            count += 1
            x = x - (x * x * x - a[i]) / (3 * x * x)
        total += x * x
        g, found = 2 * x, 0.0
        for t in range(count - 1, -1, -1):
            x = kept[t]
            square = 1 / (3 * x * x)
            found += g * square
            g *= (x * x * x - a[i]) * 2 * square / x
        a_bar[i] = found + g
    return total, a_bar


adjoints = {
    "N-body": nbody,
    "Lotka-Volterra": lotka_volterra,
    "GARCH": garch,
    "soft-DTW": soft_dtw,
    "alignment": align,
    "barrier option": barrier,
    "Newton": newton,
}
