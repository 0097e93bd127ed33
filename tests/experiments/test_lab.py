"""The experiments of the lab: two descents, a square root, and a race."""

import numpy as np
import pytest

import nbgrad
from nbgrad import naive
from nbgrad.experiments import babysqrt, descend, lab_benchmark


def test_the_descents_go_down_to_different_valleys():
    first, second = descend.descents_from()
    assert (len(first.x), len(second.x)) == (35, 17)
    assert (first.x[0], first.y[0], second.x[0]) == (1.5, -2.4, 1.8)
    for one in (first, second):
        assert (np.diff(one.height) < 0).all()
    assert first.x[-1] == pytest.approx(-np.pi / 2, abs=0.07)
    assert second.x[-1] > np.pi


def test_all_ways_to_the_slope_of_a_square_root_agree():
    rows = babysqrt.compare(2.0)
    assert [row.derivative for row in rows] == pytest.approx([0.5 / np.sqrt(2)] * 7, rel=1e-9)
    assert all(row.error < 1e-15 for row in rows if "differences" not in row.way)


@pytest.mark.parametrize("x", [1e-3, 1.0, 1e3])
def test_the_loop_is_differentiated_wherever_it_has_converged(x):
    slope = nbgrad.grad(lambda x: babysqrt.babysqrt(x, 20))(x)
    assert slope == pytest.approx(0.5 / np.sqrt(x), rel=1e-12)


@pytest.mark.parametrize("shape", lab_benchmark.SIZES)
def test_the_race_is_between_equal_gradients(shape, rng):
    x, y = rng.random(shape), rng.random(shape[::-1])
    found, *_ = lab_benchmark.by_accum(naive, x, y)
    for way in (lab_benchmark.by_accum(nbgrad, x, y), lab_benchmark.by_backward(x, y)):
        np.testing.assert_allclose(found, way[0], rtol=1e-12)
    np.testing.assert_allclose(found, lab_benchmark.compiled(y, x), rtol=1e-12)


def test_arrays_win_where_there_are_many_numbers():
    """The measured factor is in the hundreds; the bound leaves room for a busy machine."""
    timings = lab_benchmark.measure((20, 30), rounds=3)
    assert timings["naive"].ratio == 1.0
    assert timings["accum"].ratio > 50
