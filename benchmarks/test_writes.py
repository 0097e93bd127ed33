"""The cost of a write: eager, as the array grows; compiled, relative to one pass over it."""

import numpy as np
import pytest

import nbgrad

ROWS = np.random.default_rng(0).normal(size=(400, 400))
STEPS = 200


@pytest.mark.parametrize("n", [1_000, 1_000_000])
def test_a_write_of_one_element(benchmark, note_ratio, n):
    """Per write: the array is written to in place, so its length does not matter."""
    x = nbgrad.track(np.ones(n))
    y, z = x * 2.0, x * 2.0

    def writes(array):
        for i in range(1, STEPS):
            array[i] = array[i - 1] * 0.5

    few = nbgrad.track(np.ones(1_000)) * 2.0
    benchmark(writes, y)
    note_ratio(lambda: writes(z), lambda: writes(few), 1.3)


def rows(x):
    """Each row from the one before, written in place."""

    def body(i, s):
        s[i] = np.tanh(x[i]) * 0.5 + s[i - 1] * 0.9
        return s

    return np.sum(nbgrad.loop(len(x), body, np.zeros_like(x)) ** 2)


def columns(x):
    """The same for columns, by a view."""

    def body(i, s):
        s.T[i] = np.tanh(x[:, i]) * 0.5 + s[:, i - 1] * 0.9
        return s

    return np.sum(nbgrad.loop(x.shape[1], body, np.zeros_like(x)) ** 2)


def whole(x):
    """One pass over the array with the same work."""
    return np.sum((np.tanh(x) * 0.5 + x * 0.9) ** 2)


@pytest.mark.parametrize("way", ["value", "value_and_grad"])
@pytest.mark.parametrize("f", [rows, columns])
def test_a_compiled_loop_that_writes(benchmark, note_ratio, f, way):
    """Beside one pass over the whole array; a loop that copied its state would take 400."""
    of = nbgrad.value_and_grad if way == "value_and_grad" else lambda f: f
    loop, once = nbgrad.compile(of(f)), nbgrad.compile(of(whole))
    loop(ROWS), once(ROWS)
    benchmark(loop, ROWS)
    note_ratio(lambda: loop(ROWS), lambda: once(ROWS), 12)
