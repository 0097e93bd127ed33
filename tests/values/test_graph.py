"""The tracked graph: children and their pullbacks, `accum`, `backward`, and what they refuse."""

import gc
import itertools
from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import DimensionMismatch, GraphError, accum, reset, track


@pytest.fixture
def lab():
    """The lab's example: z = x * y + sin(x) at x = 2, y = 3."""
    x, y = track(2.0, "x"), track(3.0, "y")
    a = x * y
    b = np.sin(x)
    return x, y, a, b, a + b


def assert_grad(x, expected):
    assert type(x.grad) is (np.ndarray if x.shape else x.dtype.type)
    assert x.grad.dtype == x.dtype and x.grad.shape == x.shape
    np.testing.assert_allclose(x.grad, expected, rtol=1e-14)


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


# -- accum ----------------------------------------------------------------------------------------


def test_accum_pulls_only_what_lies_between(lab):
    x, y, a, b, z = lab
    z.grad = 1.0
    assert float(accum(x)) == float(x.grad) == pytest.approx(2.5838531634528574, abs=1e-15)
    assert y.grad is None
    assert float(a.grad) == float(b.grad) == 1.0, "gradients between are kept"
    before = nbgrad.stats()["called"]
    assert float(accum(y)) == 2.0
    assert nbgrad.stats()["called"] == before + 1, "only the pullback of x * y, into y"
    before = nbgrad.stats()["called"]
    assert float(accum(x)) == pytest.approx(2.5838531634528574, abs=1e-15)
    assert nbgrad.stats()["called"] == before, "nothing is computed again"


def test_print_tree_shows_the_five_moments(capsys):
    x, y = track(2.0, "x"), track(3.0, "y")
    a = x * y
    assert nbgrad.print_tree(x) == "x data: 2.0 grad: None\n└─ * data: 6.0 grad: None"
    b = np.sin(x)
    assert nbgrad.print_tree(x).splitlines()[1:] == [
        "├─ * data: 6.0 grad: None",
        "└─ sin data: 0.91 grad: None",
    ]
    z = a + b
    assert nbgrad.print_tree(x).splitlines()[1:] == [
        "├─ * data: 6.0 grad: None",
        "│  └─ + data: 6.91 grad: None",
        "└─ sin data: 0.91 grad: None",
        "   └─ + data: 6.91 grad: None",
    ]
    z.grad = 1.0
    accum(x)
    assert nbgrad.print_tree(x).splitlines() == [
        "x data: 2.0 grad: 2.5838531634528574",
        "├─ * data: 6.0 grad: 1.0",
        "│  └─ + data: 6.91 grad: 1.0",
        "└─ sin data: 0.91 grad: 1.0",
        "   └─ + data: 6.91 grad: 1.0",
    ]
    accum(y)
    text = nbgrad.print_tree(y)
    assert text.splitlines() == [
        "y data: 3.0 grad: 2.0",
        "└─ * data: 6.0 grad: 1.0",
        "   └─ + data: 6.91 grad: 1.0",
    ]
    assert capsys.readouterr().out.endswith(text + "\n")


def test_a_seeded_array_is_its_own_gradient(lab):
    *_, z = lab
    z.grad = 3.0
    assert float(accum(z)) == 3.0


def test_without_a_seed_nothing_arrives(lab):
    x, *_ = lab
    assert accum(x) is None and x.grad is None


def test_a_branch_that_reaches_no_seed_contributes_nothing(lab):
    x, y, *_, z = lab
    unused = np.exp(x) * y
    z.grad = 1.0
    assert float(accum(x)) == pytest.approx(2.5838531634528574, abs=1e-15)
    assert unused.grad is None
    reset(x)
    x, y = track(2.0), track(3.0)
    z = x * y
    unused = np.exp(x)
    z.backward()
    assert (float(x.grad), float(y.grad)) == (3.0, 2.0)


def test_a_new_child_makes_the_memo_stale():
    x = track(2.0)
    z = x * 3.0
    z.grad = 1.0
    assert float(accum(x)) == 3.0
    other = x * 4.0
    assert float(accum(x)) == 3.0, "it has no seed yet"
    other.grad = 1.0
    assert float(accum(x)) == 7.0


def test_a_new_seed_makes_the_memo_stale_at_any_depth():
    x = track(2.0)
    a = x * 3.0
    b = a * 2.0
    z = b * 5.0
    z.grad = 1.0
    assert float(accum(x)) == 30.0
    z.grad = 2.0
    assert float(accum(x)) == 60.0
    late = a * 7.0
    late.grad = 1.0
    assert float(accum(x)) == 81.0


def test_a_seed_taken_back_no_longer_counts():
    x = track(2.0)
    a, b = x * 3.0, x * 4.0
    a.grad = b.grad = 1.0
    assert float(accum(x)) == 7.0
    a.grad = None
    assert float(accum(x)) == 4.0
    b.grad = None
    assert accum(x) is None


def test_accum_after_backward_is_of_the_seeded_arrays():
    x = track(2.0)
    a, b = x * 3.0, x * 4.0
    a.grad = 1.0
    b.backward(keep_graph=True)
    assert float(x.grad) == 4.0
    assert float(accum(x)) == 3.0


# -- backward -------------------------------------------------------------------------------------


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
