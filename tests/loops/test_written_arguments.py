"""Functions that write to their arguments."""

from typing import Any

import numpy as np
import pytest

import nbgrad


@nbgrad.njit
def chained(a, k):
    for i in range(a.shape[0] - 1):
        a[i + 1] = a[i] * a[i + 1] * k


@nbgrad.njit
def doubled(a, out):
    for i in range(a.shape[0]):
        out[i] = 2.0 * a[i] * a[i]
    return out[0]


@nbgrad.njit
def counted(a, places):
    s = 0.0
    for i in range(a.shape[0]):
        places[i] += i * i
        s += a[i] * places[i]
    return s


def chained_of(a, k):
    rows = [a[0]]
    for i in range(a.shape[0] - 1):
        rows.append(rows[-1] * a[i + 1] * k)
    return np.stack(rows)


def test_the_caller_keeps_its_arrays():
    a = np.array([1.0, 2.0, 3.0])
    value, pullback = nbgrad.vjp(chained, a, 2.0)
    assert value is not None and np.array_equal(a, [1.0, 2.0, 3.0])
    wanted, wanted_pullback = nbgrad.vjp(chained_of, a, 2.0)
    assert np.array_equal(value, wanted)
    for found, g in zip(pullback(np.ones(3)), wanted_pullback(np.ones(3)), strict=True):
        np.testing.assert_allclose(found, g, rtol=1e-14)
    np.testing.assert_allclose(
        nbgrad.jacobian(chained)(a, 2.0), nbgrad.jacobian(chained_of)(a, 2.0), rtol=1e-14
    )


def after(a, k):
    b = a * 1.0
    assert chained(b, k) is None
    return np.sum(b * b)


@pytest.mark.parametrize("transform", [lambda f: f, nbgrad.compile])
def test_a_tracked_array_changes_in_place(transform):
    a = np.array([1.0, 2.0, 3.0])
    wanted = nbgrad.grad(lambda a: np.sum(chained_of(a, 2.0) ** 2))(a)
    np.testing.assert_allclose(transform(nbgrad.grad(after))(a, 2.0), wanted, rtol=1e-14)


def test_views_see_the_writes():
    def f(a):
        b = a * 1.0
        part = b[1:]
        chained(part, 2.0)
        return np.sum(b * np.arange(4.0))

    def wanted(a):
        return np.sum(np.concatenate([a[:1], chained_of(a[1:], 2.0)]) * np.arange(4.0))

    a = np.array([1.0, 2.0, 3.0, -1.0])
    np.testing.assert_allclose(nbgrad.grad(f)(a), nbgrad.grad(wanted)(a), rtol=1e-14)


def test_forward_mode_and_samples_of_writes():
    a, v = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0])
    wanted = lambda a: np.sum(chained_of(a, 2.0) ** 2)  # noqa: E731
    found = nbgrad.jvp(lambda a: after(a, 2.0), (a,), (v,))
    np.testing.assert_allclose(found, nbgrad.jvp(wanted, (a,), (v,)), rtol=1e-14)
    rows = nbgrad.vmap(lambda a: after(a, 2.0))(np.stack([a, v]))
    np.testing.assert_allclose(rows, [wanted(a), wanted(v)], rtol=1e-14)


def test_an_array_made_like_a_tracked_one_is_written_to():
    def f(a):
        out = np.zeros_like(a)
        first = doubled(a, out)
        return np.sum(out) + first

    a = np.array([1.0, 2.0, 3.0])
    assert np.array_equal(nbgrad.grad(f)(a), 4.0 * a * [2.0, 1.0, 1.0])
    assert np.array_equal(nbgrad.compile(nbgrad.grad(f))(a), 4.0 * a * [2.0, 1.0, 1.0])


def test_a_leaf_is_not_written_to():
    x = nbgrad.track(np.ones(3))
    with pytest.raises(nbgrad.GraphError, match="copy"):
        chained(x, 2.0)
    with pytest.raises(nbgrad.GraphError, match="copy"):
        nbgrad.grad(lambda a: np.sum(a) + doubled(np.ones(3), a))(np.ones(3))


def test_plain_arrays_would_lose_a_derivative():
    with pytest.raises(nbgrad.UntrackedError, match=r"its argument out, a plain array"):
        nbgrad.grad(lambda a: doubled(a, np.zeros(3)))(np.ones(3))
    assert np.array_equal(nbgrad.grad(doubled)(np.ones(3), np.zeros(3)), [4.0, 0.0, 0.0])


def test_plain_arrays_that_depend_on_nothing_tracked_are_written_to():
    places = np.zeros(3, np.int64)
    x = nbgrad.track(np.array([1.0, 2.0, 3.0]))
    value: Any = counted(x, places)
    assert list(places) == [0, 1, 4]
    assert float(value.data) == 14.0
    value.backward()
    assert np.array_equal(x.grad, [0.0, 1.0, 4.0])
    before = np.zeros(3, np.int64)
    assert np.array_equal(nbgrad.grad(counted)(np.ones(3), before), [0.0, 1.0, 4.0])
    assert not before.any()
    with pytest.raises(nbgrad.UntrackedError, match="and its argument a is not known"):
        nbgrad.compile(lambda x: counted(x, places))(np.ones(3))


def test_shared_memory_is_refused():
    a = np.arange(1.0, 7.0)
    with pytest.raises(nbgrad.GraphError, match="arguments a and out share memory"):
        nbgrad.grad(doubled)(a, a)
    with pytest.raises(nbgrad.GraphError, match="arguments a and out share memory"):
        nbgrad.grad(doubled)(a[:4], a[2:])
    x = nbgrad.track(a) * 1.0
    with pytest.raises(nbgrad.GraphError, match="arguments a and out share memory"):
        doubled(x, x)
    with pytest.raises(nbgrad.GraphError, match="arguments a and out share memory"):
        doubled(x[:4], x[2:])
    assert nbgrad.grad(doubled)(a[:3], a[3:])[0] == 4.0


def test_arrays_that_are_not_contiguous():
    a = np.arange(1.0, 7.0)
    assert np.array_equal(nbgrad.grad(doubled)(a[::2], np.zeros(6)[::-2]), [4.0, 0.0, 0.0])

    def f(a):
        b = a * 1.0
        part = b[::2]
        chained(part, 2.0)
        return np.sum(b * np.arange(6.0))

    def wanted(a):
        parts = [*chained_of(a[::2], 2.0), *a[1::2]]
        return np.sum(np.stack(parts) * np.array([0.0, 2.0, 4.0, 1.0, 3.0, 5.0]))

    np.testing.assert_allclose(nbgrad.grad(f)(a), nbgrad.grad(wanted)(a), rtol=1e-14)
