"""States of eager loops are flattened quickly, as `trees.flatten_values` does it."""

from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import track
from nbgrad.control import carried, flattening
from nbgrad.control.flattening import quick_flatten
from nbgrad.transforms import trees

X = np.linspace(0.1, 1.0, 4)
Pair = namedtuple("Pair", "a b")
KNOWN = {
    "an array": (X, track(X)),
    "a number": (1.0, np.float64(2.0)),
    "a counter": ([0, X], [1, X]),
    "nested": ((X, [1.0, {"b": X, "a": X[0]}]), (track(X), [2.0, {"a": np.float64(3.0), "b": X}])),
    "keys of two kinds": ({"x": X, 1: 2.0}, {1: 3.0, "x": X}),
    "empty": ((), ()),
}
OTHER = {
    "another shape": ((X, 1.0), (X[1:], 1.0)),
    "another dtype": ((X, 1.0), (X.astype(np.float32), 1.0)),
    "an integer for a float": ((X, 1.0), (X, 1)),
    "an axis for a number": ((X, 1.0), (X, np.ones(1))),
    "a list for a tuple": ((X, 1.0), [X, 1.0]),
    "one more": ((X, 1.0), (X, 1.0, 1.0)),
    "another key": ({"a": X}, {"b": X}),
    "a string": ({"a": X, "b": "mean"}, {"a": X, "b": "mean"}),
    "nothing": ((X, None), (X, None)),
    "a named tuple": (Pair(X, 1.0), Pair(X, 1.0)),
    "an ordered dict": ({"a": X}, OrderedDict(a=X)),
    "an array of numbers for a tuple": ((1.0, 2.0), np.ones(2)),
}


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("exact", [True, False])
def test_leaves_are_those_of_flatten_values(name, exact):
    first, other = KNOWN[name]
    flatten = quick_flatten(first, exact)
    for tree in (first, other):
        found, expected = flatten(tree), trees.flatten_values(tree)[0]
        assert found is not None and len(found) == len(expected)
        assert all(x is y for x, y in zip(found, expected, strict=True))


@pytest.mark.parametrize("name", OTHER)
def test_other_trees_are_left_to_the_general_way(name):
    first, other = OTHER[name]
    assert quick_flatten(first, exact=True)(other) is None


def test_without_exact_shapes_may_differ():
    flatten = quick_flatten((X, 1.0), exact=False)
    assert flatten((X[1:], np.ones(3))) is not None and flatten((X, "mean")) is None


def test_steps_of_one_structure_are_not_compared_in_general(monkeypatch):
    counts: dict[str, int] = {}

    def counted(name: str) -> Any:
        function = getattr(trees, name)

        def call(*args, **options):
            counts[name] = counts.get(name, 0) + 1
            return function(*args, **options)

        return call

    for name in ("structure", "flatten_values"):
        monkeypatch.setattr(trees, name, counted(name))
    assert carried.trees is trees and flattening.trees is trees

    def body(state, x):
        a, b = state
        return (np.tanh(a * x), b + 1.0), {"a": a, "b": b}

    (a, b), ys = nbgrad.scan(body, (track(X), 0.0), np.ones((50, 4)))
    assert b == 50.0 and ys["a"].shape == (50, 4) and a.shape == (4,)
    assert counts["flatten_values"] < 10 and counts.get("structure", 0) == 0


def test_ys_may_change_their_structure():
    def body(state, i):
        return state, (state, 2.0) if i < 2.0 else [state, 2.0]

    _, ys = nbgrad.scan(body, 1.0, np.arange(4.0))
    assert type(ys) is list and ys[0].tolist() == [1.0] * 4
