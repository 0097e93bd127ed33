"""The workloads eager, beside NumPy written by hand, and that both agree."""

import numpy as np
import pytest
from workloads import (
    hand_runner,
    nbgrad_anew_library,
    nbgrad_function_library,
    nbgrad_library,
    runner,
    workloads,
)

# Multiples of the hand-written version to stay below; the others are measured all the same.
TARGETS = {"W1": 2.0, "W5": 1.2}

libraries = {
    "kept leaves": nbgrad_library,
    "tracked anew": nbgrad_anew_library,
    "value_and_grad": nbgrad_function_library,
}


def same(found, expected):
    """Values and gradients agree to 1e-10, and have the shapes that they should have."""
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-10)
    assert len(found[1]) == len(expected[1])
    for gradient, by_hand in zip(found[1], expected[1], strict=True):
        assert np.shape(gradient) == np.shape(by_hand)
        np.testing.assert_allclose(gradient, by_hand, rtol=1e-10, atol=1e-10)


def by_name(test):
    """A group for each workload, so that what does the same work stands together."""
    cases = [pytest.param(n, marks=pytest.mark.benchmark(group=n)) for n in workloads]
    return pytest.mark.parametrize("name", cases)(test)


@by_name
@pytest.mark.parametrize("library", libraries)
def test_eager(benchmark, note_ratio, library, name):
    workload = workloads[name]
    run, by_hand = runner(workload, libraries[library]()), hand_runner(workload)
    same(benchmark(run), by_hand())
    note_ratio(run, by_hand, TARGETS.get(name))


@by_name
def test_by_hand(benchmark, name):
    benchmark(hand_runner(workloads[name]))
