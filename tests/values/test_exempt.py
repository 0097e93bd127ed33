"""Nodes are exempt from garbage collection, except those that can be in a reference cycle."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import track
from nbgrad.capi.replaceable import replaceables
from nbgrad.core.primitive import Primitive
from nbgrad.runtime.layout import IS_KNOWN
from nbgrad.values import tracked
from nbgrad.values.exempt import visit
from nbgrad.values.graph import Node, reachable

pytestmark = pytest.mark.skipif(not IS_KNOWN, reason="the collector visits all objects")
X = np.linspace(0.1, 1.0, 5)


def history(array: Any) -> list[Node]:
    return [*reachable([array.node], lambda node: node.parents)]


def is_visited(array: Any) -> bool:
    """Whether the collector visits a node and its containers: all of them or none."""
    node = array.node
    containers = [node, *(x for x in (node.parents, node.saved) if x)]
    assert len({gc.is_tracked(x) for x in containers}) == 1
    return gc.is_tracked(node)


@pytest.fixture(params=["definitions", "C functions"])
def made_by(request, monkeypatch):
    """Nodes are made by the definitions in Python, or by their C versions."""
    for name in ("result", "make_leaf"):
        declared = replaceables[f"nbgrad.values.tracked.{name}"]
        function = declared.definition
        if request.param == "C functions":
            function = declared.c_version(function)
        monkeypatch.setattr(tracked, name, function)
    for name in ("bind1", "bind2"):
        declared = replaceables[f"nbgrad.values.tracked.TrackedArray.{name}"]
        function = declared.definition
        if request.param == "C functions":
            function = declared.c_version(function)
        monkeypatch.setattr(tracked.TrackedArray, name, staticmethod(function))
    return request.param


def test_the_graph_of_a_loop_is_exempt(made_by):
    w = track(X)
    matrix, state = tracked.make_leaf(np.eye(5), "", 0), w
    for k in range(3):
        state = np.where(X > 0.3, np.tanh(state * w + 0.1) @ matrix, state[1] * X)
        state[k] = 2.0
    loss = np.sum(state)
    assert {gc.is_tracked(node) for node in history(loss)[:-2]} == {False}
    assert not is_visited(loss) and is_visited(matrix) is False
    loss.backward()
    assert w.grad.shape == (5,)


def test_a_graph_adds_nothing_that_the_collector_visits():
    w = track(X)

    def grown(n):
        state = w
        for _ in range(n):
            state = np.tanh(state * w + 0.1)
        return state

    kept = [grown(300)]  # plans and C functions are made
    gc.collect()
    before = len(gc.get_objects())
    kept.append(grown(1000))
    assert len(gc.get_objects()) - before < 100


class Model:
    """Keeps a result, which was computed from the result of a function of its own."""

    out: Any

    def layer(self, x):
        return np.sin(x) * 2.0

    def by_checkpoint(self, x):
        self.out = np.tanh(nbgrad.checkpoint(self.layer)(x)) * 3.0

    def by_custom_rule(self, x):
        f = nbgrad.custom_rule(self.layer, pullback=lambda ct, out, x: ct * 2.0 * np.cos(x))
        self.out = np.tanh(f(x)) * 3.0


@pytest.mark.parametrize("how", ["by_checkpoint", "by_custom_rule"])
def test_cycles_through_functions_of_users_are_collected(how, made_by):
    x, model = track(X), Model()
    getattr(model, how)(x)
    assert is_visited(model.out) and not is_visited(x)
    gone = weakref.ref(model), weakref.ref(model.out.node)
    del model
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def test_cycles_through_tracked_gradients_are_collected(made_by):
    x = track(X)
    y: Any = np.exp(x)
    loss: Any = np.sum(y * x)
    loss.backward(create_graph=True)
    assert gc.is_tracked(x.node) and is_visited(y) and is_visited(x.grad)
    later: Any = x.grad * y
    assert is_visited(later)
    gone = [weakref.ref(array.node) for array in (x, y, loss, x.grad, later)]
    del x, y, loss, later
    gc.collect()
    assert [reference() for reference in gone] == [None] * 5


def test_cycles_through_tracked_seeds_are_collected(made_by):
    x = track(X)
    y: Any = np.exp(x)
    z: Any = y * 2.0
    x.grad = z
    assert gc.is_tracked(x.node) and is_visited(y) and is_visited(z)
    gone = [weakref.ref(array.node) for array in (x, y, z)]
    del x, y, z
    gc.collect()
    assert [reference() for reference in gone] == [None] * 3


def test_a_node_is_visited_with_all_that_were_computed_from_it():
    x = track(X)
    y: Any = x * 2.0
    chain = [y]
    for _ in range(5):
        chain.append(np.sin(chain[-1]) * x)
    visit(y.node)
    assert not is_visited(x) and all(map(is_visited, chain))
    visit(x.node)
    assert gc.is_tracked(x.node)
    freed: Any = np.sum(x * 3.0)
    freed.backward()
    assert is_visited(freed) and not freed.parents


def test_arrays_of_inner_transformations_are_visited():
    seen = []

    def inner(x):
        y = np.sin(x)
        seen.append(is_visited(y))
        return np.sum(y)

    nbgrad.grad(lambda x: np.sum(nbgrad.grad(inner)(x)))(X)
    assert seen == [True]


def test_only_users_objects_are_parameters_that_are_not_plain():
    theirs = {p.name for p in Primitive.registry.values() if p.has_plain_params is False}
    assert theirs == {"loop", "cond"}
