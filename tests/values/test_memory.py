"""Deep graphs and long runs: nothing recurses, and memory falls without the garbage collector."""

import gc
import sys
import time
import weakref
from typing import Any

import numpy as np
import pytest
from helpers.children import run
from helpers.daily import daily

import nbgrad
from nbgrad import track
from nbgrad.values import graph

SIZES = [100_000, pytest.param(1_000_000, marks=pytest.mark.full)]


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def growth(step, repetitions: int) -> int:
    """Memory blocks that Python holds more after a quarter of `repetitions`.

    The least of four quarters: free lists and plans fill up once, a leak grows in each.
    """
    for _ in range(500):
        step()
    gained = []
    for _ in range(4):
        before = sys.getallocatedblocks()
        for _ in range(repetitions // 4):
            step()
        gained.append(sys.getallocatedblocks() - before)
    return min(gained)


# Pruning comes and goes in steps of this size.
SLACK = 200


@pytest.mark.parametrize("nodes", SIZES)
def test_a_deep_chain_goes_forward_and_backward(nodes):
    x = track(np.linspace(0.0, 1.0, 10))
    (x * 1.0).backward(np.ones(10))
    nbgrad.reset(x)
    began = time.process_time()
    z = x
    for _ in range(nodes):
        z = z * 1.0
    z.backward(np.ones(10))
    ended = time.process_time()
    assert z.data.tolist() == x.data.tolist()
    assert x.grad.tolist() == [1.0] * 10
    if nodes == 1_000_000:
        assert ended - began < 30, "of this process, so that others may be busy"


def test_a_deep_chain_is_accumulated_reset_and_shown():
    x = track(2.0)
    z = x
    for _ in range(20_000):
        z = z * 1.0
    z.grad = 1.0
    assert float(nbgrad.accum(x)) == 1.0
    nbgrad.reset(x)
    with pytest.raises(nbgrad.GraphError):
        z.backward()


# Python 3.13 nests more frames before it defers a deallocation.
STACK = 1024 * (256 if sys.version_info < (3, 13) else 1024)


@pytest.mark.full
@pytest.mark.parametrize("nodes", SIZES)
def test_dropping_a_deep_chain_is_safe_on_a_small_stack(nodes):
    """In a child process: what fails here is the interpreter's stack."""
    code = f"""
import threading
threading.stack_size({STACK})
x = nbgrad.track(2.0)
chains = []
for _ in range(2):
    z = x
    for _ in range({nodes}):
        z = z * 1.0
    chains.append(z)
del z
thread = threading.Thread(target=chains.pop)
thread.start()
thread.join()
chains.clear()
result = len(x.children)
"""
    assert run(code).result == 0


def test_a_dropped_graph_is_gone_at_once(no_collector):
    x = track(np.ones(3))
    a: Any = np.sin(x)
    z = np.sum(a * x)
    nodes = [weakref.ref(array.node) for array in (a, z)]
    arrays = [weakref.ref(array) for array in (a, z)]
    z.backward(keep_grads=True, keep_graph=True)
    z.grad = 1.0
    nbgrad.accum(x)
    assert x.children[a](np.ones(3)).shape == (3,)
    assert len(x.parents) == 0 and len(z.parents) == 1
    del a, z
    assert [reference() for reference in nodes + arrays] == [None] * 4


def test_backward_frees_what_it_used(no_collector):
    x = track(np.ones(3))
    a: Any = np.sin(x)
    z = np.sum(a * x)
    held = weakref.ref(a.node)
    del a
    assert held() is not None
    z.backward()
    assert held() is None and z.item() == pytest.approx(3 * np.sin(1))


@pytest.mark.parametrize("evaluations", SIZES)
def test_evaluations_from_one_parameter_take_no_memory(evaluations, no_collector):
    x, y = track(np.ones(3)), track(np.ones(3))
    assert growth(lambda: x * y, evaluations) < SLACK
    assert len(x.node.children) < 200 and len(y.node.children) < 200
    assert growth(lambda: np.tanh(x), 2_000) < SLACK
    assert len(x.node.children) < 200


def test_live_children_are_kept_and_dead_ones_pruned(no_collector):
    x = track(1.0)
    live = []
    for k in range(3000):
        live.append(x * float(k))
        for _ in range(3):
            x.__mul__(2.0)
    assert list(x.children) == live
    assert len(x.node.children) < 3 * 3000
    live.clear()
    for _ in range(10_000):
        x.__mul__(2.0)
    assert len(x.node.children) < 8000
    assert len(x.children) == 0


def test_pruning_becomes_rare_as_children_become_many(monkeypatch):
    """It looks at all of them, so at fixed distances it would cost quadratic time."""
    looked_at = []
    prune = graph._prune

    def counted(children):
        looked_at.append(len(children))
        prune(children)

    monkeypatch.setattr(graph, "_prune", counted)
    x = track(1.0)
    live = [x * 2.0 for _ in range(20_000)]
    assert list(x.children) == live
    assert looked_at and sum(looked_at) < 3 * len(live)


def _train_step():
    w = track(np.ones((3, 3)), "w")

    def step():
        loss = np.sum(np.tanh(w @ w) * w)
        loss.backward()
        w.data -= 0.001 * w.grad
        nbgrad.reset(w)

    return step


def _accum_step():
    w = track(np.ones(3))

    def step():
        loss = np.sum(w * w)
        loss.grad = 1.0
        nbgrad.accum(w)
        w.grad = None

    return step


def _error_step():
    w = track(np.ones(3))

    def step():
        z = w * w
        try:
            z.backward()
        except nbgrad.DimensionMismatch:
            pass

    return step


STEPS = {
    "train": _train_step(),
    "accum": _accum_step(),
    "error": _error_step(),
    "gradient": lambda: nbgrad.gradient(lambda x: np.sum(x * x), np.ones(3)),
    "second": lambda: nbgrad.grad(nbgrad.grad(np.tanh))(0.5),
    "views": lambda: dict(track(2.0).children),
}


@pytest.mark.parametrize("step", daily(STEPS.values(), 3), ids=STEPS)
def test_steps_leave_nothing_behind(step, no_collector):
    assert growth(step, 2_000) < SLACK
