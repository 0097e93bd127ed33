"""Loops whose rounds add to a cotangent that the round before has set."""

import re

import numpy as np
import pytest

import nbgrad


def tree(v, p):
    for step in range(v.size - 1):
        for i in range(v.size - 1 - step):
            v[i] = 0.9 * (p * v[i + 1] + (1.0 - p) * v[i])
    return v[0] * v[0] if v.size else 0.0


def rising(v, p):
    for i in range(v.size - 1, 0, -1):
        v[i] = v[i - 1] * v[i] + p * v[i]
    return np.sum(v * v)


def by_twos(v, p):
    for i in range(0, v.size - 2, 2):
        v[i] = p * v[i + 2] * v[i]
    return np.sum(v * v)


def overwritten(v, p):
    for i in range(v.size - 1):
        v[i] = p
        v[i + 1] = v[i] * v[i + 1] * p
        v[i] += v[i + 1]
    return np.sum(v * v)


def along_rows(a, p):
    for _ in range(3):
        for i in range(a.shape[0]):
            for j in range(a.shape[1] - 1):
                a[i, j] = p * a[i, j + 1] * a[i, j]
    return np.sum(a)


def three_positions(v, p):
    for i in range(v.size - 2):
        v[i] = p * v[i + 1] + v[i + 2] * v[i]
    return np.sum(v * v)


def two_rounds_apart(v, p):
    for i in range(v.size - 2):
        v[i] = p * v[i + 2] + v[i]
    return np.sum(v * v)


def with_a_branch(v, p):
    for i in range(v.size - 1):
        if v[i] > 0.5:
            v[i] = p * v[i + 1] + v[i] * v[i]
    return np.sum(v * v)


CARRIED = [tree, rising, by_twos, overwritten]


@pytest.mark.parametrize(
    "function", [*CARRIED, along_rows, three_positions, two_rounds_apart, with_a_branch]
)
def test_against_differences(function):
    f = nbgrad.njit(function)
    for n in (0, 1, 2, 3, 9, 40):
        check(f, function, n)


def check(f, function, n):
    rng = np.random.default_rng(n)
    v = rng.uniform(0.3, 1.0, (3, n) if function is along_rows else n)
    step = rng.normal(size=v.shape)
    value, (v_bar, p_bar) = nbgrad.value_and_grad(f, (0, 1))(v, 0.7)
    assert value == f(v.copy(), 0.7)

    def at(size):
        return function(v + size * step, 0.7 + size)

    found = (8 * (at(1e-4) - at(-1e-4)) - at(2e-4) + at(-2e-4)) / 1.2e-3
    np.testing.assert_allclose(np.sum(v_bar * step) + p_bar, found, rtol=1e-8, atol=1e-10)
    _, along = nbgrad.jvp(f, (v, 0.7), (step, 1.0))
    np.testing.assert_allclose(np.sum(v_bar * step) + p_bar, along, rtol=1e-12, atol=1e-13)
    products = nbgrad.hvp(lambda x: f(x.copy(), 0.7))(v, step)
    ahead, behind = (nbgrad.grad(f)(v + size * step, 0.7) for size in (1e-5, -1e-5))
    np.testing.assert_allclose(products, (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("function", CARRIED)
def test_no_round_loads_what_the_round_before_has_stored(function):
    f = nbgrad.njit(function)
    nbgrad.grad(f, (0, 1))(np.ones(5), 0.7)
    backward = re.search(r"for back\w* in range.*?v_bar\[.*", f.source, re.DOTALL)
    assert backward is not None and "left" in backward[0]


def test_arrays_of_float32():
    v = np.linspace(0.3, 1.0, 20)
    slopes = [nbgrad.grad(nbgrad.njit(tree))(v.astype(kind), kind(0.7))
              for kind in (np.float64, np.float32)]  # fmt: skip
    assert slopes[1].dtype == np.float32
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-4)


def test_on_several_threads():
    f = nbgrad.njit(along_rows)
    a = np.random.default_rng(0).uniform(0.3, 1.0, (200, 300))
    before = nbgrad.get_threads()
    found = []
    for count in (1, 3):
        nbgrad.set_threads(count)
        found.append(nbgrad.grad(f, (0, 1))(a, 0.7))
    nbgrad.set_threads(before)
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]
