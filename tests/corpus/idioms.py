"""What scripts do beside arithmetic: tests of types, defaults, tables, files of helpers."""

import math
import numbers
from functools import partial
from typing import NamedTuple

import numpy as np

from corpus import BRANCH, case, definite, near, normal, uniform


def as_matrix(x, n):
    """A number, a diagonal or a matrix."""
    if x is None:
        return np.eye(n)
    if np.isscalar(x):
        return np.eye(n) * x
    x = np.asarray(x)
    if x.ndim == 1:
        return np.diag(x)
    return x


@case(uniform(0.5, 1.5), uniform(0.5, 1.5, 2), definite(2))
def noise_of_any_kind(r, d, M):
    total = np.zeros((2, 2))
    for value in (None, r, d, M, 2.0):
        total += as_matrix(value, 2) @ total + as_matrix(value, 2)
    return total


@case(uniform(0.5, 1.5), normal(3))
def scalar_or_sequence(a, v):
    def norm(x):
        if isinstance(x, numbers.Number):
            return abs(x)
        if hasattr(x, "__len__"):
            return sum(norm(item) for item in x)
        raise ValueError(f"neither a number nor a sequence: {type(x)}")

    return norm(a) + norm(v) * norm(3) + norm([1.0, a])


@case(normal(3), uniform(0.5, 1.0))
def converted_arguments(x, scale):
    try:
        n = len(scale)
    except TypeError:
        n = 1
        scale = [scale]
    assert n == 1
    x = np.atleast_1d(np.asarray(x, dtype=float))
    if not isinstance(x, np.ndarray):
        x = np.array([x])
    if np.ndim(scale[0]) == 0:
        x = x * scale[0]
    return x.astype(float) / float(len(x)), np.size(x) * scale[0]


def safe_sqrt(x):
    if isinstance(x, (int, float)):
        return math.sqrt(x)
    elif isinstance(x, np.ndarray):
        return np.sqrt(x)
    return [safe_sqrt(item) for item in x]


@case(uniform(0.5, 2.0, 3))
def roots_by_type(x):
    return safe_sqrt(x), safe_sqrt(9.0), np.array(safe_sqrt((x, x * 2)))


@case(normal(4), uniform(0.2, 0.8))
def moving_average(x, weight):
    """Every tool that joins and shifts."""
    padded = np.append(np.insert(x, 0, x[0]), [x[-1], weight])
    smooth = np.convolve(padded, [weight, 1 - weight], mode="same")
    parts = np.array_split(smooth, 2)
    joined = np.concatenate((parts[1], parts[0], [weight]))
    table = np.r_[joined, 0.0, weight, x]
    return np.delete(table, [0, 2]), np.tile(x, 2) * np.repeat(x, 2)


@case(normal(3), normal(3))
def stacked_columns(a, b):
    points = np.c_[a, b, np.ones(3)]
    rows = np.vstack([a, b])
    blocks = np.block([[rows, np.zeros((2, 1))], [np.ones((1, 3)), np.array([[a[0]]])]])
    deep = np.dstack((a, b)).squeeze()
    return points.T @ points, blocks, deep, np.kron(a[:2], b[:2])


class Parameters(NamedTuple):
    mass: float
    spring: float = 2.0
    damping: float = 0.1


@case(near(1.0), near([3.0, 0.2]))
def parameters_by_name(mass, others):
    p = Parameters(mass, *others)
    heavier = p._replace(mass=p.mass * 2)
    out = []
    for q in (p, heavier, Parameters(mass)):
        settings = q._asdict()
        omega = np.sqrt(settings["spring"] / settings["mass"])
        out.append([omega, settings.get("damping", 0) / (2 * omega), len(settings)])
    return np.array(out)


@case(normal(3))
def written_outputs(x):
    """`out=`, ufunc methods and reductions into arrays."""
    y = np.empty(3)
    np.multiply(x, 2.0, out=y)
    np.add(y, x, out=y)
    total = np.zeros(3)
    np.add.at(total, [0, 1, 0], y)
    np.copyto(total[1:], x[:2])
    table = np.multiply.outer(x, y)
    return (
        total,
        np.add.reduce(table),
        np.maximum.accumulate(np.sin(y)),
        table.sum(axis=1, out=np.empty(3)),
    )


@case(normal(2, 3))
def elements_in_turn(x):
    """Loops over elements by each of NumPy's tools."""
    out = np.zeros_like(x)
    for index, value in np.ndenumerate(x):
        out[index] = value**2 + sum(index)
    for i in np.ndindex(2, 3):
        out[i] += np.sin(x[i])
    total = 0.0
    for v in np.nditer(x):
        total += v * 0.5
    for v in x.flat:
        total = total * 0.9 + v
    rows = np.fromiter((row.sum() for row in x), dtype=float)
    return out, total, rows, np.array([v for row in x.tolist() for v in row] if False else out[0])


@case(normal(4), uniform(0.5, 1.5))
def piecewise_functions(x, a):
    first = np.piecewise(x, [x < 0, x >= 0], [lambda t: -a * t, lambda t: a * t**2])
    second = np.select([x < -0.5, x < 0.5], [x * 0 - 0.5, a * x], default=0.5)
    third = np.vectorize(lambda t, k=a: t * k)(x)
    fourth = np.heaviside(x, 0.5) * x
    return first, second, third, fourth, np.choose([0, 1, 0, 1], [x, -x])


@case(uniform(0.1, 2.0))
def constants_of_math(x):
    area = math.pi * x**2
    scaled = np.log1p(x) * math.log(2) + np.degrees(x) / 360
    return area + math.sqrt(2) * np.deg2rad(scaled) + round(3.7) * x - divmod(7, 2)[1] * x // 100


@case(normal(3), normal(3, 3))
def memo_and_closures(x, A):
    cache = {}

    def power(n):
        if n not in cache:
            cache[n] = np.eye(3) if n == 0 else A @ power(n - 1)
        return cache[n]

    series = partial(lambda scale, n: scale * power(n) / math.factorial(n), 0.5)
    return sum(series(n) for n in range(4)) @ x, len(cache)


@case(normal(5), refused=BRANCH)
def python_builtins(x):
    return max(x) - min(x) + sum(sorted(x)[1:3]), abs(x[0]) if x[0] < 0 else x[0] ** 2


@case(normal(5), refused=BRANCH)
def sorted_by_key(x):
    order = sorted(range(len(x)), key=lambda i: x[i])
    ranked = [x[i] * rank for rank, i in enumerate(order)]
    if np.any(np.isnan(x)) or not np.all(np.isfinite(x)):
        raise ValueError("not finite")
    return np.array(ranked)


@case(normal(3, 3))
def views_and_swaps(A):
    B = A.copy()
    B[[0, 1]] = B[[1, 0]]
    B[:, 0], B[:, 2] = B[:, 2].copy(), B[:, 0].copy()
    top = B[:2]
    top *= 2.0
    B.T[0] += 1.0
    B[np.diag_indices(3)] = 0
    B[B.shape[0] - 1] = np.flip(B[0])
    return B, np.rot90(A)[::-1], np.triu(A, 1) + np.tril(A).T


@case(normal(3), normal(3, dtype=np.float32))
def mixed_precision(x, y):
    z = np.zeros(3, dtype=y.dtype)
    z[:] = y * 2
    whole = np.arange(3) * x + np.ones(3, dtype=int)
    return z + whole, np.float32(0.5) * y, x * np.array([1, 2, 3], dtype=np.int8)


@case(normal(4), normal(2))
def polynomials(c, x):
    p = np.poly1d([1.0, -2.0, 0.5])
    fit = np.polyfit(np.arange(4.0), c, 1)
    return p(x), fit, np.polyder(c), np.polymul(c[:2], x), np.vander(x, 3) @ c[:3]


@case(normal(3, 4))
def reductions(A):
    centred = A - A.mean(axis=1, keepdims=True)
    spread = np.ptp(A, axis=0)
    quantile = np.percentile(A, 30, axis=1)
    order = np.argsort(A[0])
    best = A[np.arange(3), np.argmax(A, axis=1)]
    return centred.std(ddof=1), spread, quantile, A[:, order], best, np.nanmean(A), A.cumprod()


@case(normal(2, 3), normal(3, 2))
def products(A, B):
    left = np.einsum("ij,jk->ik", A, B) + np.tensordot(A, B, axes=1) + np.inner(A, B.T)
    right = np.trace(A @ B) + np.vdot(A, B.T) + np.linalg.det(A @ B)
    return left, right, np.linalg.norm(A, "fro"), np.linalg.norm(A, axis=1)


@case(uniform(-0.9, 0.9, 3))
def grids_and_windows(x):
    X, Y = np.meshgrid(x, np.linspace(0, 1, 2))
    padded = np.pad(x, (1, 2), mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 3)
    I, J = np.mgrid[0:2, 0:3]
    return (
        X * Y + I * J,
        windows @ np.hanning(5)[1:4],
        np.arctanh(x),
        np.cumsum(np.diff(padded, prepend=0)),
    )
