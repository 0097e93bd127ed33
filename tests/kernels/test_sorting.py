"""The kernels that sort and select, against NumPy: many short rows, long rows, ties, nan, prefixes
that hide the order, and the programs that call them."""

import numpy as np
import pytest
from helpers.children import run
from helpers.rows import PLAIN_PYTHON

import nbgrad
from nbgrad.kernels.selection import order_of_rows
from nbgrad.kernels.sorting import in_lanes

RNG = np.random.default_rng(0)
SPECIAL = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324, 1.0])
DRAWS = {
    "normal": lambda shape: RNG.normal(size=shape),
    "special": lambda shape: RNG.choice(SPECIAL, shape),
    "ties": lambda shape: RNG.integers(0, 3, shape).astype(float),
    "equal": lambda shape: np.ones(shape),
    "hidden": lambda shape: RNG.choice([-1e300, 1.0], shape) + 1e-13 * RNG.random(shape),
    "ascending": lambda shape: np.sort(RNG.normal(size=shape), axis=-1),
    "descending": lambda shape: -np.sort(RNG.normal(size=shape), axis=-1),
    "float32": lambda shape: RNG.normal(size=shape).astype(np.float32),
    "int64": lambda shape: RNG.integers(-(2**62), 2**62, shape),
}  # fmt: skip
SHAPES = [(1, 1), (2, 5), (16, 1), (17, 3), (16, 64), (20, 100), (16, 257), (1, 300), (2, 3000)]
SHAPES = [(2, 5), (17, 3)] if PLAIN_PYTHON else SHAPES


@pytest.mark.parametrize("kind", DRAWS)
def test_orders_are_those_of_a_stable_sort(kind):
    for shape in SHAPES:
        x = DRAWS[kind](shape)
        found = order_of_rows(x, ())
        np.testing.assert_array_equal(found, np.argsort(x, axis=-1, kind="stable"))


@pytest.mark.parametrize("kind", ["normal", "special", "ties", "hidden", "descending"])
def test_parts_have_what_sorting_puts_there(kind):
    for shape in SHAPES:
        x, n = DRAWS[kind](shape), shape[-1]
        for places in [(0,), (n - 1,), (n // 2, n // 10), (n // 3, min(n // 3 + 1, n - 1))]:
            order = order_of_rows(x, places)
            np.testing.assert_array_equal(np.sort(order), np.broadcast_to(np.arange(n), shape))
            parted = np.take_along_axis(x, order, -1)
            keys = np.where(np.isnan(parted), np.inf, parted)
            for k in places:
                np.testing.assert_array_equal(parted[:, k], np.sort(x, -1)[:, k])
                assert np.all(keys[:, :k] <= keys[:, k : k + 1])
                assert np.all(keys[:, k:] >= keys[:, k : k + 1])


def test_rows_are_sorted_together_where_they_are_many_and_short():
    assert in_lanes(16, 2048)
    assert not in_lanes(15, 10)
    assert not in_lanes(400, 2049)


@pytest.mark.skipif(PLAIN_PYTHON, reason="large arrays")
def test_large_arrays_keep_their_gradients():
    """Eager sorts of many numbers go through the kernels, and so do compiled ones."""
    x = RNG.choice(np.linspace(-2, 2, 101), (150, 120))
    weights = RNG.normal(size=x.shape)
    for axis in (0, 1):
        order = np.argsort(x, axis=axis, kind="stable")
        wanted = np.zeros(x.shape)
        np.put_along_axis(wanted, order, weights, axis)

        def total(x, axis=axis):
            return np.sum(np.sort(x, axis=axis, kind="stable") * weights)

        np.testing.assert_array_equal(nbgrad.grad(total)(x), wanted)
        np.testing.assert_array_equal(nbgrad.compile(nbgrad.grad(total))(x), wanted)
    row = RNG.normal(size=20_000)
    middle = nbgrad.grad(np.median)(row)
    assert sorted(np.flatnonzero(middle)) == sorted(np.argsort(row)[[9_999, 10_000]])
    np.testing.assert_array_equal(nbgrad.compile(nbgrad.grad(np.median))(row), middle)


def test_places_are_read_in_a_new_process(tmp_path):
    """Numba's code that reads a tuple needs what only its own compiler loads."""
    code = """
x = nbgrad.track(np.array([3.0, 1.0, 2.0, 5.0]))
np.partition(x, (1, 2)).sum().backward()
result = x.grad.tolist()
"""
    assert run(code, NBGRAD_CACHE_DIR=str(tmp_path)).result == [1.0] * 4
