"""What outlives a call keeps the arguments as they were: the caller may write to his arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import nbgrad

X = np.array([0.5, -1.5, 2.0])


@dataclass
class Pair:
    a: Any
    b: Any


WAYS: dict[str, Callable] = {
    "vjp": lambda f, *args, **options: nbgrad.vjp(f, *args, **options),
    "pullback": lambda f, *args, **options: nbgrad.pullback(f, *args, **options),
    "linearize": nbgrad.linearize,
    "transpose": lambda f, *args, **options: _transposed(*nbgrad.linearize(f, *args, **options)),
}
# Each reads an argument, or what it computes from it, in the pullback.
FUNCTIONS: dict[str, Callable] = {
    "square": np.square,
    "exp": np.exp,
    "tanh": np.tanh,
    "where": lambda x: np.where(x > 0, x * x, x),
    "itself": lambda x: x,
}


def _transposed(value, push):
    return value, push.transpose


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("way", [*WAYS, "rrule"])
def test_an_array(way, f):
    if way == "rrule" and not isinstance(f, np.ufunc):
        f = np.arctan
    way_of = WAYS.get(way, nbgrad.rrule)
    expected = str(way_of(f, X)[1](np.ones(3)))
    x = X.copy()
    value, back = way_of(f, x)
    x[:] = 7.0
    assert str(back(np.ones(3))) == expected, "the argument was written to"
    value[:] = 9.0
    assert str(back(np.ones(3))) == expected, "the value was written to"
    given = back(np.ones(3))
    (given[-1] if isinstance(given, tuple) else given)[...] = 5.0
    assert str(back(np.ones(3))) == expected, "a cotangent was written to"


@pytest.mark.parametrize("way", ["pullback", "transpose"])
def test_trees_objects_integers_and_options(way):
    places, weights = np.array([2, 0]), X.copy()
    trees = ({"a": X.copy(), "b": [X.copy()]}, Pair(X.copy(), 2))

    def f(tree, pair, places, weights):
        return np.sum((tree["a"] * tree["b"][0] * pair.a)[places] ** 2 * weights[:2])

    _, back = WAYS[way](f, *trees, places, weights=weights)
    before = str(back(1.0))
    for x in (trees[0]["a"], trees[0]["b"][0], trees[1].a, places, weights):
        x[...] = 0
    assert str(back(1.0)) == before and "." in before


def test_what_a_closure_or_a_model_holds():
    held, x = X.copy(), X.copy()

    class Model:
        def __init__(self):
            self.w = X.copy()

        def __call__(self, x):
            return np.sum(self.w * x * x)

    model = Model()
    for f, array in ((lambda x: np.sum(held * x * x), held), (model, model.w)):
        _, back = nbgrad.pullback(f, x)
        expected = back(1.0)[1]
        array[:] = 0.0
        np.testing.assert_array_equal(back(1.0)[1], expected)


def test_a_gradient_copies_nothing():
    """It does not outlive the call."""
    seen = []
    nbgrad.grad(lambda x: (seen.append(x.data), np.sum(x * x))[1])(X)
    assert np.shares_memory(seen[0], X)
