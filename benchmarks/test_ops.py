"""What one op costs on 10 elements, in multiples of `np.multiply` of 10 elements."""

import numpy as np
import pytest

import nbgrad
from nbgrad.bench.timing import multiply_ten

# Targets in multiples of np.multiply.
FORWARD, ONE_INPUT, TWO_INPUTS = 6.6, 6.1, 9.8
LENGTH = 100

_x, _y = np.linspace(0.1, 1.0, 10), np.linspace(1.0, 0.9, 10)
_table, _row = np.linspace(-1, 1, 10).reshape(5, 2), np.array([0.5, 2.0])

forwards = {
    "x * y": (lambda x, y: x * y, _x, _y),
    "x * 2.0": (lambda x: x * 2.0, _x),
    "tanh": (np.tanh, _x),
    "(5, 2) * (2,)": (lambda x, y: x * y, _table, _row),
    "np.multiply(x, y)": (np.multiply, _x, _y),
    "x + array": (lambda x: x + _y, _x),
}

by_numpy = {
    "np.multiply(x, y)": lambda: np.multiply(_x, _y),
    "np.multiply(x, 2.0)": lambda: np.multiply(_x, 2.0),
    "np.tanh(x)": lambda: np.tanh(_x),
    "np.multiply (5, 2), (2,)": lambda: np.multiply(_table, _row),
}

steps = {
    "tanh": (np.tanh, ONE_INPUT),
    "z * 2.0": (lambda z: z * 2.0, ONE_INPUT),
    "z * y": (None, TWO_INPUTS),
}


@pytest.mark.parametrize("op", forwards)
@pytest.mark.benchmark(group="forward, 10 elements")
def test_forward(benchmark, note_ratio, op):
    function, *args = forwards[op]
    tracked = [nbgrad.track(arg) for arg in args]
    out = benchmark(function, *tracked)
    np.testing.assert_allclose(out.data, function(*args), rtol=1e-14)
    note_ratio(lambda: function(*tracked), multiply_ten(), FORWARD)


@pytest.mark.parametrize("op", by_numpy)
@pytest.mark.benchmark(group="forward, 10 elements")
def test_numpy(benchmark, op):
    benchmark(by_numpy[op])


def chain(op: str):
    """A chain of 100 ops on a leaf of 10 elements, and the leaves."""
    x, y = nbgrad.track(_x), nbgrad.track(_y)
    function = steps[op][0] or (lambda z: z * y)
    z = x
    for _ in range(LENGTH):
        z = function(z)
    return z, x, y


@pytest.mark.parametrize("op", steps)
@pytest.mark.benchmark(group="backward, a chain of 100 ops on 10 elements")
def test_backward(benchmark, note_ratio, op):
    """The walk frees the graph, as training does, so each round gets a chain of its own."""
    ct = np.ones(10)

    def backward(z, *leaves):
        z.backward(ct)
        return leaves

    x, y = benchmark.pedantic(backward, setup=lambda: (chain(op), {}), rounds=200)
    expected = {
        "tanh": None,
        "z * 2.0": np.full(10, 2.0**LENGTH),
        "z * y": _y**LENGTH,
    }[op]
    if expected is not None:
        np.testing.assert_allclose(x.grad, expected, rtol=1e-12)
    if op == "z * y":
        np.testing.assert_allclose(y.grad, _x * LENGTH * _y ** (LENGTH - 1), rtol=1e-12)
    # The ratio is taken over a graph that is kept, since both sides run in turns.
    kept, *leaves = chain(op)

    def again():
        kept.backward(ct, keep_graph=True)
        for leaf in leaves:
            leaf.grad = None

    note_ratio(again, multiply_ten(), steps[op][1], share=LENGTH)
