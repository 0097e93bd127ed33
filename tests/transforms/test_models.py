"""Models of any kind: plain objects, chains of them, closures, bound methods and partial calls."""

import functools
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import grad, pullback, vjp

X, Y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 3.0, 15.0])


class Polynomial:
    def __init__(self, weights):
        self.weights, self.name = np.array(weights, float), "polynomial"

    def __call__(self, x):
        return sum(self.weights[k] * x**k for k in range(len(self.weights)))


class Affine:
    __slots__ = ("shift", "slope")

    def __init__(self, slope, shift):
        self.slope, self.shift = slope, shift

    def __call__(self, x):
        return self.slope * x + self.shift


class Chain:
    def __init__(self, *layers):
        self.layers = layers

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def line(a, b):
    return lambda x: a * x + b


def test_a_plain_object_is_a_model():
    model = Polynomial([3.0, 2.0, -3.0, 1.0])
    value, back = pullback(lambda m, x: nbgrad.mse(m(x), Y), model, X)
    _, slope, _ = back(1.0)
    assert value == 46.25 and type(slope) is Polynomial and slope.name is None
    np.testing.assert_allclose(slope.weights, [10.5, 35.5, 127.5, 473.5])
    slope, x_bar = pullback(model, X)[1](np.ones(4))
    np.testing.assert_allclose(slope.weights, [4.0, 10.0, 30.0, 100.0])
    np.testing.assert_allclose(x_bar, [-1.0, 2.0, 11.0, 26.0])


@pytest.mark.parametrize("how", ["pullback", "vjp", "grad", "compile", "model"])
def test_chains_of_plain_layers_whatever_came_before(how):
    class Layer(Affine):  # a class that nothing has seen
        pass

    model = Chain(Layer(2.0, np.ones(4)), np.sin, Layer(3.0, 0.5))

    def total(m, x):
        return np.sum(m(x))

    if how == "pullback":
        _, slope, _ = pullback(total, model, X)[1](1.0)
    elif how == "vjp":
        slope, _ = vjp(total, model, X)[1](1.0)
    elif how == "model":
        slope, _ = pullback(model, X)[1](np.ones(4))
    else:
        f = grad(total)
        slope = (nbgrad.compile(f) if how == "compile" else f)(model, X)
    inner = 2.0 * X + 1.0
    np.testing.assert_allclose(slope.layers[0].shift, 3.0 * np.cos(inner))
    np.testing.assert_allclose(slope.layers[0].slope, np.sum(3.0 * X * np.cos(inner)))
    np.testing.assert_allclose(slope.layers[2].slope, np.sum(np.sin(inner)))
    assert slope.layers[1] is None and type(slope.layers[0]) is Layer


def test_closures_partial_calls_and_methods_have_states():
    model = Chain(line(2.0, 3.5), functools.partial(np.multiply, 3.0), Affine(4.0, 1.0).__call__)
    state, x_bar = pullback(model, 1.0)[1](1.0)
    assert state.layers[0] == {"a": 12.0, "b": 12.0}
    assert state.layers[1] == (None, (22.0,), {})
    assert (state.layers[2].slope, state.layers[2].shift) == (16.5, 1.0)
    assert x_bar == 24.0
    assert pullback(nbgrad.map, line(2.0, 3.5), [1, 2])[1](np.ones(2))[1] == {"a": 3.0, "b": 2.0}
    assert grad(lambda f, x: f(x))(line(2.0, 3.5), 4.0) == {"a": 4.0, "b": 1.0}
    with pytest.raises(TypeError, match=r"Python's map gives an iterator.*nbgrad\.map"):
        pullback(map, line(2.0, 3.5), [1, 2])


def test_a_closure_that_calls_itself_is_differentiated_all_the_way():
    def power_of(a):
        def f(n):
            return a * f(n - 1) if n else a

        return f

    assert pullback(power_of(3.0), 2)[1](1.0)[0] == {"a": 27.0}


def test_what_cannot_be_taken_apart_is_refused():
    class Values(list):
        pass

    class Guarded(Affine):
        __slots__ = ()

        def __getstate__(self):
            return ()

    for held in (Values([1.0]), Guarded(1.0, 2.0)):
        with pytest.raises(TypeError, match=r"holds floats, .* nbgrad\.register\("):
            pullback(lambda m, x: x, held, 2.0)

    child: Any = Affine(2.0, 1.0)
    child.shift = deque([child])
    with pytest.raises(TypeError, match=r"holds floats, and itself: .*nbgrad\.register\(Affine"):
        pullback(lambda m, x: x, child, 2.0)

    def pair(a):
        def g(x):
            return f(x)

        def f(x):
            return a * x if x is None else g(x)

        return f

    with pytest.raises(TypeError, match="the closure f holds floats and, through another function"):
        pullback(pair(2.0), 3.0)


def test_objects_without_floats_stay_as_they_are():
    class Options:
        steps = 3

        def __init__(self):
            self.order, self.parent = 2, self

    options = Options()
    seen = []

    def f(o, x):
        seen.append(o)
        return x**o.order

    assert pullback(f, options, 3.0)[1](1.0) == (None, None, 6.0)
    assert seen == [options]
    assert nbgrad.compile(lambda x, o: x**o.order)(3.0, options) == 9.0


def test_keyword_arguments_pass_through():
    assert pullback(lambda x, k: x * k, 3.0, k=2.0)[1](1.0) == (None, 2.0)
    assert vjp(lambda x, k: x * k, 3.0, k=2.0)[1](1.0) == (2.0,)
    assert nbgrad.linearize(lambda x, k: x * k, 3.0, k=2.0)[1](1.0) == 2.0
    _, x_bar = nbgrad.rrule(np.sum, np.ones((2, 3)), axis=0)[1](np.arange(3.0))
    np.testing.assert_array_equal(x_bar, [[0.0, 1.0, 2.0]] * 2)


def test_results_and_out_may_be_plain_objects():
    f = nbgrad.compile(lambda m, x: Affine(m.slope * x, m.shift + x))
    out = Affine(np.zeros(4), np.zeros(4))
    given = f(Affine(2.0, 1.0), X, out=out)
    assert given.slope is out.slope
    np.testing.assert_array_equal(out.slope, 2.0 * X)
    np.testing.assert_array_equal(f(Affine(2.0, 1.0), X).shift, X + 1.0)


@dataclass
class Power:
    scale: Any
    order: int = 2

    def __call__(self, x):
        return self.scale * x**self.order


nbgrad.register(Power, fields=["scale"])


def descended(model, x):
    """A step of descent on the sum: the value, and the model afterwards."""
    value, slopes = nbgrad.value_and_grad(lambda m: np.sum(m(x)))(model)
    leaves, rebuild = nbgrad.transforms.trees.flatten(model)
    moves = nbgrad.transforms.trees.flatten(slopes)[0]
    pairs = zip(leaves, moves, strict=True)
    return value, rebuild([w if g is None else w - 0.1 * g for w, g in pairs])


def test_compiled_functions_give_back_what_models_hold_besides_arrays():
    step = nbgrad.compile(descended)
    model = Chain(Power(np.ones(4)), np.sin, Power(np.full(4, 2.0), order=3))
    for order in (2, 2, 3):  # the second call goes by the generated way in
        model.layers[0].order = order
        value, after = step(model, X)
        wanted, reference = descended(model, X)
        assert np.isclose(value, wanted, rtol=1e-14) and after.layers[1] is np.sin
        assert [layer.order for layer in after.layers[::2]] == [order, 3]
        for found, right in zip(after.layers[::2], reference.layers[::2], strict=True):
            np.testing.assert_allclose(found.scale, right.scale, rtol=1e-13)
    assert step(model, X)[1].layers[0].order == 3 and len(step._variants) == 2


def test_a_whole_number_that_shapes_the_program_is_named():
    def layer() -> type:
        @dataclass
        class Heads:
            weight: Any
            heads: int

            def __call__(self, x):
                return np.reshape(x * self.weight, (self.heads, -1))

        return Heads

    call = nbgrad.compile(lambda m, x: m(x))
    with pytest.raises(nbgrad.TraceError, match=r"or the attributes .* nbgrad\.register\("):
        call(layer()(np.ones(4), 2), X)
    assert call(nbgrad.register(layer(), fields=["weight"])(np.ones(4), 2), X).shape == (2, 2)


def test_what_a_class_carries_along_its_subclasses_carry():
    @dataclass
    class Shifted(Power):
        shift: Any = 1.0

        def __call__(self, x):
            return super().__call__(x) + self.shift

    model = Shifted(np.ones(4), 3, np.zeros(4))
    for wrap in (lambda f: f, nbgrad.compile):
        slope = wrap(grad(lambda m, x: np.sum(m(x))))(model, X)
        np.testing.assert_allclose(slope.scale, X**3)
        assert slope.order == 3 and slope.shift.tolist() == [1.0] * 4


def test_out_takes_models():
    step = nbgrad.compile(lambda m, x: Chain(Power(m.layers[0].scale * x), m.layers[1], "word"))
    model = Chain(Power(np.ones(4)), np.sin)
    out = Chain(Power(np.zeros(4)), np.sin, "word")
    for _ in range(2):
        found = step(model, X, out=out)
        assert found.layers[1:] == (np.sin, "word")
        np.testing.assert_array_equal(out.layers[0].scale, X)


def test_what_a_compiled_function_may_not_give():
    with pytest.raises(nbgrad.TraceError, match="this one returned a function"):
        nbgrad.compile(lambda x: (x, lambda y: x * y))(1.0)


@pytest.mark.parametrize("wrap", [lambda f: f, nbgrad.compile])
def test_loops_carry_functions_along(wrap):
    model = Chain(Power(np.ones(4)), np.sin)
    train = wrap(lambda m, x: nbgrad.scan(lambda m, _: descended(m, x)[::-1], m, length=3))
    after, values = train(model, X)
    for value in values:
        wanted, model = descended(model, X)
        assert np.isclose(value, wanted, rtol=1e-13)
    assert after.layers[1] is np.sin
    np.testing.assert_allclose(after.layers[0].scale, model.layers[0].scale, rtol=1e-13)

    with pytest.raises(TypeError, match="changes the strings or functions in its state"):
        nbgrad.loop(2, lambda i, s: (s[0], np.cos), (1.0, np.sin))
    with pytest.raises(TypeError, match="changes the structure of the state"):
        nbgrad.loop(2, lambda i, s: (s[0], 1.0), (1.0, np.sin))


def test_accum_and_reset_take_models():
    model = Chain(Affine(nbgrad.track(2.0), nbgrad.track(1.0)), np.tanh)
    z: Any = model(0.5)
    z.grad = 1.0
    slopes = nbgrad.accum(model)
    assert np.isclose(slopes.layers[0].shift, 1.0 / np.cosh(2.0) ** 2)
    assert np.isclose(model.layers[0].slope.grad, 0.5 / np.cosh(2.0) ** 2)
    assert slopes.layers[1] is None
    nbgrad.reset(model, nbgrad.track(1.0))
    assert model.layers[0].slope.grad is None
    with pytest.raises(nbgrad.GraphError):
        z.backward()
