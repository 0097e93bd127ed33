"""Arguments and results that are nested: containers, dataclasses, registered classes."""

import dataclasses
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import grad, jvp, value_and_grad, vjp
from nbgrad.transforms import trees

Pair = namedtuple("Pair", "left right")


@dataclasses.dataclass
class Dense:
    w: np.ndarray
    b: np.ndarray
    act: Callable = np.tanh
    label: str = "dense"

    def __call__(self, x):
        return self.act(x @ self.w + self.b)


@dataclasses.dataclass(frozen=True, slots=True)
class Chain:
    layers: tuple

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@nbgrad.register(fields=["scale"])
class Scaled:
    def __init__(self, scale, note):
        self.scale, self.note = scale, note


MODEL = Chain((Dense(np.ones((2, 3)), np.zeros(3)), Dense(np.ones((3, 1)), np.zeros(1))))
X = np.array([[0.1, 0.2], [0.3, -0.4]])


def loss(model, x):
    return np.sum(model(x) ** 2)


def test_dataclasses_are_trees_on_sight():
    slope = grad(loss)(MODEL, X)
    assert isinstance(slope, Chain) and isinstance(slope.layers[0], Dense)
    assert slope.layers[0].act is None and slope.layers[0].label is None
    hidden = np.tanh(X @ np.ones((2, 3)))
    out = np.tanh(hidden @ np.ones((3, 1)))
    np.testing.assert_allclose(slope.layers[1].b, np.sum(2 * out * (1 - out**2), axis=0))
    assert slope.layers[0].w.shape == (2, 3)


def test_compiled_functions_take_and_give_them():
    value, slope = nbgrad.compile(value_and_grad(loss))(MODEL, X)
    expected_value, expected = value_and_grad(loss)(MODEL, X)
    np.testing.assert_allclose(value, expected_value, rtol=1e-13)
    for got, want in zip(slope.layers, expected.layers, strict=True):
        np.testing.assert_allclose(got.w, want.w, rtol=1e-12)
        assert type(got) is Dense and got.label is None


def test_registered_classes_keep_what_is_no_field():
    slope = grad(lambda s: s.scale * s.scale)(Scaled(3.0, "note"))
    assert (slope.scale, slope.note) == (6.0, "note")
    with pytest.raises(TypeError, match="register: Scaled is registered already"):
        nbgrad.register(Scaled)
    with pytest.raises(TypeError, match="register: a float is no class"):
        wrong: Any = 2.0
        nbgrad.register(wrong)


@pytest.mark.parametrize(
    "tree",
    [
        {"a": X, "b": [X, (2.0, None)], "c": "text", "d": 3},
        Pair(X, {"inner": X}),
        OrderedDict(z=X, a=2.0),
        [X, 1.0, np.sin],
        MODEL,
        Scaled(X, "x"),
    ],
    ids=lambda tree: type(tree).__name__,
)
def test_every_container_passes_through_every_mode(tree):
    leaves, rebuild = trees.flatten(tree)
    floats = [trees.is_differentiable(x) for x in leaves]

    def f(t):
        found, back = trees.flatten(t)
        return back([x * x if is_float else x for x, is_float in zip(found, floats, strict=True)])

    def projected(t):
        found, _ = trees.flatten(f(t))
        return sum(np.sum(x) for x, is_float in zip(found, floats, strict=True) if is_float)

    slope = grad(projected)(tree)
    direction = rebuild([x if ok else None for x, ok in zip(leaves, floats, strict=True)])
    tangent = jvp(projected, (tree,), (direction,))[1]
    assert trees.same_structure(slope, tree)
    found, _ = trees.flatten(slope)
    for g, x, is_float in zip(found, leaves, floats, strict=True):
        assert np.array_equal(g, 2 * x) if is_float else g is None
    expected = sum(2 * np.sum(x * x) for x, ok in zip(leaves, floats, strict=True) if ok)
    np.testing.assert_allclose(tangent, expected)
    _, push = nbgrad.linearize(projected, tree)
    np.testing.assert_allclose(push(direction), expected)


def test_plain_arrays_do_not_load_optree():
    from helpers.children import run

    session = run("""
import sys, numpy as np, nbgrad
x = np.ones(3)
nbgrad.grad(lambda x: np.sum(x * x))(x)
nbgrad.value_and_grad(lambda x, y: np.sum(x * y), (0, 1))(x, 2.0)
nbgrad.grad(lambda xs: np.sum(xs[0] * xs[1][0]))([x, (x, 2.0)])
nbgrad.compile(nbgrad.value_and_grad(lambda xs: np.sum(xs[0] * xs[1])))([x, x])
result = "optree" in sys.modules
""")
    assert session.result is False


def test_lists_and_tuples_of_arrays_have_a_structure_of_their_own():
    alike = [
        [X, 2.0], (X, 2.0), [X, [2.0]], ((X,), 2.0), [], (), {}, [[], X], [X, {}], {"x": X}, X,
        Pair(X, 2.0), [X, None],
    ]  # fmt: skip
    shapes = [trees.structure(tree) for tree in alike]
    assert len(set(shapes)) == len(alike)
    for tree, shape in zip(alike, shapes, strict=True):
        leaves, rebuild = trees.flatten(tree)
        again = rebuild([3.0 if x is not None else x for x in leaves])
        assert trees.structure(again) == shape and type(again) in (type(tree), float)


def test_vjp_of_trees():
    value, pullback = vjp(lambda p: {"y": p["x"] * p["s"], "n": 3}, {"x": X, "s": 2.0})
    assert value["n"] == 3
    (found,) = pullback({"y": np.ones((2, 2)), "n": 0})
    np.testing.assert_array_equal(found["x"], 2 * np.ones((2, 2)))
    np.testing.assert_allclose(found["s"], np.sum(X))


def test_what_is_static_differs_by_type_too():
    from dataclasses import dataclass

    @dataclass
    class Layer:
        w: float

    first, second = Layer(1.0), Layer(1.0)
    first.flag, second.flag = 1, True  # pyright: ignore[reportAttributeAccessIssue]
    assert nbgrad.transforms.trees.structure(first) != nbgrad.transforms.trees.structure(second)
