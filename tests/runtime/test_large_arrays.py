"""Memory of large gradients, which is used again."""

import gc

import numpy as np
import pytest

import nbgrad
from nbgrad.runtime import heap

COUNT = (heap.LARGEST >> 3) + 1000


@pytest.fixture(autouse=True)
def _empty():
    heap._large.clear()
    yield
    heap._large.clear()


def place(x):
    return x.__array_interface__["data"][0]


def test_memory_is_used_again_when_nothing_holds_it():
    first = heap.room((COUNT,), np.dtype(float))
    part = first[5:].reshape(-1, 1)
    second = heap.room((COUNT,), np.dtype(float))
    assert not np.shares_memory(first, second)
    here = place(first)
    del first
    assert place(heap.room((COUNT,), np.dtype(float))) not in (here, place(second))  # part holds it
    del part
    gc.collect()
    assert place(heap.room((COUNT // 2, 2), np.dtype(float))) != here or COUNT % 2 == 0
    assert len(heap._large) <= 3


def test_little_is_kept(monkeypatch):
    monkeypatch.setattr(heap, "_most", lambda: heap.KEPT)
    held = [heap.room((COUNT,), np.dtype(float)) for _ in range(6)]
    assert sum(x.nbytes for x in heap._large) <= heap.KEPT
    assert len({place(x) for x in held}) == 6
    assert heap.room((10,), np.dtype(float)).base is None
    assert heap.room((heap.KEPT // 8 + 1,), np.dtype(float)).base is None
    nbgrad.trim()
    assert not heap._large


def test_a_gradient_that_is_held_does_not_change():
    @nbgrad.njit
    def loss(x):
        total = 0.0
        for i in range(x.size):
            total += x[i] * x[i]
        return total

    slope = nbgrad.grad(loss)
    x = np.ones(COUNT)
    first = slope(x)
    second = slope(2.0 * x)
    assert first[0] == first[-1] == 2.0 and second[0] == second[-1] == 4.0
    here = place(second)
    del second
    gc.collect()
    places = set()
    for factor in (3.0, 4.0, 5.0):
        third = slope(factor * x)
        places.add(place(third))
        assert np.all(third == 2.0 * factor) and first[-1] == 2.0
    assert here in places and len(places) <= 2
