"""The naive baseline: the same gradients as nbgrad, by the lab's algorithm."""

from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import naive


def test_the_childs_gradient_is_accumulated_on_demand():
    x, y = naive.track(2.0, "x"), naive.track(3.0, "y")
    a = x * y
    z = a + np.sin(x)
    assert set(x.children) == {a, next(c for c in x.children if c.name == "sin")}
    z.grad = 1.0
    assert naive.accum(x) == 2.5838531634528574
    assert y.grad is None and a.grad == 1.0
    assert naive.accum(y) == 2.0
    naive.reset(x)
    assert (x.grad, x.children, a.grad, z.grad) == (None, {}, None, None)
    assert y.children, "only what was computed from x forgets"


def composed(x, y):
    return (
        (x - 2.0) * (3.0 - y) / (1.5 + y) + x**3 - 2.0**y + (x * x) ** y
        - x / 4.0 + 1.0 / x - (-y) + np.exp(-x) * np.cos(y) + np.log(x) * np.sqrt(y)
        + np.tanh(x * y) + abs(x - y) + (x - x) + x / x + y + y
    )  # fmt: skip


FUNCTIONS: dict[str, Any] = {
    "composed": composed,
    "power of itself": lambda x, y: x**x + y,
    "zeroth power": lambda x, y: (x - 0.7) ** 0 * y + x,
    "branches": lambda x, y: np.maximum(x, y) * y if x < 1.0 else x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_numbers_are_nbgrads(name):
    f = FUNCTIONS[name]
    np.testing.assert_allclose(
        naive.gradient(f, 0.7, 1.3), nbgrad.gradient(f, 0.7, 1.3), rtol=1e-13
    )


def layers(module):
    def loss(w, b, v):
        hidden = module.sigmoid(np.ones((4, 3)) @ w + b)
        return np.sum(module.abs2(np.tanh(hidden @ v))) - np.dot(v, v)

    return loss


def test_gradients_of_a_network_are_nbgrads(rng):
    args = rng.normal(size=(3, 5)), rng.normal(size=5), rng.normal(size=5)
    found = naive.gradient(layers(naive), *args)
    expected = nbgrad.gradient(layers(nbgrad), *args)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_sums_longer_than_the_recursion_limit(rng):
    numbers = rng.normal(size=5000)
    (found,) = naive.gradient(lambda x: np.sum(x * x), numbers)
    np.testing.assert_array_equal(found, 2 * numbers)


def test_diamonds_cost_their_edges_and_not_their_paths():
    def f(x):
        for _ in range(100):
            x = (x + x * 1.0) * 0.5
        return x

    assert naive.gradient(f, 1.0) == (1.0,)


def test_what_does_not_reach_the_seed_contributes_nothing():
    x = naive.track(2.0)
    np.sin(x)
    z = x * 3.0
    z.grad = 1.0
    assert naive.accum(x) == 3.0


@pytest.mark.parametrize("x", [-800.0, -1.0, 0.0, 800.0])
def test_sigmoid_does_not_overflow(x):
    assert naive.sigmoid(naive.track(x)).data == pytest.approx(float(nbgrad.sigmoid(x)))


def test_track_returns_what_is_tracked():
    x, xs = naive.track(2.0), naive.track([[1, 2]])
    assert naive.track(x) is x and naive.track(xs) is xs
    assert xs.shape == (1, 2) and repr(xs[0, 1]) == "2.0 (tracked)"
    assert repr(naive.track(2, "x")) == "2.0 (tracked x)"


def test_the_tree_is_drawn_as_that_of_arrays(capsys):
    trees = []
    for module in (naive, nbgrad):
        x, y = module.track(2.0, "x"), module.track(3.0, "y")
        z = x * y + np.sin(x)
        z.grad = 1.0
        module.accum(x)
        trees.append([module.print_tree(x), module.print_tree(y)])
    assert trees[0] == trees[1]
    assert trees[0][1].splitlines()[0] == "y data: 3.0 grad: None"
    assert capsys.readouterr().out == "".join(f"{text}\n" for text in trees[0] + trees[1])
    with pytest.raises(TypeError, match="print_tree"):
        naive.print_tree(naive.track(np.ones(2)))
