"""Programs that give names of arrays to other arrays, in loops, branches and calls."""

import numpy as np

from helpers.loops.arrays.table import program, vector

PROGRAMS = []
PLAIN = []
"""Programs that Numba does not take."""


@program(PROGRAMS, vector(4), 2)
def conditional_expressions(a, k):
    x = a * 2.0 if k > 1 else a
    y = a if k > 3 else a * a
    return np.sum(x * y)


@program(PROGRAMS, vector(4), 3)
def pairs_of_arrays(a, n):
    pair = (a * 1.0, a * 2.0)
    for _i in range(n):
        pair = (pair[1], pair[0] + pair[1])
    return np.sum(pair[0] * pair[1])


@program(PROGRAMS, vector(4), 4)
def continued(a, n):
    for i in range(n):
        x = a * float(i + 1)
        if i == 1:
            continue
        if i == 2:
            x = x * x
        a = x + 1.0
    return np.sum(a)


@program(PROGRAMS, vector(4))
def the_best_of_several(a):
    best = a * 1.0
    least = 1e9
    for i in range(4):
        c = a * (i - 1.5)
        f = np.sum((c - 1.0) ** 2)
        if f < least:
            best = c
            least = f
    return np.sum(best**3) + least


@program(PROGRAMS, vector(4), 0)
def no_round(a, n):
    x = a
    for _i in range(n):
        x = x * 2.0
    return np.sum(x * x)


@program(PROGRAMS, vector(5), 3)
def rows_of_a_history(a, n):
    out = np.zeros((n, a.shape[0]))
    x = a.copy()
    for t in range(n):
        x = x * x * 0.5
        out[t] = x
    return np.sum(out * out)


@program(PROGRAMS, vector(5), 4)
def while_with_a_break(a, n):
    i = 0
    x = a * 1.0
    while i < n:
        x = np.where(x > 0.2, x * a, x + a)
        if x.sum() > 50.0:
            break
        i += 1
    return np.sum(x * x)


@program(PROGRAMS, vector(5, 2), vector(2))
def logistic_regression(x, w):
    for _e in range(3):
        p = 1.0 / (1.0 + np.exp(-(x @ w)))
        g = x.T @ (p - 0.5)
        w = w - 0.1 * g
    return np.sum(w * w)


@program(PROGRAMS, vector(3, 3), vector(3, 3))
def swapped_arguments(a, b):
    a, b = b, a
    a[0] = 1.0
    return np.sum(a * b * b)


@program(PROGRAMS, vector(5))
def views_that_are_written(a):
    x = a
    x[0] = 2.0
    y = a[1:]
    y += y
    return np.sum(a * a * a)


@program(PROGRAMS, vector(4, 4))
def its_own_transpose(a):
    a[:] = a.T * a
    return np.sum(a * a * a)


def scaled(x, y):
    x[0] = y[1] * 2.0
    return x * y


@program(PLAIN, vector(4), vector(4))
def calls_that_write_and_return_arrays(a, b):
    c = scaled(a, b)
    d = scaled(c[1:], b[1:])
    return np.sum(c * c) + np.sum(d)


def length_of(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
    return s


@program(PLAIN, vector(4, 3))
def calls_with_views(a):
    t = 0.0
    for i in range(a.shape[0]):
        t += length_of(a[i]) * length_of(a[:, 0]) + length_of(a[i] * 2.0)
    return t


@program(PLAIN, np.abs(vector(5, 5)) * 10)
def shortest_paths(path):
    for k in range(path.shape[0]):
        for i in range(path.shape[0]):
            through = path[i, k] + path[k, :]
            shorter = path[i, :] >= through
            path[i, shorter] = through[shorter]
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))
    return np.sum(path * path)


@program(PLAIN, vector(2, 3, 4), vector(4, 2), vector(2, 1, 4, 3))
def stacks_of_products(a, b, c):
    d = a @ b
    e = a[:, None] @ c[:, 0:1]
    return np.sum(d * d) + np.sum(e * e) + np.sum(np.sum(d, axis=(0, 2)) ** 3)
