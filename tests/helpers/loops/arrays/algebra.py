"""Programs with whole-array expressions, reductions and linear algebra."""

import numpy as np

from helpers.loops.arrays.table import positive, program, vector

PROGRAMS = []
PLAIN = []
"""Programs that Numba does not take."""


@program(PROGRAMS, vector(7))
def expressions(a):
    b = a * a + 2.0
    return np.sum(np.exp(-b) * b) + np.sum(np.sqrt(b) / (1.0 + np.abs(a)) - b**2 % 3.0)


@program(PROGRAMS, vector(5, 4), vector(4))
def matrix_and_vector(a, x):
    y = a @ x
    return np.sum(np.tanh(y) * y) + np.dot(x, x) + np.dot(y, a)[0]


@program(PROGRAMS, vector(5, 4))
def softmax_of_rows(x):
    s = 0.0
    for i in range(x.shape[0]):
        r = x[i]
        e = np.exp(r - np.max(r))
        p = e / np.sum(e)
        s += p[1] * p[2]
    return s


@program(PROGRAMS, vector(5, 4))
def standardised_columns(x):
    m = x.sum(axis=0) / x.shape[0]
    z = x - m
    d = np.sqrt(np.sum(z * z, axis=0) / x.shape[0])
    return np.sum((z / d) ** 3)


@program(PROGRAMS, vector(9))
def moments(x):
    return x.mean() * x.var() + x.std() + np.prod(x[:3]) + np.var(x[2:]) * x.max() - x.min()


@program(PROGRAMS, vector(4, 5))
def reductions_with_axes(a):
    rows, columns = np.sum(a, axis=1), np.sum(a, axis=0)
    return np.sum(rows**3) + np.sum(columns**2) + np.sum(a.sum(axis=-1) * rows)


@program(PROGRAMS, vector(6))
def places_of_extremes(a):
    i, j = np.argmax(a), np.argmin(a)
    a[i] = a[j] * a[j]
    return np.sum(a * a) + a[a.argmax()]


@program(PROGRAMS, vector(6, 6) + 6 * np.eye(6), vector(6))
def solution(a, b):
    x = np.linalg.solve(a, b)
    return np.dot(x, x)


@program(PROGRAMS, vector(4, 4), vector(4, 3))
def solutions_with_pivots(a, b):
    x = np.linalg.solve(a, b)
    return np.sum(x[0] * x[1])


@program(PROGRAMS, vector(4, 4) + 6 * np.eye(4))
def inverse_and_determinant(a):
    return np.sum(np.linalg.inv(a) ** 2) + np.linalg.det(a)


@program(PROGRAMS, positive(5))
def cholesky(a):
    factor = np.linalg.cholesky(a)
    return np.sum(np.log(np.diag(factor))) + np.sum(factor * factor * factor)


@program(PROGRAMS, vector(6), vector(5))
def outer_product(a, b):
    return np.sum(np.outer(a, b) ** 2) + np.linalg.norm(a) * np.linalg.norm(np.outer(b, a[:2]))


@program(PROGRAMS, vector(7))
def sorted_elements(a):
    b = np.sort(a)
    order = np.argsort(-a)
    s = 0.0
    for i in range(b.shape[0]):
        s += b[i] * b[i] * i + a[order[i]] / (i + 1.0)
    return s


@program(PROGRAMS, np.sort(vector(9)), np.array([0.3, -0.4, 0.9]), vector(9))
def interpolated(x, at, y):
    k = np.searchsorted(x, at)
    s = 0.0
    for i in range(k.shape[0]):
        j = min(max(k[i], 1), x.shape[0] - 1)
        t = (at[i] - x[j - 1]) / (x[j] - x[j - 1])
        s += (1.0 - t) * y[j - 1] + t * y[j]
    return s * s


@program(PROGRAMS, vector(4), vector(3))
def joined(a, b):
    c = np.concatenate((a, b, a[:2]))
    d = np.stack((a, a * a))
    e = np.vstack((d, d[::-1]))
    return np.sum(c[1:] * c[:-1]) + np.sum(d[0] * d[1]) + np.sum(e[0] * e[3]) + np.hstack((a, b))[5]


@program(PROGRAMS, vector(8))
def running_sums(a):
    c = np.cumsum(a)
    return np.sum(c * c) + np.sum(np.diff(c) ** 3) + np.cumprod(a)[-1]


@program(PROGRAMS, vector(7))
def rolled(a):
    left, right = np.roll(a, -1), np.roll(a, 1)
    u = a + 0.1 * (left - 2.0 * a + right) * a
    return np.sum(u * u) + np.sum(np.flip(a) * a)


@program(PROGRAMS, vector(8), vector(8))
def chosen(a, b):
    c = np.where(a > b, a * b, a - b)
    d = np.maximum(a, 0.3) * np.minimum(b, 0.2) + np.where(a < 0, 0.0, a) ** 2
    return np.sum(c * d) + np.sum(np.clip(a, -0.5, 0.5) * b)


@program(PROGRAMS, vector(6))
def conditions_of_arrays(a):
    s = 0.0
    if np.any(a > 1.5) or np.all(a < 1.0):
        s = np.sum(a * a)
    if not np.all(a[:3] > 0):
        s += np.sum(a[1:] * a[:-1])
    return s + np.sum(a > 0) * a[0]


@program(PROGRAMS, vector(5, 3))
def gram_schmidt(a):
    q = np.zeros_like(a)
    for j in range(a.shape[1]):
        v = a[:, j].copy()
        for k in range(j):
            v -= np.dot(q[:, k], a[:, j]) * q[:, k]
        q[:, j] = v / np.linalg.norm(v)
    return q[0, 0] * q[1, 1] + np.sum(q[:, 2] ** 3)


@program(PROGRAMS, positive(4), vector(4), 6)
def power_iteration(a, x, n):
    for _t in range(n):
        x = a @ x
        x = x / np.linalg.norm(x)
    return x @ a @ x


@program(PROGRAMS, positive(5), vector(5), 4)
def conjugate_gradients(a, b, n):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rr = r @ r
    for _t in range(n):
        q = a @ p
        alpha = rr / (p @ q)
        x = x + alpha * p
        r = r - alpha * q
        new = r @ r
        p = r + (new / rr) * p
        rr = new
    return np.sum(x * x * x)


@program(PROGRAMS, vector(9), 5)
def leapfrog(u, n):
    before = u.copy()
    u = u.copy()
    for _t in range(n):
        after = 2 * u - before
        after[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        before = u
        u = after
    return np.sum(u * u * u)


@program(PROGRAMS, vector(9), 5)
def swapped_grids(start, n):
    u = start.copy()
    new = u.copy()
    for _t in range(n):
        for i in range(1, u.shape[0] - 1):
            new[i] = 0.3 * (u[i - 1] * u[i] + u[i + 1])
        u, new = new, u
    return np.sum(u**3)


@program(PROGRAMS, vector(9), 4)
def stepped_with_new_arrays(u, n):
    for _t in range(n):
        new = np.empty_like(u)
        new[0] = u[0]
        new[-1] = u[-1]
        new[1:-1] = u[1:-1] - 0.2 * u[1:-1] * (u[1:-1] - u[:-2])
        u = new
    return np.sum(u * u)


@program(PROGRAMS, vector(6), 2)
@program(PROGRAMS, vector(6), 1)
def arrays_of_branches(a, k):
    if k > 1:
        x = a * a
    else:
        x = a
    if np.sum(x) > 2.0:
        x = x[1:].copy()
    return np.sum(x * x * x)


@program(PROGRAMS, vector(4), 9)
def left_early(a, n):
    x = a * 1.0
    for _i in range(n):
        x = x * x * 0.3 + 0.4
        if np.max(x) > 0.9:
            break
    return x.sum()


@program(PROGRAMS, vector(4), 3)
def growing(a, n):
    x = a.copy()
    for _i in range(n):
        x = np.concatenate((x, x[:2] * x[1:3]))
    return np.sum(x * x)


@program(PROGRAMS, vector(3, 4), vector(4, 5), vector(5, 2))
def layers(x, w, v):
    h = np.maximum(x @ w, 0.0)
    for _i in range(2):
        h = np.tanh(h)
    x = h @ v
    return np.sum(x * x)


@program(PROGRAMS, vector(4, 6), vector(2, 3))
def convolution(image, kernel):
    h = image.shape[0] - kernel.shape[0] + 1
    w = image.shape[1] - kernel.shape[1] + 1
    out = np.zeros((h, w))
    for i in range(h):
        for j in range(w):
            part = image[i : i + kernel.shape[0], j : j + kernel.shape[1]]
            out[i, j] = np.sum(part * kernel)
    return np.sum(out**2)


@program(PROGRAMS, vector(5, 2))
def distances(x):
    d = x[:, None, :] - x[None, :, :]
    r = np.sqrt(np.sum(d * d, axis=2) + 0.1)
    return np.sum(1.0 / r)


@program(PROGRAMS, vector(6), np.arange(6))
def integers_and_floats(a, k):
    b = a * k + k // 2 - k % 4
    return np.sum(b * (k > 2)) + np.sum(k) * a[0] + np.mean(k * a)


@program(PROGRAMS, vector(6).astype(np.float32), 1.5)
def single_precision(a, s):
    b = a * a
    c = b * s + np.float32(0.5) * a
    return np.sum(c) * 1.0


@program(PLAIN, vector(5, 4))
def statistics_of_columns(x):
    z = (x - x.mean(axis=0)) / np.std(x, axis=0)
    w = (x - x.max(axis=1, keepdims=True)) * x.min(axis=0)
    return np.sum(z**3) + np.sum(w * w) + np.sum(np.var(x, axis=1) ** 2)


@program(PLAIN, vector(5, 3))
def softmax_with_axes(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    p = e / np.sum(e, axis=-1, keepdims=True)
    return np.sum(p * p * x)


@program(PLAIN, vector(3, 4))
def cumulated_along_axes(a):
    b = np.cumsum(a, axis=0) * np.cumsum(a, axis=1)
    return np.sum(b * np.roll(b, 1, axis=0)) + np.linalg.norm(a, axis=1)[1]
