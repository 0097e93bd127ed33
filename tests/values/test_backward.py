"""`backward`: gradients of leaves, and what a second pass finds."""

import itertools
from typing import Any

import numpy as np
import pytest
from helpers.values.graphs import assert_grad

import nbgrad
from nbgrad import GraphError, accum, reset, track


def test_backward_fills_leaves_and_only_those(lab):
    x, y, a, b, z = lab
    z.backward()
    assert_grad(x, 2.5838531634528574)
    assert_grad(y, 2.0)
    assert a.grad is b.grad is z.grad is None
    assert float(z.data) == pytest.approx(6.909297426825682), "values stay"


def test_keep_grads_fills_the_arrays_between(lab):
    x, _, a, b, z = lab
    z.backward(2.0, keep_grads=True)
    assert [float(array.grad) for array in (z, a, b)] == [2.0, 2.0, 2.0]
    assert_grad(x, 2 * 2.5838531634528574)


def test_leaf_gradients_accumulate_until_reset(lab):
    x, y, _, _, z = lab
    for times in (1, 2, 3):
        z.backward(keep_graph=True)
        assert_grad(x, times * (3 + np.cos(2.0)))
    (x * y).backward()
    assert_grad(y, 8.0)
    reset(x, y)
    assert x.grad is None and y.grad is None
    (x * y).backward()
    assert_grad(x, 3.0)


def test_a_second_backward_names_keep_graph(lab):
    *_, z = lab
    z.backward()
    with pytest.raises(GraphError, match="keep_graph=True"):
        z.backward()


def test_a_freed_part_is_noticed_from_another_output(lab):
    x, _, a, _, z = lab
    other = a * 2.0
    z.backward()
    with pytest.raises(GraphError, match="keep_graph=True"):
        other.backward()
    assert_grad(x, 3 + np.cos(2.0))
    other.grad = 1.0
    with pytest.raises(GraphError, match="keep_graph=True"):
        accum(x)
    with pytest.raises(GraphError, match="keep_graph=True"):
        x.children[a](1.0)


def test_create_graph_makes_tracked_gradients_and_keeps_the_graph():
    x = track(2.0)
    z = x**3.0
    z.backward(create_graph=True)
    first: Any = x.grad
    assert isinstance(first, nbgrad.TrackedArray)
    assert float(first.data) == 12.0
    x.grad = None
    first.backward()
    assert x.grad == 12.0, "the derivative of 3 x**2"
    x = track(2.0)
    z = x * x
    z.backward(create_graph=True)
    z.backward()
    assert float(x.grad.data) == 8.0, "the first pass kept the graph"


def test_a_leaf_is_its_own_gradient():
    x = track(np.ones(2))
    seed = np.array([1.0, 2.0])
    x.backward(seed)
    assert_grad(x, [1, 2])
    assert not np.shares_memory(x.grad, seed)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_element_needs_no_cotangent(shape):
    x = track(np.full(shape, 3.0))
    (x * x).backward()
    assert_grad(x, np.full(shape, 6.0))


def test_the_dtype_of_the_leaf_stays():
    x, y = track(np.ones(3, np.float32)), track(np.ones(3))
    (x * y).backward(np.ones(3))
    assert x.grad.dtype == np.float32 and y.grad.dtype == np.float64


@pytest.mark.parametrize("keep_grads", [False, True])
def test_gradients_share_memory_with_nothing(keep_grads):
    x, y = track(np.ones(3)), track(np.ones(3))
    w, v = track(np.ones((3, 1))), track(np.ones((1, 3)))
    seed = np.ones(3)
    a = x + y
    z = a + w.reshape(3) + v.reshape(-1) + x
    z.backward(seed, keep_grads=keep_grads)
    held = [x.grad, y.grad, w.grad, v.grad, seed, *([a.grad, z.grad] if keep_grads else [])]
    for first, second in itertools.combinations(held, 2):
        assert not np.shares_memory(first, second)
    y.grad[:] = 7.0
    assert_grad(x, np.full(3, 2.0))


def test_gradients_of_two_passes_share_no_memory():
    x = track(np.ones(3))
    seed = np.ones(3)
    z = x + 1.0
    z.backward(seed, keep_graph=True)
    first = x.grad
    z.backward(seed)
    assert first.tolist() == [1, 1, 1] and x.grad.tolist() == [2, 2, 2]
    assert seed.tolist() == [1, 1, 1]


def test_a_zero_cotangent_meets_no_infinity():
    x = track(np.array([0.0, 4.0]))
    z: Any = np.where(x > 0, np.sqrt(x), 0.0)
    z.backward(np.ones(2))
    assert_grad(x, [0.0, 0.25])


def test_fan_out_adds_up():
    x = track(2.0)
    parts = [x * float(k) for k in range(100)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    total.backward()
    assert_grad(x, sum(range(100)))


def test_a_diamond_of_many_levels_costs_linear_time():
    """2**64 paths, 128 edges."""
    x = track(1.0)
    z = x
    for _ in range(64):
        z = (z + z) * 0.5
    z.backward()
    assert_grad(x, 1.0)


def test_babysqrt():
    x = track(2.0)
    t = (1.0 + x) / 2.0
    for _ in range(10):
        t = (t + x / t) / 2.0
    t.backward()
    assert_grad(x, 1 / (2 * np.sqrt(2)))


def test_gradient_of_the_lab():
    found = nbgrad.gradient(lambda x, y: x * y + np.sin(x), 2.0, 3.0)
    assert [float(g) for g in found] == [pytest.approx(2.5838531634528574, abs=1e-15), 2.0]


@pytest.mark.parametrize(
    ("f", "derivative"),
    [
        (lambda x: x + 1.0, lambda x: np.ones_like(x)),
        (lambda x: 1.0 - x, lambda x: -np.ones_like(x)),
        (lambda x: x / 4.0, lambda x: np.full_like(x, 0.25)),
        (lambda x: 1.0 / x, lambda x: -1 / x**2),
        (lambda x: nbgrad.abs2(x), lambda x: 2 * x),
        (nbgrad.sigmoid, lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2),
        (lambda x: nbgrad.hcat(x, 2.0 * x, x), lambda x: np.full_like(x, 4.0)),
        (lambda x: x.sum(), np.ones_like),
    ],
)
def test_pullbacks_of_the_lab(f, derivative):
    x = track(np.array([0.5, -1.5, 3.0]))
    z = f(x)
    z.backward(np.ones(z.shape))
    assert_grad(x, derivative(x.data))


def test_hcat_has_one_edge_from_each_argument():
    """A vector comes from its column, and an argument that stands twice from both."""
    x, y = track(np.array([1.0, 2.0])), track(np.ones((2, 3)))
    z: Any = nbgrad.hcat(x, y, x)
    ct = np.arange(10.0).reshape(2, 5)
    np.testing.assert_array_equal(x.children[z](ct), ct[:, 0] + ct[:, 4])
    np.testing.assert_array_equal(y.children[z](ct), ct[:, 1:4])
    assert (len(x.children), z.name) == (1, "hcat")
    with pytest.raises(nbgrad.DimensionMismatch, match=r"shapes \(2,\), \(3,\)"):
        nbgrad.hcat(x, np.ones(3))


def test_hcat_makes_columns_of_vectors():
    x, y = track(np.array([1.0, 2.0])), track(np.array([[3.0, 4.0], [5.0, 6.0]]))
    z: Any = nbgrad.hcat(x, y)
    assert z.data.tolist() == [[1, 3, 4], [2, 5, 6]]
    z.backward(np.arange(6.0).reshape(2, 3))
    assert_grad(x, [0, 3])
    assert_grad(y, [[1, 2], [4, 5]])


def test_an_indexed_array_is_read_in_linear_time(monkeypatch):
    """One buffer of the parent's size, however many reads."""
    reads, big = 64, 10_000
    x = track(np.arange(float(big)))
    total = x[0]
    for t in range(1, reads):
        total = total + x[t] * float(t)
    made = []
    zeros = np.zeros
    monkeypatch.setattr(np, "zeros", lambda *args, **options: made.append(args) or zeros(*args))
    before = nbgrad.stats()["called"]
    total.backward()
    assert nbgrad.stats()["called"] - before <= 3 * reads
    assert len(made) <= 2
    assert x.grad[:reads].tolist() == [1.0, *map(float, range(1, reads))]
    assert not x.grad[reads:].any()


def test_indexed_and_whole_uses_of_an_array_meet():
    x = track(np.array([1.0, 2.0, 3.0]))
    z = x[0] * x[1] + np.sum(x * x) + x[np.array([2, 2])].sum() + x[1:].sum()
    seed = np.array(1.0)
    z.backward(seed)
    assert_grad(x, [2 + 2, 1 + 4 + 1, 6 + 2 + 1])
    assert seed == 1.0
