"""Sums have the same bits wherever their arrays lie: close together, far apart, in any order."""

from itertools import permutations

import numpy as np
import pytest

from nbgrad.eager.emission import pullback_loops, pullback_of
from nbgrad.kernels.logsoftmax import softmax
from nbgrad.kernels.shapes import Pattern
from nbgrad.rules.arithmetic import multiply
from nbgrad.rules.elementary import tanh


def count(kernel, reads, shapes, *sizes):
    """How many different bits a kernel writes, for arrays at several distances, in all orders."""
    arrays = [*reads, *map(np.zeros, shapes)]
    arena, found = np.zeros(10**5), set()
    for gap in (0, 1, 3, 9, 20, 10_000):
        for order in permutations(range(len(arrays))):
            placed, at = {}, 1
            for i in order:
                size = np.size(arrays[i])
                placed[i] = arena[at : at + size]
                placed[i][...] = arrays[i]
                at += size + gap
            given = [placed[i] if isinstance(x, np.ndarray) else x for i, x in enumerate(arrays)]
            kernel(*given, *sizes)
            found.add(b"".join(x.tobytes() for x in given[len(reads) :]))
    return len(found)


@pytest.mark.parametrize("n", [5, 11, 16, 29, 100])
def test_a_pullback_that_sums(n, rng):
    kernel = pullback_loops(
        multiply, pullback_of(multiply, {}, (True, True), False), ("full", "number"), (0, 1)
    ).kernel()
    for _ in range(5):
        ct, x = rng.normal(size=(2, n))
        assert count(kernel, [ct, x, 1.5], [n, 1]) == 1


@pytest.mark.parametrize("columns", [3, 11])
def test_a_pullback_that_sums_rows_or_columns(columns, rng):
    traced = pullback_of(multiply, {}, (True, True), False)
    size = 2 * columns
    cases: list[tuple[Pattern, int]] = [("column", 2), ("row", columns)]
    for pattern, other in cases:
        kernel = pullback_loops(multiply, traced, ("full", pattern), (0, 1)).kernel()
        for _ in range(5):
            ct, x = rng.normal(size=(2, size))
            assert count(kernel, [ct, x, rng.normal(size=other)], [size, other], 2, columns) == 1


def test_softmax_and_what_has_no_sum(rng):
    assert count(softmax, [rng.normal(size=22)], [22], 2, 11) == 1
    kernel = pullback_loops(tanh, pullback_of(tanh, {}, (True,), False), ("full",), (0,)).kernel()
    assert count(kernel, list(rng.normal(size=(2, 22))), [22]) == 1
