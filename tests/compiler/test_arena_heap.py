"""Buffers on the heap: growth, contents, release at each end of a function."""

import resource

import numpy as np
import pytest

from nbgrad.compiler.kernel import kernel

MEGABYTE = 2**20


def peak():
    """The greatest amount of memory that this process has used, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def triangular(n):
    total = 0.0
    for i in range(n):
        row = np.zeros(i)
        for j in range(i):
            row[j] += j + 1.0
        total += row.sum()
    return total


def test_an_array_made_in_a_loop_grows_with_it():
    expected = sum(i * (i + 1) / 2 for i in range(40))
    assert kernel(triangular)(40) == expected


def raising(x):
    room = np.full(x.size, 3.0)
    if x[0] < 0.0:
        raise ValueError("below zero")
    if x[0] > 1.0:
        return room[1]
    return np.sum(room * x)


def test_arrays_are_freed_at_each_end():
    compiled = kernel(raising)
    x = np.full(MEGABYTE, 0.5)  # 8 MB, and so is the array that is made
    assert compiled(x) == 1.5 * MEGABYTE
    before = peak()
    for _ in range(30):
        x[0] = -1.0
        with pytest.raises(ValueError, match="below zero"):
            compiled(x)
        x[0] = 2.0
        assert compiled(x) == 3.0
        x[0] = 0.5
        compiled(x)
    assert peak() - before < 100 * MEGABYTE  # 720 MB without


def test_a_lack_of_memory_raises():
    def made(n, i):
        x = np.full(n, 2.0)
        x[0] = 1.0
        return x[i]

    assert kernel(made)(3, 1) == 2.0
    with pytest.raises(MemoryError, match="no memory for an array"):
        kernel(made)(2**57, 5)
