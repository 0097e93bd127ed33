"""The figures of the documents that nbgrad follows, one row for each thing that they show.

They are a lab on reverse mode with its lecture, a series on automatic differentiation in Julia with
its small library, and an article on backpropagation. What takes a training is among the
experiments: `tests/experiments/test_catalogue.py`; `tests/helpers/programs.py`
has their functions in every mode.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import naive
from nbgrad.experiments.babysqrt import babysqrt, central, five_point

ROWS: dict[str, tuple[Callable[[], Any], Any]] = {}
"""What is computed, and the figure; texts are equal, numbers to the last digits that are given."""


def row(expected: Any) -> Callable:
    """Add a function to the table, with what it must give."""

    def add(f: Callable[[], Any]) -> Callable[[], Any]:
        ROWS[f.__name__] = f, expected
        return f

    return add


def lab(x: Any, y: Any) -> Any:
    return x * y + np.sin(x)


# -- the lab ---------------------------------------------------------------------------------------


@row((6.0, 1, 3.0, "6.0 (tracked *)", "2.0 (tracked x)"))
def a_product_is_a_child_of_its_factors():
    x, y = nbgrad.track(2.0, "x"), nbgrad.track(3.0)
    z = x * y
    assert nbgrad.track(z) is z
    return z.item(), len(x.children), x.children[z](1.0), repr(z), repr(x)


@row((2.5838531634528574, True, 2.0))
def accum_evaluates_what_it_needs():
    x, y = nbgrad.track(2.0), nbgrad.track(3.0)
    z = lab(x, y)
    z.grad = 1.0
    return nbgrad.accum(x), y.grad is None, nbgrad.accum(y)


LAB_TREES = """\
x data: 2.0 grad: None
└─ * data: 6.0 grad: None

x data: 2.0 grad: None
├─ * data: 6.0 grad: None
└─ sin data: 0.91 grad: None

x data: 2.0 grad: None
├─ * data: 6.0 grad: None
│  └─ + data: 6.91 grad: None
└─ sin data: 0.91 grad: None
   └─ + data: 6.91 grad: None

x data: 2.0 grad: 2.5838531634528574
├─ * data: 6.0 grad: 1.0
│  └─ + data: 6.91 grad: 1.0
└─ sin data: 0.91 grad: 1.0
   └─ + data: 6.91 grad: 1.0

y data: 3.0 grad: 2.0
└─ * data: 6.0 grad: 1.0
   └─ + data: 6.91 grad: 1.0"""


@row(LAB_TREES)
def five_moments_of_a_graph():
    x, y, moments = nbgrad.track(2.0, "x"), nbgrad.track(3.0, "y"), []
    a = x * y
    moments.append(nbgrad.print_tree(x))
    b = np.sin(x)
    moments.append(nbgrad.print_tree(x))
    z = a + b
    moments.append(nbgrad.print_tree(x))
    z.grad = 1.0
    nbgrad.accum(x)
    moments.append(nbgrad.print_tree(x))
    nbgrad.accum(y)
    moments.append(nbgrad.print_tree(y))
    return "\n\n".join(moments)


@row((2.5838531634528574, 2.0))
def gradient_of_two_numbers():
    return nbgrad.gradient(lab, 2.0, 3.0)


@row(np.full((3, 2), 2.0))
def number_by_number():
    x, y = naive.track(np.ones((2, 3))), naive.track(np.ones((3, 2)))
    z = np.sum(x @ y)
    z.grad = 1.0
    return naive.accum(y)


@row((np.ones((2, 3)) * 2, np.ones((3, 2)) * 2))
def accum_of_several_arrays():
    a, b = nbgrad.track(np.ones((2, 3))), nbgrad.track(np.ones((3, 2)))
    z = np.sum(a @ b)
    z.grad = 1.0
    return nbgrad.accum([a, b])


@row(True)
def an_edge_of_a_product_is_a_product():
    rng = np.random.default_rng(0)
    x, y = nbgrad.track(rng.random((2, 3))), nbgrad.track(rng.random((3, 2)))
    z = x @ y
    return np.array_equal(x.children[z](np.ones((2, 2))), np.ones((2, 2)) @ y.data.T)


@row((1 / np.sqrt(8), 1 / np.sqrt(8), 1 / np.sqrt(8)))
def heron_s_root_in_three_modes():
    return (
        nbgrad.grad(babysqrt)(2.0),
        nbgrad.jvp(babysqrt, (2.0,), (1.0,))[1],
        naive.gradient(babysqrt, 2.0)[0],
    )


@row(True)
def five_points_are_nearer_than_two():
    two, five = (
        abs(way(babysqrt, 2.0, step) - 1 / np.sqrt(8))
        for way, step in ((central, 1e-6), (five_point, 1e-3))
    )
    return five < 1e-12 < two < 1e-9


# -- the series and its library --------------------------------------------------------------------


def digits(x: Any) -> float:
    """The first five digits behind the point, as they are printed."""
    return float(np.trunc(x * 1e5) / 1e5)


@row((0.82533, 0.73477, 0.67831, -0.38300))
def explicit_rules():
    y1, back1 = nbgrad.rrule(np.cos, 0.6)
    y2, back2 = nbgrad.rrule(np.sin, y1)
    _, y1_bar = back2(1.0)
    _, x_bar = back1(y1_bar)
    return tuple(digits(v) for v in (y1, y2, y1_bar, x_bar))


@row(("∂(foo)", 0.73477, -0.38300))
def a_pullback_is_named_after_its_function():
    def foo(x):
        return np.sin(np.cos(x))

    value, back = nbgrad.pullback(foo, 0.6)
    return repr(back), digits(value), digits(back(1.0)[1])


@row((11.5, {"a": 4.0, "b": 1.0}, 2.0))
def a_closure_has_gradients_by_name():
    a, b = 2.0, 3.5
    value, back = nbgrad.pullback(lambda x: a * x + b, 4.0)
    return value, *back(1.0)


@row((4.875, np.array([1, 2.5, 6.25, 15.625]), 5.75))
def a_model_of_a_polynomial():
    class Polynomial:
        def __init__(self, weights):
            self.weights = weights

        def __call__(self, x):
            return nbgrad.evalpoly(x, self.weights)

    value, back = nbgrad.pullback(Polynomial(np.array([3.0, 2.0, -3.0, 1.0])), 2.5)
    model, x_bar = back(1.0)
    return value, model.weights, x_bar


@row((0.5823, -0.6368, (None, None)))
def a_chain_of_functions():
    value, back = nbgrad.pullback(nbgrad.nn.Chain(np.cos, np.sin), 0.9)
    chain, x_bar = back(1.0)
    layers = None if chain is None else chain.layers
    return round(float(value), 4), round(float(x_bar), 4), layers or (None, None)


@row(np.full(3, 4.0))
def the_bias_of_a_layer_counts_the_samples():
    layer = nbgrad.nn.Dense.random(0, 2, 3)
    _, back = nbgrad.pullback(layer, np.ones((4, 2)))
    return back(np.ones((4, 3)))[0].bias


@row((0.6224593312018546, 0.2350037122015945, 0.7864477329659274))
def activations():
    return (
        nbgrad.sigmoid(0.5), nbgrad.grad(nbgrad.sigmoid)(0.5), nbgrad.grad(np.tanh)(0.5),
    )  # fmt: skip


@row((
    np.array([0.7855970345892759, 0.03911257327068745, 0.1752903921400367]),
    np.array([-0.04655011041061041, 0.01837295773064898, 0.028177152679961473]),
    np.array([-1.3567911037678275, 0.8826622801879377, 0.47412882357988995]),
))  # fmt: skip
def softmax_and_its_logarithm():
    x = np.array([2.0, -1.0, 0.5])
    value, back = nbgrad.rrule(nbgrad.softmax, x)
    _, log_back = nbgrad.rrule(nbgrad.logsoftmax, x)
    return value, back(np.array([0.46, 0.989, 0.68]))[1], log_back(np.ones(3))[1]


@row((0.17017828200972446, 3.2**2 / 12.34**2, -2 * 2.1 * 3.2 / 12.34**2))
def a_reused_variable():
    value, back = nbgrad.pullback(lambda a, b: a / (a + b * b), 2.1, 3.2)
    return value, *back(1.0)[1:]


@row((13.815510557964274, -1e6))
def cross_entropy_with_an_epsilon():
    def loss(p):
        return nbgrad.cross_entropy(p, np.array([0]), epsilon=1e-6)

    p = np.array([[0.0, 1.0]])
    return loss(p), nbgrad.grad(loss)(p)[0, 0]


# -- the article -----------------------------------------------------------------------------------


@row((12.0, 14.0, 12.0, 14.0))
def both_modes_of_a_small_graph():
    def e(a, b):
        return (a * b) * (b + 1)

    forward = [nbgrad.jvp(e, (2.0, 3.0), d)[1] for d in ((1.0, 0.0), (0.0, 1.0))]
    return *forward, *nbgrad.gradient(e, 2.0, 3.0)


@row((True, True))
def indices_as_they_are_written():
    """`logprobs[range(n), Yb]`, eager and compiled."""
    logprobs, labels = np.log(np.full((4, 3), 1 / 3)), np.array([0, 2, 1, 1])

    def loss(logprobs, labels):
        return -logprobs[range(4), labels].mean()

    expected = -np.eye(3)[labels] / 4
    slope = nbgrad.grad(loss)
    return tuple(
        np.array_equal(f(logprobs, labels), expected) for f in (slope, nbgrad.compile(slope))
    )


@row((4.248354255291589e-18, 1.6993417021166355e-17))
def tails_do_not_underflow():
    return nbgrad.grad(nbgrad.sigmoid)(40.0), nbgrad.grad(np.tanh)(20.0)


@row((7, 8, 10))
def the_best_order_of_a_chain_rule():
    def f(x):
        t = x[0] * np.sin(x[0] * x[1])
        return np.stack([np.cos(t), t / x[1]])

    graph = nbgrad.elimination.record(f, np.array([0.7, 1.3]))
    orders = (nbgrad.elimination.order(graph, way) for way in ("optimal", "forward", "reverse"))
    return tuple(graph.cost(order) for order in orders)


@row(True)
def reverse_mode_out_of_forward_mode():
    x = np.array([0.3, -0.7])
    _, push = nbgrad.linearize(lambda x: np.sum(np.sin(x) * x[0]), x)
    direct = nbgrad.grad(lambda x: np.sum(np.sin(x) * x[0]))(x)
    return np.allclose(push.transpose(1.0)[0], direct, rtol=1e-15)


@row((True, True))
def the_divergence_exactly_and_estimated():
    a = np.random.default_rng(0).normal(size=(30, 30))
    exact = nbgrad.divergence(lambda x: a @ x)(np.zeros(30))
    found = nbgrad.trace_estimate(lambda x: a @ x, np.zeros(30), samples=20, rng=1)
    return np.isclose(exact, np.trace(a)), abs(found.value - exact) < 5 * found.standard_error


@row((8.0, 12.0))
def a_gradient_of_the_user_s_own():
    @nbgrad.custom_rule(pullback=lambda ct, out, x: ct * 3 * x**2)
    def cube(x):
        return x**3

    nbgrad.check_grads(cube, (2.0,))
    return cube(2.0), nbgrad.grad(cube)(2.0)


@pytest.mark.parametrize("name", ROWS)
def test_a_figure_is_as_it_is_told(name):
    f, expected = ROWS[name]
    compare(f(), expected)


def compare(found: Any, expected: Any) -> None:
    if isinstance(expected, (str, bool)) or expected is None:
        assert found == expected
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            compare(found[key], value)
    elif isinstance(expected, tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            compare(one, other)
    else:
        np.testing.assert_allclose(found, expected, rtol=4e-15)
