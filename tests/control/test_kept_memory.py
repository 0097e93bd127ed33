"""The memory of long loops with `checkpoint=`: two square roots, whatever the step closes over."""

import gc
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from helpers.daily import pairs

import nbgrad

STEPS, SIZE = 225, 4000
STEPS_OF: dict[str, Callable] = {
    "a product": lambda s, w: np.tanh(s * w + 1.0),
    "a sum of terms": lambda s, w: np.sin(s * w) + 0.5 * s,
    "a state that is read twice": lambda s, w: s * w - np.sin(s) * w,
    "a value that is computed from it": lambda s, w: np.tanh(s * w) + w,
}


def peak(f: Callable, *args) -> float:
    """The most memory that a second call holds, in states."""
    f(*args)
    gc.collect()
    tracemalloc.start()
    f(*args)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / (8 * SIZE)


@pytest.mark.full
@pytest.mark.parametrize(("name", "computed"), pairs([*STEPS_OF], [False, True], 4))
def test_two_square_roots_are_kept(name: str, computed: bool):
    step = STEPS_OF[name]

    def slope(checkpoint):
        def loss(w):
            held = w * 1.5 if computed else w
            end = nbgrad.loop(
                STEPS, lambda i, s: step(s, held), np.ones(SIZE), checkpoint=checkpoint
            )
            return np.sum(end)

        return nbgrad.grad(loss)

    w = np.full(SIZE, 0.3)
    np.testing.assert_array_equal(slope("sqrt")(w), slope(None)(w))
    # A root of states, and of arrays of each step of one span up to eight.
    assert peak(slope("sqrt"), w) < 15 + 8 * 15 + 20 < peak(slope(None), w) / 2
