"""Values and gradients of kernels of matrices, derived by hand and compiled by Numba.

Each takes the arguments of its kernel, does not change them, and returns the value, then the
gradients. They record as little as a person would: linear sweeps nothing, and factorisations
only their result.
"""

import math

import numpy as np
from numba import njit


@njit
def gauss_seidel(a, sweeps):
    a = a.copy()
    n, m = a.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4.0
    total = 0.0
    bar = np.empty_like(a)
    for i in range(n):
        for j in range(m):
            total += a[i, j] * a[i, j]
            bar[i, j] = 2 * a[i, j]
    for _ in range(sweeps):
        for i in range(n - 2, 0, -1):
            for j in range(m - 2, 0, -1):
                g = bar[i, j] / 4.0
                bar[i, j] = 0.0
                bar[i - 1, j] += g
                bar[i + 1, j] += g
                bar[i, j - 1] += g
                bar[i, j + 1] += g
    return total, bar


@njit
def jacobi(a, b, sweeps):
    a, b = a.copy(), b.copy()
    n, m = a.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = b[i, j]
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += a[i, j] * a[i, j]
    # The adjoint of a stencil gathers: `inner` is the cotangent inside of the border, zero on it.
    bar, inner = 2 * a, np.zeros_like(a)
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                inner[i, j] = 0.25 * bar[i, j]
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                bar[i, j] = inner[i - 1, j] + inner[i + 1, j] + inner[i, j - 1] + inner[i, j + 1]
        for j in range(1, m - 1):
            bar[0, j] += inner[1, j]
            bar[n - 1, j] += inner[n - 2, j]
        for i in range(1, n - 1):
            bar[i, 0] += inner[i, 1]
            bar[i, m - 1] += inner[i, m - 2]
    return total, bar


@njit
def cholesky(a):
    a = a.copy()
    n = a.shape[0]
    for j in range(n):
        for k in range(j):
            for i in range(j, n):
                a[i, j] -= a[i, k] * a[j, k]
        d = math.sqrt(a[j, j])
        for i in range(j, n):
            a[i, j] /= d
    total = 0.0
    bar = np.zeros_like(a)
    for j in range(n):
        total += math.log(a[j, j])
        bar[j, j] = 1 / a[j, j]
    for i in range(n):
        for j in range(i):
            total += a[i, j] * a[i, j]
            bar[i, j] = 2 * a[i, j]
    for j in range(n - 1, -1, -1):
        d = a[j, j]
        d_bar = bar[j, j]
        for i in range(j + 1, n):
            bar[i, j] /= d
            d_bar -= bar[i, j] * a[i, j]
        bar[j, j] = d_bar / (2 * d)
        for k in range(j):
            factor = 0.0
            other = a[j, k]
            for i in range(j, n):
                bar[i, k] -= bar[i, j] * other
                factor += bar[i, j] * a[i, k]
            bar[j, k] -= factor
    return total, bar


@njit
def lu(a):
    a = a.copy()
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
    bar = 2 * a
    for k in range(n - 1, -1, -1):
        for i in range(k + 1, n):
            factor = a[i, k]
            factor_bar = bar[i, k]
            for j in range(k + 1, n):
                factor_bar -= bar[i, j] * a[k, j]
                bar[k, j] -= bar[i, j] * factor
            bar[i, k] = factor_bar / a[k, k]
            bar[k, k] -= bar[i, k] * factor
    return total, bar


@njit
def durbin(r, y, z):
    n = r.shape[0]
    kept = np.empty((n, n))  # the solution after each order
    alphas, betas = np.empty(n), np.empty(n)
    alpha, beta = -r[0], 1.0
    kept[0, 0] = alphas[0] = alpha
    betas[0] = beta
    for k in range(1, n):
        beta = (1 - alpha * alpha) * beta
        s = 0.0
        for i in range(k):
            s += r[k - i - 1] * kept[k - 1, i]
        alpha = -(r[k] + s) / beta
        for i in range(k):
            kept[k, i] = kept[k - 1, i] + alpha * kept[k - 1, k - i - 1]
        kept[k, k] = alpha
        alphas[k], betas[k] = alpha, beta
    total = 0.0
    y_bar, before = np.empty(n), np.empty(n)
    for i in range(n):
        total += kept[n - 1, i] * kept[n - 1, i]
        y_bar[i] = 2 * kept[n - 1, i]
    r_bar = np.zeros(n)
    alpha_bar = beta_bar = 0.0
    for k in range(n - 1, 0, -1):
        alpha_bar += y_bar[k]
        for i in range(k):
            alpha_bar += y_bar[i] * kept[k - 1, k - i - 1]
            before[i] = y_bar[i] + alphas[k] * y_bar[k - i - 1]
        s_bar = -alpha_bar / betas[k]
        r_bar[k] += s_bar
        beta_bar -= alpha_bar * alphas[k] / betas[k]
        for i in range(k):
            r_bar[k - i - 1] += s_bar * kept[k - 1, i]
            y_bar[i] = before[i] + s_bar * r[k - i - 1]
        alpha_bar = -2 * alphas[k - 1] * betas[k - 1] * beta_bar
        beta_bar *= 1 - alphas[k - 1] * alphas[k - 1]
    r_bar[0] -= alpha_bar + y_bar[0]
    return total, r_bar


adjoints = {
    "Gauss-Seidel": gauss_seidel,
    "Jacobi": jacobi,
    "Cholesky": cholesky,
    "LU": lu,
    "Durbin": durbin,
}
