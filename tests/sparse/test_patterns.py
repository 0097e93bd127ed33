"""Patterns of recorded programs: they contain the entries of the dense Jacobian, at several points,
and exactly those where an op has a known structure."""

# The annotations of SciPy know no tracked arrays.
# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportOperatorIssue=false

import numpy as np
import pytest
from helpers import rows

import nbgrad
from nbgrad import sparse_jacobian
from nbgrad.rules.families import Elementwise

N = 6
A = np.diag(np.ones(N)) + np.diag(np.ones(N - 1), 1)
PLACES = np.array([3, 0, 0, 5])


def looped(x):
    return nbgrad.loop(3, lambda i, y: y + np.concatenate([y[1:], x[:1]]), x)


def scanned(x):
    last, ys = nbgrad.scan(lambda c, row: (c * row, c + row), x[:2], np.reshape(x[2:], (2, 2)))
    return np.concatenate([last, np.ravel(ys)])


def written(x):
    y = x * 1.0
    y[1:3] = x[4:] ** 2
    y[0] += y[5]
    return y


EXACT = {
    "elementwise": lambda x: np.sin(x) * x + 2.0,
    "broadcast": lambda x: (x[:, None] * x[:3]) ** 2,
    "scalar": lambda x: x * x[2],
    "sum": lambda x: np.sum(np.reshape(x, (2, 3)) ** 2, axis=0),
    "mean": lambda x: np.mean(np.reshape(x, (2, 3)) ** 2, axis=1, keepdims=True),
    "max": lambda x: np.reshape(x, (3, 2)) ** 2 @ np.ones(2),
    "norm": lambda x: np.linalg.norm(np.reshape(x, (3, 2)), axis=1),
    "prod": lambda x: np.prod(np.reshape(x, (3, 2)), axis=-1),
    "softmax": lambda x: nbgrad.softmax(np.reshape(x, (3, 2)), axis=1),
    "logsumexp": lambda x: nbgrad.logsumexp(np.reshape(x, (3, 2)), axis=0),
    "cumsum": lambda x: np.cumsum(x) * x[0],
    "diff": lambda x: np.diff(x, 2) ** 2,
    "diff of columns": lambda x: np.diff(np.reshape(x, (3, 2)), axis=0),
    "moves": lambda x: np.flip(np.roll(np.reshape(x, (2, 3)).T, 1, 0), 1),
    "pad": lambda x: np.diff(np.pad(x, (1, 2))) ** 2,
    "concatenate": lambda x: np.concatenate([x[3:] ** 2, x[:1], np.ones(2), x]),
    "stack": lambda x: np.stack([x[::2], x[1::2], np.ones(3)], axis=1),
    "places": lambda x: x[PLACES] * x[1],
    "mask": lambda x: x[np.array([True, False] * 3)] ** 2,
    "at add": lambda x: nbgrad.at(np.zeros(4))[np.array([0, 2, 2, 3, 3, 3])].add(x**2),
    "at set": lambda x: x.at[1:3].set(x[4:]) if hasattr(x, "at") else x,
    "written": written,
    "where": lambda x: np.where(np.arange(6) > 2, x, x[::-1]),
    "constant factor": lambda x: x[::-1] * np.array([1.0, 0.0, 2.0, 0.0, 1.0, 0.0]) + x,
    "constant matrix": lambda x: A @ (x * x),
    "vector of constants": lambda x: (x * x) @ A,
    "constant matrix, columns": lambda x: A @ np.stack([x, x**2], axis=1),
    "matrices": lambda x: np.reshape(x, (3, 2)) @ np.reshape(x[2:], (2, 2)),
    "stacks": lambda x: np.reshape(x, (1, 3, 2)) @ np.ones((2, 2, 2)),
    "dot": lambda x: np.dot(x[:3], x[3:]),
    "vecdot": lambda x: np.vecdot(np.reshape(x, (2, 3)), np.ones((2, 3))),
    "convolve": lambda x: np.convolve(x, np.array([1.0, 2.0, 3.0])),
    "convolve valid": lambda x: np.convolve(x, x[:2], "valid"),
    "einsum": lambda x: np.einsum("ij,ij->i", np.reshape(x, (3, 2)), np.reshape(x, (3, 2))),
    "loop": looped,
    "scan": scanned,
    "sort": lambda x: nbgrad.stop_gradient(x) * x,
    "constant": lambda x: np.ones(3) + 0.0 * np.sum(np.floor(x)),
    "number": lambda x: x[0] ** 2,
    "nested": lambda x: {"b": x[:2] ** 2, "a": (x[5], np.reshape(x[:4], (2, 2)))},
}
LOOSE = {
    "sort": lambda x: np.sort(x),
    "position": lambda x: x[np.argmax(x)] * x,
    "solve": lambda x: np.linalg.solve(np.eye(3) + np.reshape(x[:3], (3, 1)) * 0.1, x[3:]),
    "maximum": lambda x: np.maximum(x, 1.0) + np.abs(x[::-1]),
    "cond": lambda x: nbgrad.cond(x[0] > 1.0, lambda x: x[1:] ** 2, lambda x: x[:-1], x),
    "while": lambda x: nbgrad.while_loop(
        lambda y: np.sum(y) < 30.0, lambda y: y + np.roll(y, 1), x, max_steps=20
    ),
    "median": lambda x: np.median(np.reshape(x, (2, 3)), axis=1),
    "cumprod": lambda x: np.cumprod(x),
    "det": lambda x: np.linalg.det(np.reshape(x[:4], (2, 2)) + np.eye(2)) * x,
    "interp": lambda x: np.interp(x, np.arange(4.0), np.array([0.0, 1.0, 4.0, 9.0])),
}


def dense(f, x):
    parts = nbgrad.jacobian(lambda x: _joined(f(x)))(x)
    return np.reshape(parts, (-1, x.size))


def _joined(result):
    leaves, _ = nbgrad.transforms.trees.flatten(result)
    return np.concatenate([np.reshape(leaf, -1) for leaf in leaves])


def points():
    rng = np.random.default_rng(0)
    return [rng.uniform(0.5, 2.0, N) for _ in range(3)]


@pytest.mark.parametrize("name", EXACT)
def test_pattern_is_exact(name):
    f = EXACT[name]
    union = sum((dense(f, x) != 0 for x in points()), start=np.zeros((), int))
    assert np.array_equal(sparse_jacobian(f).pattern(points()[0]).toarray(), union != 0)


@pytest.mark.parametrize("name", LOOSE)
def test_pattern_contains_all_entries(name):
    f = LOOSE[name]
    union = sum((dense(f, x) != 0 for x in points()), start=np.zeros((), int))
    assert (sparse_jacobian(f).pattern(points()[0]).toarray() >= (union != 0)).all()


CASES = [
    case
    for row in rows.rows(True)
    for case in rows.cases_of(row)[: 2 if isinstance(row, Elementwise) else None]
]


@pytest.mark.full
@rows.parametrize(CASES)
def test_pattern_of_every_row(case):
    """The pattern has all entries of the Jacobian in each argument."""
    point = case.draw()
    for i in case.positions:

        def f(x, i=i):
            return case(*[x if k == i else a for k, a in enumerate(point.args)])

        x = point.args[i]
        expected = np.reshape(nbgrad.jacobian(f)(x), (np.size(f(x)), np.size(x)))
        assert (sparse_jacobian(f).pattern(x).toarray() >= (expected != 0)).all()
