"""Functions that return arrays, and functions that raise."""

import numpy as np
import pytest

import nbgrad


@nbgrad.njit
def waves(a, n):
    out = np.zeros((n, a.shape[0]))
    for t in range(n):
        for i in range(1, a.shape[0] - 1):
            out[t, i] = a[i] * a[i - 1] + t
    return out


@nbgrad.njit
def both(a):
    s = a * 2.0
    return s.sum(), s, a[1:] * a[:-1]


@nbgrad.njit
def repeated(a, x):
    return np.full(int(x), 1.0) * a[0]


@nbgrad.njit
def part(a, n):
    if n > 1:
        return a[:n] * 2.0
    return a * a


@nbgrad.njit
def three(a):
    b, c = part(a, 4), part(a, 1)
    return b, c, part(a, 3)


def waves_of(a, n):
    rows = [np.concatenate([[0.0], a[1:-1] * a[:-2] + t, [0.0]]) for t in range(n)]
    return np.stack(rows)


A = np.arange(1.0, 6.0)


def test_array_results():
    assert np.array_equal(nbgrad.vjp(waves, A, n=3)[0], waves(A, 3))
    assert np.array_equal(nbgrad.jacobian(waves)(A, 3), nbgrad.jacobian(waves_of)(A, 3))
    v = np.array([1.0, -1.0, 2.0, 0.5, 3.0])
    found = nbgrad.jvp(lambda a: waves(a, 2), (A,), (v,))
    for x, y in zip(found, nbgrad.jvp(lambda a: waves_of(a, 2), (A,), (v,)), strict=True):
        assert np.array_equal(x, y)
    loss = lambda f: nbgrad.grad(lambda a: np.sum(f(a, 3) ** 2))  # noqa: E731
    assert np.array_equal(loss(waves)(A), loss(waves_of)(A))
    assert np.array_equal(nbgrad.compile(loss(waves))(A), loss(waves_of)(A))
    rows = nbgrad.vmap(waves, in_axes=(0, None))(np.stack([A, 2.0 * A]), 2)
    assert np.array_equal(rows, [waves(A, 2), waves(2.0 * A, 2)])


def test_several_results():
    total, doubled, products = both(nbgrad.track(A))
    assert float(total.data) == 30.0
    assert np.array_equal(doubled.data, 2.0 * A)
    assert np.array_equal(products.data, A[1:] * A[:-1])
    loss = lambda a: np.sum(both(a)[2]) * both(a)[0]  # noqa: E731
    wanted = nbgrad.grad(lambda a: np.sum(a[1:] * a[:-1]) * np.sum(2.0 * a))(A)
    np.testing.assert_allclose(nbgrad.grad(loss)(A), wanted, rtol=1e-14)
    np.testing.assert_allclose(nbgrad.compile(nbgrad.grad(loss))(A), wanted, rtol=1e-14)


def test_shapes_that_depend_on_values():
    x = nbgrad.track(A)
    out = repeated(x, 3.0)
    assert out.shape == (3,)
    np.sum(out).backward()
    assert np.array_equal(x.grad, [3.0, 0.0, 0.0, 0.0, 0.0])
    with pytest.raises(nbgrad.TraceError, match="the shape of its result depends on the value of"):
        nbgrad.compile(repeated)(A, 3.0)


@nbgrad.njit
def limited(a, limit):
    s = 0.0
    for i in range(a.shape[0]):
        a[i] = a[i] * 2.0
        s += a[i] * a[i]
        if s > limit:
            raise ValueError("beyond the limit")
    return s


def test_exceptions():
    for f in (limited, nbgrad.value_and_grad(limited), nbgrad.compile(nbgrad.grad(limited))):
        with pytest.raises(ValueError, match="beyond the limit"):
            f(A.copy(), 10.0)
    with pytest.raises(ValueError, match="beyond the limit"):
        limited(nbgrad.track(A) * 1.0, 10.0)
    for transform in (lambda f: f, nbgrad.compile):
        assert np.array_equal(transform(nbgrad.grad(limited))(A, 1000.0), 8.0 * A)


@nbgrad.njit
def advanced(a):
    if a[0] + 1.0 < a[1]:
        a[0] += 1.0
        return a
    a[0] = a[1] * a[1]
    return a


@nbgrad.njit
def shortened(a):
    a[0] *= 0.5
    if a[0] > 0.25:
        return a[1:]
    return a[:-2] * a[0]


def test_several_returns_of_an_array_that_is_written():
    x = np.array([0.3, 0.4, 0.7])
    advance = lambda x: np.sum(advanced(1.0 * x) * np.array([1.0, 2.0, 3.0]))  # noqa: E731
    for given, wanted in ((x, [0.0, 2.8, 3.0]), (4.0 * x - [1.0, 0.0, 0.0], [1.0, 2.0, 3.0])):
        assert np.array_equal(nbgrad.grad(advance)(given), wanted)
        assert np.array_equal(nbgrad.compile(nbgrad.grad(advance))(given), wanted)
    assert np.array_equal(nbgrad.jacobian(shortened)(x), [[0.15, 0.0, 0.0]])
    assert np.array_equal(nbgrad.jacobian(shortened)(2.0 * x), np.eye(3)[1:])
    assert np.array_equal(x, [0.3, 0.4, 0.7])


def test_results_of_calls_are_other_arrays_than_the_results_of_the_caller():
    found, pull = nbgrad.vjp(three, A)
    assert all(map(np.array_equal, found, three(A)))
    (slope,) = pull((np.ones(4), np.ones(5), np.ones(3)))
    assert np.array_equal(slope, 2.0 * A + np.array([4.0, 4.0, 4.0, 2.0, 0.0]))
