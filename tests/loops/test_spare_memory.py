"""The large block of memory that machine code keeps between calls."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import nbgrad
from nbgrad.runtime import heap

N = 3_000_000
pytestmark = pytest.mark.skipif(not heap.keeps_spare(), reason="needs glibc")


@nbgrad.njit
def products(x, n):
    total = 0.0
    value = x[0]
    for i in range(n):
        value = np.sin(value) * x[i % 3]  # both factors are recorded
        total += value
    return total


@pytest.fixture(autouse=True)
def trimmed():
    nbgrad.trim()
    yield
    nbgrad.trim()


def test_a_large_record_is_used_again():
    gradient, x = nbgrad.grad(products), np.array([0.3, 1.2, 0.7])
    first = gradient(x, N)
    address, _, size = heap.SPARE
    assert address and size > heap.LARGEST
    assert nbgrad.stats()["kept"] >= size
    np.testing.assert_array_equal(gradient(x, N), first)
    assert heap.SPARE[0] == address
    assert nbgrad.trim() > heap.LARGEST // 2
    assert not heap.SPARE[0]
    np.testing.assert_array_equal(gradient(x, N), first)


def test_threads_do_not_share_it():
    gradient = nbgrad.grad(products)
    given = [np.array([0.3, 1.2, 0.1 * k]) for k in range(1, 7)]
    wanted = [gradient(x, N) for x in given]
    with ThreadPoolExecutor(3) as pool:
        for mine, theirs in zip(pool.map(lambda x: gradient(x, N), given), wanted, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_nothing_is_kept_if_none_is_wanted():
    most, heap.SPARE[1] = heap.SPARE[1], 0
    try:
        nbgrad.grad(products)(np.array([0.3, 1.2, 0.7]), N)
        assert not heap.SPARE[0]
    finally:
        heap.SPARE[1] = most
