"""Derivatives at kinks are the same in all modes, tiers and orders.

The table of docs/guide/kinks.md, and what is made of the modes.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.children import environment

import nbgrad
from nbgrad.rules.families import scaled

ROOT = Path(__file__).parents[1]
POINT = np.array([0.0, 4.0, -1.0])


@pytest.fixture(scope="module", params=["0", pytest.param("1", marks=pytest.mark.full)])
def table(request):
    """The page as half of the ways make it in plain Python, where each is cheap, and what
    disagrees."""
    script = [sys.executable, str(ROOT / "tests" / "helpers" / "kinks.py"), request.param]
    run = subprocess.run(
        script, env=environment({"NUMBA_DISABLE_JIT": 1}), capture_output=True, text=True,
        timeout=900,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout, run.stderr.strip()


def test_all_ways_to_a_derivative_agree(table):
    assert not table[1], table[1]


def test_the_page_shows_what_they_give(table):
    page = (ROOT / "docs" / "guide" / "kinks.md").read_text(encoding="utf-8")
    assert page == table[0], (
        "run NUMBA_DISABLE_JIT=1 python tests/helpers/kinks.py > docs/guide/kinks.md"
    )


def guarded(x):
    return np.sum(np.where(x > 0, np.sqrt(x), 0.0) + x * x)


def test_machine_code_keeps_zeros_strong():
    def derivatives(x):
        curved = nbgrad.jacobian(nbgrad.hessian(lambda x: np.sqrt(x[0] * x[0]) + guarded(x)))(x)
        return nbgrad.grad(lambda x: np.sqrt(x[0] * x[0]) + guarded(x))(x), curved

    for run in (derivatives, nbgrad.compile(derivatives)):
        first, third = run(POINT)
        np.testing.assert_allclose(first, [0.0, 8.25, -2.0], rtol=1e-14)
        np.testing.assert_allclose(
            third, np.reshape([0.0] * 13 + [3 / 256] + [0.0] * 13, (3, 3, 3))
        )


def test_solvers_and_estimates_of_guarded_functions():
    parts = nbgrad.scipy.objective(guarded, POINT)
    np.testing.assert_allclose(parts.hess(POINT), np.diag([2.0, 2.0 - 1 / 32, 2.0]))
    found = nbgrad.scipy.minimize(guarded, np.array([-1.0, -2.0]), method="trust-exact")
    np.testing.assert_allclose(found.x, 0.0, atol=1e-6)
    trace = nbgrad.trace_estimate(nbgrad.grad(guarded), POINT, rng=0)[0]
    np.testing.assert_allclose(trace, 6.0 - 1 / 32)


@pytest.mark.parametrize("partial", [np.inf, -np.inf, np.nan, 0.0, 2.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_factor_of_zero_gives_zero(partial, dtype):
    """With arrays of one and of many elements on either side, tracked and plain."""
    for shape in ((1,), (3,)):
        zeros, others = np.zeros(shape, dtype), np.full(3, partial, dtype)
        for a, b in ((zeros, others), (others, zeros)):
            for found in (scaled(a, b), scaled(nbgrad.track(a), b).data):
                assert found.dtype == dtype  # pyright: ignore[reportAttributeAccessIssue]
                np.testing.assert_array_equal(found, np.zeros(3))


def ordered(x):
    """A function of all that gives an order to elements."""
    weights = np.arange(1.0, x.shape[-1] + 1)
    middle = np.median(x) + np.quantile(x, 0.3) + np.partition(x, 5)[5] + np.nanmedian(x)
    return np.sum(np.sort(x) * weights) + np.sum(-np.sort(-x) * weights) + 7 * middle


@pytest.mark.parametrize("n", [7, 40, 300])
def test_equal_elements_keep_their_order_in_both_tiers(n, rng):
    x = rng.integers(0, 4, (3, n)).astype(float)
    slope = nbgrad.grad(ordered)
    found = np.stack([slope(row) for row in x])
    np.testing.assert_array_equal(nbgrad.vmap(slope)(x), found)
    np.testing.assert_array_equal(nbgrad.compile(nbgrad.vmap(slope))(x), found)
    places = np.argsort(x[0], kind="stable")
    expected = np.zeros(n)
    expected[places] = np.arange(n)
    stable = nbgrad.grad(lambda x: np.sum(np.sort(x) * np.arange(n)))
    np.testing.assert_array_equal(stable(x[0]), expected)


@pytest.mark.parametrize("n", [200, 1 << 14])
def test_the_first_of_equal_elements_has_the_first_place(n):
    """By NumPy's functions, and of long rows by kernels."""
    x = np.ones((2, n))
    x[0, 5:] = np.nan
    for f in (
        lambda x: np.sort(x, axis=1)[:, 1], lambda x: np.partition(x, (0, 1), axis=1)[:, 1],
        lambda x: np.partition(x, 1, axis=1)[:, 1],
    ):  # fmt: skip
        found = nbgrad.grad(lambda x, f=f: np.sum(f(x)))(x)
        assert np.array_equal(np.nonzero(found), [[0, 1], [1, 1]])


def test_the_last_point_of_an_interpolation_counts_once():
    points = np.array([0.0, 1.0, 3.0])
    for at in (0.0, 1.0, 3.0, np.array([3.0, 3.0, 0.5])):
        f = lambda values, at=at: np.sum(np.interp(at, points, values))  # noqa: E731
        for slope in (nbgrad.grad(f), nbgrad.compile(nbgrad.grad(f))):
            assert np.sum(slope(np.array([2.0, 5.0, 7.0]))) == pytest.approx(np.size(at), rel=1e-15)
