"""Arrays that a loop or a branch assigns first, and that are read behind it."""

# pyright: reportPossiblyUnboundVariable=false, reportOperatorIssue=false

import numpy as np
import pytest

import nbgrad


def nodes(x, n):
    """As Newton's method for the roots of Legendre polynomials is written."""
    z = np.cos(x)
    for _ in range(n):
        p1 = np.ones_like(z)
        p2 = np.zeros_like(z)
        for j in range(1, 4):
            p3 = p2
            p2 = p1
            p1 = ((2 * j - 1) * z * p2 - (j - 1) * p3) / j
        slope = 3 * (z * p1 - p2) / (z * z - 1.0)
        last = z.copy()
        z = last - p1 / slope
        if np.all(np.abs(z - last) < 1e-14):
            break
    return np.sum(z * slope) + slope[0]


def views(x, n):
    for i in range(n):
        tail = x[i:]
    return np.sum(tail) * tail[0]


def nested(x, n):
    total = 0.0
    for i in range(n):
        for j in range(i):
            tail = x[j:] * (i + 1.0)
        if i > 0:
            total += tail[0] ** 2
    return total + np.sum(tail)


def left(x, n):
    i = 0
    while True:
        y = x * x[i]
        i += 1
        if i >= n:
            break
    return np.sum(y * y)


def headed(x, n):
    """A loop that tests first: no exit is behind the first assignment."""
    i = 0
    while i < n:
        y = x * x[i]
        scale = 1
        for j in range(i):
            scale = scale * x[j]
        i += 1
    return np.sum(y * y) * scale


def resumed(x, n):
    total = 0.0
    while n > 0:
        n -= 1
        slope = x[n] * (n + 1)
        if n == 1:
            continue
        rest = x[n:] * slope
        total += slope
    return total * slope + np.sum(rest)


def pairs(x, n):
    for i in range(n):
        both = x[i:] * 2.0, i * x[0]
    return np.sum(both[0]) * both[1]


def written(x, n):
    for _ in range(n):
        y = x * x
        y[0] = 3.0 * x[1]
    y[1] *= x[2]
    return np.sum(y * y)


def branches(x, n):
    if n > 1:
        y = x * x
    elif n < 0:
        y = x[1:] * 2.0
    return np.sum(y) * y[0]


def polished(x, n):
    """A function that returns an array, and is read in the place of its call."""
    for k in range(n):  # noqa: B007
        before = x.copy()
        x = before - 0.1 * before * before
        if np.all(np.abs(x - before) < 1e-14):
            break
    return x * (k + 1.0) + before


def calls(x, n):
    return np.sum(polished(x, n) * polished(x * x, n))


X = np.linspace(0.3, 1.2, 4)


@pytest.mark.parametrize(
    "f", [nodes, views, nested, left, headed, resumed, pairs, written, branches, calls]
)
def test_slopes(f):
    value, slope = nbgrad.value_and_grad(nbgrad.njit(f))(X, 3)
    wanted = [(f(X + d, 3) - f(X - d, 3)) / 2e-6 for d in 1e-6 * np.eye(4)]
    assert value == pytest.approx(f(X, 3), rel=1e-14)
    np.testing.assert_allclose(slope, wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "f", [nodes, views, nested, headed, resumed, pairs, written, branches, calls]
)
def test_a_read_without_a_value_raises(f):
    with pytest.raises(UnboundLocalError, match="not associated with a value"):
        nbgrad.grad(nbgrad.njit(f))(X, 0)


def viewed(x, n):
    u = x * 1.0
    for _ in range(n):
        tail = u[1:]
        u = u * u
    return np.sum(tail) + np.sum(u)


def of_one_array(x, n):
    for i in range(n):
        y = x * (i + 2.0)
        u = y
    y[0] = 5.0
    return u[0] * u[1] + np.sum(y)


def of_an_argument(x, n):
    for i in range(n):
        if i == 2:
            break
        tail = x[i:]
        x[0] = x[1] * 2.0
    return tail[0] * tail[1]


@pytest.mark.parametrize("f", [viewed, of_one_array, of_an_argument])
def test_two_variables_of_one_array_are_refused_where_one_is_written(f):
    with pytest.raises(nbgrad.NoRuleError, match=r"make a copy with \.copy\(\)"):
        nbgrad.grad(nbgrad.njit(f))(X, 3)
