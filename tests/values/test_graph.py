"""The tracked graph: leaves, children and their pullbacks, `reset`, data that changes."""

import gc

import numpy as np
import pytest
from helpers.values.graphs import assert_grad

import nbgrad
from nbgrad import DimensionMismatch, GraphError, accum, reset, track

# -- leaves ---------------------------------------------------------------------------------------


def test_track_makes_a_named_copy():
    data = np.arange(3.0)
    x = track(data, "x")
    data[0] = 9.0
    assert x.data.tolist() == [0, 1, 2]
    assert (x.name, x.grad, x.shape, x.dtype) == ("x", None, (3,), np.float64)
    assert "x" in repr(x) and "[0. 1. 2.]" in repr(x)
    assert "2.0" in repr(track(2.0)) and track(2.0).name == ""
    assert track(x) is x
    z = x * 2.0
    assert track(z) is z


def test_track_shares_memory_on_request_only():
    data = np.arange(3.0)
    assert np.shares_memory(track(data, copy=False).data, data)
    assert not np.shares_memory(track(data).data, data)


# -- children -------------------------------------------------------------------------------------


def test_children_map_each_output_to_its_pullback(lab):
    x, y, a, b, z = lab
    assert list(x.children) == [a, b] and len(x.children) == 2
    assert list(y.children) == [a]
    assert a in x.children and z not in x.children
    assert float(x.children[a](1.0)) == 3.0
    assert float(y.children[a](1.0)) == 2.0
    assert float(x.children[b](2.0)) == 2 * np.cos(2.0)
    assert [parent is given for parent, given in zip(a.parents, (x, y), strict=True)] == [True] * 2
    with pytest.raises(KeyError):
        x.children[z]
    with pytest.raises(KeyError):
        x.children[2.0]
    assert x.grad is None and a.grad is None, "looking computes nothing"


def test_the_pullback_of_matmul_is_exact(rng):
    x, y = track(rng.normal(size=(2, 3))), track(rng.normal(size=(3, 2)))
    z = x @ y
    ones = np.ones((2, 2))
    assert np.array_equal(x.children[z](ones), ones @ y.data.T)
    assert np.array_equal(y.children[z](ones), x.data.T @ ones)


def test_a_pullback_refuses_another_shape(lab):
    x, _, a, *_ = lab
    with pytest.raises(DimensionMismatch, match=r"\(2,\).*\(\)"):
        x.children[a](np.ones(2))


def test_children_are_told_apart_by_identity():
    x = track(np.ones(3))
    outputs = [x * 1.0, x * 1.0, x + 0.0]
    assert len(x.children) == 3
    assert all(a is b for a, b in zip(x.children, outputs, strict=True))


def test_children_fall_when_nobody_holds_them():
    gc.disable()  # no cycle may need the collector
    try:
        x = track(2.0)
        z = np.sin(x) * x
        assert len(x.children) == 2, "sin(x) is held by z"
        first = next(iter(x.children))
        assert first.name == "sin" and next(iter(x.children)) is first
        del first, z
        assert len(x.children) == 0 and list(x.children) == []
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("both", "expected"),
    [
        (lambda x: x * x, lambda x: 2 * x),
        (lambda x: x + x, lambda x: 2 + 0 * x),
        (lambda x: x - x, lambda x: 0 * x),
        (lambda x: x / x, lambda x: 0 * x),
        (lambda x: np.concatenate([x, x]), lambda x: 2 + 0 * x),
        (lambda x: np.concatenate([x, np.ones(1), x]), lambda x: 2 + 0 * x),
        (lambda x: np.stack([x, x, x]), lambda x: 3 + 0 * x),
        (lambda x: nbgrad.hcat(x, x), lambda x: 2 + 0 * x),
        (lambda x: np.where(np.array([True, False]), x, x), lambda x: 1 + 0 * x),
        (lambda x: x @ x, lambda x: 2 * x),
    ],
)
def test_one_array_in_two_positions_gets_both_contributions(both, expected):
    x = track(np.array([1.5, -2.0]))
    z = both(x)
    z.backward(np.ones(z.shape), keep_graph=True)
    np.testing.assert_allclose(x.grad, expected(x.data), atol=1e-15)
    backwards, x.grad = x.grad, None
    z.grad = np.ones(z.shape)
    np.testing.assert_allclose(accum(x), backwards, atol=1e-15)
    if z in x.children:  # some are compositions
        np.testing.assert_allclose(x.children[z](np.ones(z.shape)), backwards, atol=1e-15)


# -- reset ----------------------------------------------------------------------------------------


def test_reset_forgets_gradients_and_children(lab):
    x, y, a, b, z = lab
    z.backward(keep_graph=True, keep_grads=True)
    reset(x)
    assert x.grad is a.grad is b.grad is z.grad is None
    assert len(x.children) == 0
    assert y.grad is not None, "y was not reset"
    with pytest.raises(GraphError, match="reset"):
        z.backward()


def test_reset_of_an_array_between_leaves_what_is_below(lab):
    x, _, a, _, z = lab
    reset(a)
    with pytest.raises(GraphError):
        z.backward()
    a.backward()
    assert_grad(x, 3.0)


# -- data that changes ----------------------------------------------------------------------------


def test_changed_data_that_a_pullback_needs_is_named():
    w, x = track(np.ones(3), "weights"), track(np.ones(3))
    z = w * x
    w.data -= 0.5
    with pytest.raises(GraphError, match=r"weights of shape \(3,\).*multiply"):
        z.backward(np.ones(3))
    assert w.grad is x.grad is None
    z.grad = np.ones(3)
    with pytest.raises(GraphError, match="weights"):
        accum(x)
    (w * x).backward(np.ones(3))
    assert_grad(x, np.full(3, 0.5))


@pytest.mark.parametrize(
    "f",
    [lambda x: x + 1.0, lambda x: -x, np.sqrt, np.exp, lambda x: x.reshape(3, 1), lambda x: x[1:]],
)
def test_changed_data_that_no_pullback_needs_is_fine(f):
    x = track(np.array([0.1, 0.2, 0.3]))
    z = f(x)
    z.backward(np.ones(z.shape), keep_graph=True)
    before, x.grad = x.grad, None
    x.data -= 100.0
    z.backward(np.ones(z.shape))
    np.testing.assert_array_equal(x.grad, before)


def test_data_changed_between_passes_is_the_usual_update():
    w = track(np.array([4.0, -2.0]))
    for _ in range(100):
        reset(w)
        np.sum(w * w).backward()
        w.data -= 0.1 * w.grad
    assert np.abs(w.data).max() < 1e-8


def test_data_of_a_computed_array_cannot_be_written(lab):
    *_, z = lab
    x = track(np.ones(3))
    y = x * 2.0
    with pytest.raises(ValueError, match="read-only"):
        y.data[0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        y.data -= 1.0
    with pytest.raises(GraphError, match="computed"):
        z.data = 1.0
    assert y.data.tolist() == [2, 2, 2]


# -- any graph ------------------------------------------------------------------------------------


UNARY = (np.sin, np.tanh, np.exp, lambda a: a * a, lambda a: -a, lambda a: a + 1.5)


BINARY = (
    lambda a, b: a * b,
    lambda a, b: a - b,
    lambda a, b: a + b,
    lambda a, b: a / (1.5 + b * b),
)


def random_program(rng, steps: int):
    """A function of three vectors: random ops on what was computed before, some of it unused."""
    choices = [
        (rng.integers(len(BINARY)), rng.integers(3 + k, size=2))
        if rng.random() < 0.6
        else (len(BINARY) + rng.integers(len(UNARY)), rng.integers(3 + k, size=1))
        for k in range(steps)
    ]

    def program(*inputs):
        values = [np.tanh(value) for value in inputs]
        for op, arguments in choices:
            f = (*BINARY, *UNARY)[op]
            values.append(np.tanh(f(*(values[i] for i in arguments))))
        return np.sum(values[-1] * values[-2])

    return program


@pytest.mark.parametrize("seed", range(25))
def test_random_graphs_against_differences(seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng, int(rng.integers(2, 15)))
    points = rng.normal(size=(3, 4))
    leaves = [track(point) for point in points]
    z = program(*leaves)
    z.backward(keep_graph=True)
    step = 1e-5
    pulled = [leaf.grad for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    z.grad = 1.0
    for k, leaf in enumerate(leaves):
        direction = rng.normal(size=(3, 4)) * (np.arange(3) == k)[:, None]
        ahead, back = program(*(points + step * direction)), program(*(points - step * direction))
        difference = (ahead - back) / (2 * step)
        if pulled[k] is None:
            assert difference == 0.0 and accum(leaf) is None
        else:
            assert np.sum(pulled[k] * direction[k]) == pytest.approx(difference, rel=1e-6, abs=1e-8)
            np.testing.assert_allclose(accum(leaf), pulled[k], rtol=1e-12, atol=1e-14)
