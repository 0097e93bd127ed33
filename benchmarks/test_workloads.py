"""The workloads eager and compiled, beside NumPy and Numba by hand, and that all agree."""

from functools import partial

import numpy as np
import pytest

from nbgrad.bench.hand_numba import fast, hand_numba
from nbgrad.bench.libraries import (
    naive_library,
    nbgrad_anew_library,
    nbgrad_compiled_library,
    nbgrad_function_library,
    nbgrad_library,
)
from nbgrad.bench.workloads import hand_runner, numba_runner, runner, takes, workloads

# Multiples of the version by hand in NumPy to stay below; the others are measured all the same.
TARGETS = {"W1": 2.0, "W5": 1.2}

libraries = {
    "kept leaves": nbgrad_library,
    "tracked anew": nbgrad_anew_library,
    "value_and_grad": nbgrad_function_library,
    "compiled": nbgrad_compiled_library,
    "naive": naive_library,
}
by_numba = {"math": hand_numba(), "nbgrad's exp": hand_numba(fast())}


def same(found, expected, tolerance=1e-10):
    """Values and gradients agree, and have the shapes that they should have."""
    np.testing.assert_allclose(found[0], expected[0], rtol=tolerance)
    assert len(found[1]) == len(expected[1])
    scale = max(float(np.max(np.abs(by_hand))) for by_hand in expected[1])
    for gradient, by_hand in zip(found[1], expected[1], strict=True):
        assert np.shape(gradient) == np.shape(by_hand)
        np.testing.assert_allclose(gradient, by_hand, rtol=tolerance, atol=tolerance * scale)


def by_name(test, names=tuple(workloads)):
    """A group for each workload, so that what does the same work stands together."""
    cases = [pytest.param(n, marks=pytest.mark.benchmark(group=n)) for n in names]
    return pytest.mark.parametrize("name", cases)(test)


by_name_in_numba = partial(by_name, names=tuple(by_numba["math"]))
"""For those that are written by hand in Numba."""


@by_name
@pytest.mark.parametrize("library", libraries)
def test_library(benchmark, note_ratio, library, name):
    workload, made = workloads[name], libraries[library]()
    if not takes(made, workload):
        pytest.skip("not a workload for it")
    run, by_hand = runner(workload, made), hand_runner(workload)
    same(benchmark(run), by_hand(), workload.tolerance)
    note_ratio(run, by_hand, TARGETS.get(name))


@by_name
def test_by_hand(benchmark, name):
    benchmark(hand_runner(workloads[name]))


@by_name_in_numba
@pytest.mark.parametrize("functions", by_numba)
def test_by_hand_in_numba(benchmark, functions, name):
    workload = workloads[name]
    value, *gradients = benchmark(numba_runner(workload, by_numba[functions]))
    same((value, gradients), hand_runner(workload)(), workload.tolerance)
