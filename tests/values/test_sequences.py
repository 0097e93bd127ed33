"""Arrays as sequences, of Python and of functions in C."""

import bisect
import operator

import numpy as np
import pytest
from helpers.values.array_kinds import KINDS

import nbgrad
from nbgrad import track
from nbgrad.core import slots
from nbgrad.core.array import Array

X = np.array([0.7, -1.3, 2.1])


def _every_kind(kind=Array):
    return [kind, *(each for sub in kind.__subclasses__() for each in _every_kind(sub))]


@pytest.mark.skipif(not slots.is_known(), reason="type objects lie in memory otherwise")
def test_arrays_are_no_sequences_for_c():
    class Mine(nbgrad.TrackedArray):
        __slots__ = ()

        def __getitem__(self, index):
            return super().__getitem__(index)

    try:
        assert Mine in _every_kind()
        for kind in _every_kind():
            assert not slots._is_sequence(object.__new__(kind)), kind
    finally:
        del Mine


def test_an_unknown_layout_is_left_alone(monkeypatch):
    class Sequence:
        def __getitem__(self, index):
            return index

    monkeypatch.setattr(slots, "is_known", lambda: False)
    slots.clear_sequence_item(Sequence)
    assert slots._is_sequence(Sequence())
    monkeypatch.undo()
    for name, wrong in (("_SEQUENCE", slots._MAPPING), ("_SQ_ITEM", 5), ("_SEQUENCE", 10**6)):
        with monkeypatch.context() as patched:
            patched.setattr(slots, name, wrong)
            slots.is_known.cache_clear()
            assert not slots.is_known()
    slots.is_known.cache_clear()
    slots.clear_sequence_item(Sequence)
    assert not slots._is_sequence(Sequence()) or not slots.is_known()
    assert Sequence()[4] == 4


@pytest.mark.parametrize("run", KINDS.values(), ids=KINDS)
def test_what_python_does_with_sequences(run):
    def f(x):
        first, second, third = x
        rows = np.stack([x, x * 2.0])
        results = [
            np.stack(list(x)), np.stack([first, second, third]), np.stack([*x]),
            np.stack(list(reversed(list(reversed(x))))), np.stack([x[i] for i in range(len(x))]),
            np.stack([x[-3], operator.getitem(x, 1), x[2]]), np.stack([a for a, in zip(x)]),
            np.stack([row[0] for row in zip(*rows, strict=True)]),
            np.stack(list(map(np.positive, x))),
            np.stack(sorted([third, third, third], key=lambda z: 0)) * 0.0 + x,
        ]  # fmt: skip
        assert next(iter(x)).shape == ()
        return sum(np.sum(np.abs(result - x)) for result in results) + np.sum(x)

    run(f)
    assert float(f(X)) == np.sum(X)


def test_membership_and_bisection():
    x = track(X)
    assert 2.1 in x
    assert 5.0 not in x
    assert np.iterable(x)
    np.testing.assert_array_equal([z.item() for z in reversed(x)], X[::-1])
    assert bisect.bisect([0.0, 1.0, 2.0], x[0]) == 1
    with pytest.raises(TypeError, match="len"):
        list(reversed(x[0]))
