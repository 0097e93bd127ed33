"""Stores that nothing reads: the sweeps leave them out, and record nothing for them."""

import re
from typing import Any

import numpy as np
import pytest

import nbgrad

RNG = np.random.default_rng(0)


def summed_up(a, w):
    a[:] = np.sin(a @ w)
    return np.sum(a)


def summed_up_in_a_branch(a, w):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > 0.0:
                a[i, j] = a[i, j] * a[i, j] * w[0, j]
    return w[0, 0]


def behind_the_last_read(a, w):
    for i in range(1, a.shape[0]):
        a[i - 1] = a[i] * a[i] * w[0]
    return np.sum(w)


UNREAD = (summed_up, summed_up_in_a_branch, behind_the_last_read)


def read_later(a, w):
    a[:] = np.sin(a @ w)
    return np.sum(a @ a)


def read_in_the_next_round(a, w):
    for i in range(1, a.shape[0]):
        a[i] = a[i] * a[i - 1] * w[0]
    return w[0, 0]


def read_in_a_round_of_time(a, w):
    for _ in range(3):
        a[:] = np.sin(a @ w) * a
    return w[0, 0]


READ = (read_later, read_in_the_next_round, read_in_a_round_of_time)


def check(function):
    """The pullback of the value and of the arrays that are written, beside forward mode."""
    compiled = nbgrad.njit(function)
    given = [RNG.normal(size=(4, 4)) for _ in range(2)]
    steps = [RNG.normal(size=(4, 4)) for _ in range(2)]

    def with_arrays(a, w):
        a = a + 0.0
        value = compiled(a, w)
        return value + np.sum(a * a * given[1])

    for each in (compiled, with_arrays):
        kept = [x.copy() for x in given]
        slopes = nbgrad.grad(each, (0, 1))(*given)
        _, dot = nbgrad.jvp(each, tuple(given), tuple(steps))
        found = sum(np.sum(x * y) for x, y in zip(slopes, steps, strict=True))
        assert found == pytest.approx(dot, rel=1e-10)
        for x, y in zip(given, kept, strict=True):
            np.testing.assert_array_equal(x, y)
    nbgrad.grad(compiled, (0, 1))(*given)
    return compiled.plan


@pytest.mark.parametrize("function", UNREAD)
def test_nothing_is_recorded(function):
    assert "nothing is recorded" in check(function)


@pytest.mark.parametrize("function", READ)
def test_what_is_read_is_recorded(function):
    assert "overwritten" in check(function)


def test_sums_of_arguments_are_in_the_loop_that_stores_them():
    compiled = nbgrad.njit(summed_up)
    nbgrad.grad(compiled)(np.ones((3, 4)), np.ones((4, 4)))
    code = re.sub("#.*", "", compiled.source)
    assert not re.search(r"\ba\[[^=]*\] \S?= ", code)


def test_arrays_that_are_results():
    """The value of the function has all elements."""

    @nbgrad.njit
    def both(a):
        made = np.empty(a.shape)
        total = 0.0
        for i in range(a.shape[0]):
            made[i] = a[i] * a[i]
            total += made[i] * a[i]
        return total, made

    a = RNG.normal(size=5)
    (value, made), slope = nbgrad.value_and_grad(both, has_aux=True)(a)
    np.testing.assert_allclose([value, *made], [np.sum(a**3), *a**2])
    np.testing.assert_allclose(slope, 3 * a**2)
    x = nbgrad.track(a)
    found: Any = both(x)
    total, made = found
    (total + np.sum(made * made)).backward()
    np.testing.assert_allclose(made.data, a**2)
    np.testing.assert_allclose(x.grad, 3 * a**2 + 4 * a**3)
