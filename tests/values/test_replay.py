"""Graphs that come again are walked by a function of their own: with the same bits, and only where
everything that a walk depends on is the same."""

import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import GraphError, track
from nbgrad.capi import replaceable
from nbgrad.core import modes
from nbgrad.values import backward, replay

X, W = np.linspace(-1.0, 2.0, 12).reshape(4, 3), np.linspace(0.5, 1.5, 9).reshape(3, 3)
PLACES = np.array([2, 0, 2, 1])


def rosenbrock(x, w):
    left, right = x[:-1], x[1:]
    return np.sum(100.0 * (right - left * left) ** 2 + (1 - left) ** 2) + np.sum(w)


PROGRAMS = {
    "slices": rosenbrock,
    "layers": lambda x, w: nbgrad.logit_cross_entropy(np.tanh(x @ w) @ w, np.eye(4, 3)),
    "rows": lambda x, w: np.sum(x[PLACES] @ w) + np.sum(x[:, 1] ** 3),
    "many uses": lambda x, w: np.sum(x * x + x * x[0] + np.sin(x) * np.max(x) + x) * np.sum(w),
    "one side is not asked": lambda x, w: np.sum(np.where(x > 0.3, x, 0.0) - np.floor(x)) + w[0, 0],
    "numbers": lambda x, w: x[0, 0] * w[1, 1] + np.sin(x[0, 0]) / w[1, 1],
    "one array": lambda x, w: np.sum(w @ w),
    "orders of memory": lambda x, w: np.sum(x.T * np.ones((3, 4))) + np.sum(x.T * x.T) + w[0, 0],
}


@pytest.fixture
def soon(monkeypatch):
    """Functions are written after two walks, launchers at once; gives the walks that are known."""
    monkeypatch.setattr(replay, "AFTER", 2)
    monkeypatch.setattr(replaceable, "AFTER", 1)
    monkeypatch.setattr(replay, "known", known := {})
    monkeypatch.setattr(replay, "_walks", {})
    return known


@pytest.fixture
def walks(monkeypatch):
    """The general walks that are made."""
    made = []
    sweep = backward.sweep
    monkeypatch.setattr(backward, "sweep", lambda *a, **k: made.append(1) or sweep(*a, **k))
    return made


def gradients(f, *points):
    leaves = [track(x) for x in points]
    f(*leaves).backward()
    return [leaf.grad for leaf in leaves]


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_a_walk_made_again_gives_the_same_bits(f, soon, walks):
    by_grad = nbgrad.grad(f, (0, 1))
    first = gradients(f, X, W)
    for _ in range(2):
        gradients(f, X, W)
        by_grad(X, W)
    again, plain = gradients(f, X, W), by_grad(X, W)
    assert soon and len(walks) < 5
    for known, later, function in zip(first, again, plain, strict=True):
        if known is not None:
            np.testing.assert_array_equal(known, later, strict=True)
            np.testing.assert_array_equal(known, function)


def test_other_graphs_of_the_same_ops_are_walked_as_they_are(soon):
    """Edges, leaves and the order of the ops differ where the plans are those that are known."""
    a, b, c = X[0], X[1] + 0.5, X[2]
    programs = [
        lambda x, y, z: np.sum((x * y) * (y * z)),
        lambda x, y, z: np.sum((x * y) * (x * z)),
        lambda x, y, z: np.sum((x * y) * (z * y)),
        lambda x, y, z: np.sum(*[(lambda v: (x * y) * v)(y * z)]),
        lambda x, y, z: np.sum((y * x) * ((x * y) * z)),
    ]
    expected = [
        (b * b * c, 2 * a * b * c, a * b * b),
        (2 * a * b * c, a * a * c, a * a * b),
        (b * b * c, 2 * a * b * c, a * b * b),
        (b * b * c, 2 * a * b * c, a * b * b),
        (2 * a * b * b * c, 2 * a * a * b * c, a * a * b * b),
    ]
    for _ in range(12):
        for f, slopes in zip(programs, expected, strict=True):
            for found, slope in zip(gradients(f, a, b, c), slopes, strict=True):
                np.testing.assert_allclose(found, slope, rtol=1e-14)
    assert 1 <= len(next(iter(soon.values()))) <= 4


def test_a_leaf_that_changed_and_a_graph_that_was_freed_raise(soon, walks):
    for _ in range(4):
        gradients(lambda x: np.sum(x * x), X)
    assert len(walks) < 4
    x = track(X)
    z = np.sum(x * x)
    z.backward()
    with pytest.raises(GraphError, match="freed"):
        z.backward()
    z = np.sum(x * x)
    x.data = X + 1.0
    with pytest.raises(GraphError, match="changed"):
        z.backward()
    x = track(X)
    z = np.sum(x + x)
    x.data = X + 1.0  # which a sum does not read
    z.backward()
    np.testing.assert_array_equal(x.grad, np.full(X.shape, 2.0))


def test_what_is_asked_besides_is_walked_in_general(soon):
    x = track(X)
    for _ in range(4):
        np.sum(np.tanh(x) ** 2).backward()
    assert soon
    x.grad = None
    h: Any = np.tanh(x)
    np.sum(h**2).backward(retain=h, keep_graph=True)
    np.testing.assert_allclose(h.grad, 2 * np.tanh(X))
    z = np.sum(np.tanh(x) ** 2)
    x.grad = None
    z.backward(create_graph=True)
    assert isinstance(x.grad, nbgrad.TrackedArray)
    with nbgrad.detect_nan(), np.errstate(invalid="ignore"), pytest.raises(nbgrad.NanError):
        np.sum(np.tanh(track(X * np.nan)) ** 2).backward()
    assert not modes.active


def test_a_derivative_stops_at_what_was_there_before(soon):
    outer = track(X)
    for _ in range(6):
        above = np.tanh(outer)
        slope = nbgrad.grad(lambda x, above=above: np.sum(x * above))(X)
        np.testing.assert_allclose(slope.data, np.tanh(X))


def test_tables_stay_small(soon, monkeypatch):
    monkeypatch.setattr(replay, "_PLANS", 5)
    for n in range(1, 40):
        for _ in range(3):
            gradients(lambda x: np.sum(x * x), np.ones(n))
    assert len(soon) <= 6 and len(replay._walks) <= 6


def test_functions_of_users_are_not_kept(soon):
    def scaled(x, big):
        @nbgrad.custom_rule(pullback=lambda ct, out, x: ct * big)
        def f(x):
            return x * big

        return np.sum(f(x))

    for _ in range(5):
        (slope,) = gradients(lambda x: scaled(x, X), X)
        np.testing.assert_array_equal(slope, X)
    assert not soon


def test_memory_is_given_back_on_the_way(soon):
    """As in the general walk: a chain holds few arrays besides those that are still to be read."""

    def peak():
        x = track(np.ones(50_000))
        y = x
        for _ in range(20):
            y = np.tanh(y)
        z = np.sum(y)
        del y
        tracemalloc.start()
        tracemalloc.reset_peak()
        held = tracemalloc.get_traced_memory()[0]
        z.backward()
        most = tracemalloc.get_traced_memory()[1] - held
        tracemalloc.stop()
        return most

    general, _, _, again = peak(), peak(), peak(), peak()
    assert soon and again <= general + 50_000


def test_it_takes_a_frame_for_each_pullback(soon, walks):
    """Of Python: those of the pullbacks, and seven around them."""

    def frames():
        x = track(X.ravel())
        y = x
        for _ in range(10):
            y = np.tanh(y) * y
        z = np.sum(y)
        seen = []
        sys.setprofile(lambda frame, event, arg: event == "call" and seen.append(frame.f_code))
        try:
            z.backward()
        finally:
            sys.setprofile(None)
        return sum(1 for code in seen if not code.co_filename.startswith("<nbgrad_kernel"))

    for _ in range(4):
        frames()
    known = len(walks)
    assert frames() <= 21 + 10 + 7  # x * tanh(x) adds to what tanh gave
    assert len(walks) == known
