"""What the walks of a graph promise: buffers in any order of memory, linear time, memos, sizes."""

import functools
import operator
import sys
from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import GraphError, track
from nbgrad.values import backward

# -- buffers of the walk, where an array in another order of memory was added before ---------------

READS = {
    "fancy": lambda x: x[np.array([0, 0])],
    "pairs": lambda x: x[np.array([0, 1, 0]), np.array([2, 1, 2])],
    "mask": lambda x: x[np.array([[True, False, True], [False, True, True]])],
    "take": lambda x: np.take(x, [0, 0, 2], axis=1),
    "along": lambda x: np.take_along_axis(x, np.array([[2, 0], [1, 1]]), axis=1),
    "sort": lambda x: np.sort(x, axis=1),
    "median": lambda x: np.median(x, axis=1),
    "slice": lambda x: x[:, 1:],
    "row": lambda x: x[1],
    "diagonal": lambda x: np.diagonal(x),
    "einsum": lambda x: np.einsum("li,ii->l", x, x.T @ x),
}
OTHERS = {
    "transpose": lambda x: np.sum(x.T * np.arange(6.0).reshape(3, 2)),
    "two transposes": lambda x: np.sum(x.T * np.ones((3, 2))) + np.sum(x.T * x.T),
    "moved": lambda x: np.sum(np.moveaxis(x, 0, 1) ** 2),
    "flipped": lambda x: np.sum(x[::-1, ::-1] * np.arange(6.0).reshape(2, 3)),
}
POINT = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


def slopes(f, x, step=1e-6):
    found = np.empty_like(x)
    for index in np.ndindex(x.shape):
        shift = np.zeros_like(x)
        shift[index] = step
        found[index] = (f(x + shift) - f(x - shift)) / (2 * step)
    return found


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("read", READS)
def test_reads_beside_other_orders_of_memory(read, other):
    for first, second in ((READS[read], OTHERS[other]), (OTHERS[other], READS[read])):

        def f(x, first=first, second=second):
            return np.sum(first(x) ** 2) + np.sum(second(x))

        expected = slopes(f, POINT)
        x = track(POINT)
        y = f(x)
        y.grad = 1.0
        by_accum = nbgrad.accum(x)
        x.grad = None
        y.backward()
        by_grad = nbgrad.grad(f)(POINT), nbgrad.grad(f)(POINT.copy("F"))
        for found in (x.grad, by_accum, *by_grad):
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-7, atol=1e-8)


def test_tied_embeddings():
    rows, rng = np.array([1, 0, 1]), np.random.default_rng(0)
    table = rng.normal(size=(3, 4))

    def loss(table):
        return np.sum(np.tanh(table[rows] @ table.T) ** 2)

    np.testing.assert_allclose(nbgrad.grad(loss)(table), slopes(loss, table), rtol=1e-6, atol=1e-8)


def test_the_hessian_of_a_diagonal():
    a, v = np.arange(9.0).reshape(3, 3), np.ones((3, 3)) + np.eye(3)

    def f(a):
        return np.sum(np.einsum("li,ii", a, a))

    slope = nbgrad.grad(f)
    twice = nbgrad.grad(lambda a: np.sum(slope(a) * v))(a)
    np.testing.assert_allclose(twice, nbgrad.hvp(f)(a, v), rtol=1e-14)
    np.testing.assert_allclose(twice, slope(v), rtol=1e-14)  # f is quadratic


def test_a_buffer_that_is_not_contiguous_is_refused_by_the_kernel():
    with pytest.raises(ValueError, match="contiguous"):
        nbgrad.kernels.index.add_at(np.zeros((2, 3)).T, np.array([0]), np.ones((1, 2)))


# -- many leaves ----------------------------------------------------------------------------------


def _steps(work) -> int:
    """How many lines of nbgrad `work` runs, each round of a loop in one line counted."""
    counted = 0

    def trace(frame, event, argument):
        nonlocal counted
        if "nbgrad" not in frame.f_code.co_filename:
            return None
        counted += event == "line"
        return trace

    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(outer)
    return counted


def _total(p):
    return functools.reduce(operator.add, p.values(), 0.0)


def _by_backward(p):
    leaves = {key: track(x) for key, x in p.items()}
    total: Any = _total(leaves)
    total.backward()
    return {key: leaf.grad for key, leaf in leaves.items()}


@pytest.mark.parametrize("way", [nbgrad.grad(_total), _by_backward], ids=["grad", "backward"])
def test_the_gradient_of_many_leaves_takes_linear_time(way):
    points = {n: {f"p{i}": np.full(2, float(i)) for i in range(n)} for n in (50, 200)}
    points = {n: {key: x[0] for key, x in p.items()} for n, p in points.items()}
    for p in points.values():
        assert way(p) == dict.fromkeys(p, 1.0)
    few, many = (_steps(lambda p=p: way(p)) for p in points.values())
    assert many < 4.2 * few


# -- seeds, memos, arrays that are gone -----------------------------------------------------------


def test_an_array_that_is_gone_takes_no_gradient_back():
    x = track(2.0)
    y = x * x
    z = y * 3.0
    z.grad = 1.0
    assert (nbgrad.accum(x), y.grad) == (12.0, 3.0)
    del z
    assert nbgrad.accum(y) == y.grad == 3.0
    assert nbgrad.accum(x) == x.grad == 12.0
    again = y * 5.0  # a newer child: gradients are pulled from what lives
    again.grad = 1.0
    assert (nbgrad.accum(x), y.grad) == (20.0, 5.0)


def test_a_seed_that_nobody_pulled_goes_with_its_array():
    x = track(2.0)
    z = x * 3.0
    z.grad = 1.0
    del z
    assert nbgrad.accum(x) is None


def test_a_seed_that_is_taken_back_takes_the_gradient_back():
    x = track(2.0)
    y = x * x
    z = y * 3.0
    z.grad = 1.0
    assert nbgrad.accum(x) == 12.0
    z.grad = None
    assert nbgrad.accum(x) is None and y.grad is None


# -- what changes between forward and backward ----------------------------------------------------


def test_an_index_array_may_be_written_to_after_its_op():
    x, index = track(np.arange(4.0)), np.array([0, 0, 3])
    pairs = np.array([1, 2])
    y = np.sum(x[index] * 2.0) + np.sum(x.at[pairs].set(0.0)) + np.sum(x[(pairs,)])
    index[:], pairs[:] = 1, 0
    y.backward()
    np.testing.assert_array_equal(x.grad, [5.0, 1.0, 1.0, 3.0])


@pytest.mark.parametrize("bad", [-1, 1, 10**9])
def test_the_backward_pass_needs_the_labels_of_the_forward_pass(bad):
    x, labels = track(np.ones((2, 3))), np.array([0, 2])
    loss = nbgrad.logit_cross_entropy(x, labels)
    labels[0] = bad
    loss.backward()
    expected = (np.full((2, 3), 1 / 3) - np.eye(3)[[0, 2]]) / 2
    np.testing.assert_allclose(x.grad, expected, rtol=1e-14)


def test_changes_of_what_a_pullback_reads_are_detected():
    x, a = track(np.ones(600)), np.ones(600)
    with nbgrad.detect_changes():
        y = np.sum(x * a + a)
        a[1] = 5.0
        with pytest.raises(GraphError, match=r"argument 1 of multiply.*test_walks.py"):
            y.backward(keep_graph=True)
        y.grad = 1.0
        with pytest.raises(GraphError, match="written to"):
            nbgrad.accum(x)
        a[1] = 1.0
        y.backward(keep_graph=True)
        z = np.sum(x * x)
        x.data[0] = 2.0
        with pytest.raises(GraphError, match="written to"):
            z.backward()
        w = np.sum(x + a)  # its pullback reads neither
        x.data[0], a[0] = 3.0, 3.0
        w.backward()
    np.testing.assert_array_equal(x.grad, np.full(600, 2.0))


# -- sizes that held and hold ---------------------------------------------------------------------


def test_a_hundred_thousand_children():
    x = track(2.0)
    children = [x * 3.0 for _ in range(100_000)]
    assert len(x.children) == 100_000
    children[7].grad = children[-1].grad = 1.0
    assert nbgrad.accum(x) == 6.0
    del children[1:]
    children[0].grad = 1.0
    assert len(x.children) == 1 and nbgrad.accum(x) == 3.0
    x.grad = None
    children[0].backward()
    assert x.grad == 3.0


def test_dead_children_are_not_kept():
    x = track(2.0)
    for _ in range(100_000):
        x.__mul__(3.0)
    assert len(x.node.children) < 1000 and not len(x.children)


def test_walks_of_a_wide_graph():
    x = track(2.0)
    y = functools.reduce(operator.add, [x * float(i) for i in range(10_000)], x * 0.0)
    assert len(backward.history(y.node)) == 20_001
    y.backward()
    assert x.grad == sum(range(10_000))
