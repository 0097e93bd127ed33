"""Memory that gradients free is used again, where the C library is glibc; and none is copied."""

import numpy as np
import pytest
from helpers.children import run

import nbgrad
from nbgrad.runtime import heap

glibc = pytest.mark.skipif(heap._library() is None, reason="another C library")

FAULTS = """
import resource
x = nbgrad.track(np.linspace(-1.0, 1.0, 300_000))

def step():
    left, right = x[:-1], x[1:]
    z = np.sum(100.0 * (right - left * left) ** 2 + (1 - left) ** 2)
    z.backward()
    nbgrad.reset(x)

def faults(times):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults(5)
result = [faults(20), nbgrad.stats()["kept"], nbgrad.trim(), nbgrad.stats()["kept"], faults(1)]
"""


@glibc
def test_steps_fetch_no_pages_until_memory_is_given_back():
    faults, kept, given, left, again = run(FAULTS).result
    assert faults < 20 * 50, "a step needs some 5,000 pages"
    assert kept > 10e6 and given > 10e6 and again > 1000
    assert left <= kept


@glibc
@pytest.mark.parametrize(("variable", "asked"), [("1", 2), ("0", 0)])
def test_the_c_library_can_be_left_as_it_is(monkeypatch, variable, asked):
    class Library:
        calls = 0

        def mallopt(self, parameter, value):
            self.calls += 1

    library = Library()
    monkeypatch.setattr(heap, "_library", lambda: library)
    monkeypatch.setenv("NBGRAD_KEEP_MEMORY", variable)
    heap.keep()
    assert library.calls == asked


@pytest.mark.parametrize("f", [np.exp, np.cumsum, nbgrad.softmax, nbgrad.logsoftmax])
def test_results_and_gradients_are_the_arrays_that_kernels_filled(f):
    """A view would be copied where a leaf's data, or its gradient, must not be shared."""
    out = f(nbgrad.track(np.ones((3, 4))[0])).node
    assert out.value.base is None
    (slope,) = out.plan.pull_all(np.ones(4), out.value, out.saved)
    assert slope.base is None
