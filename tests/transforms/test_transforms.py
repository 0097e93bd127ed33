"""`gradient`, `grad`, `value_and_grad`, `jvp`: structures, nesting, levels, errors."""

import numpy as np
import pytest

import nbgrad
from nbgrad import grad, gradient, jvp, track, value_and_grad


def test_gradient_is_always_a_tuple():
    assert gradient(lambda x, y: x * y + np.sin(x), 2.0, 3.0) == (2.5838531634528574, 2.0)
    assert gradient(np.square, 3.0) == (6.0,)


def test_trees_keep_their_structure_and_integers_stay():
    def f(p, n):
        assert isinstance(n, int) and isinstance(p["depth"], int)
        return np.sum(p["w"] @ p["list"][0]) * p["pair"][1] * n

    params = {"w": np.ones((2, 3)), "list": [np.arange(3.0)], "pair": ("label", 2.0), "depth": 4}
    value, slopes = value_and_grad(f)(params, 5)
    assert value == 60.0
    np.testing.assert_array_equal(slopes["w"], np.tile([0.0, 10.0, 20.0], (2, 1)))
    np.testing.assert_array_equal(slopes["list"][0], [20.0, 20.0, 20.0])
    assert slopes["pair"] == (None, 30.0) and slopes["depth"] is None


def test_arrays_and_trees_side_by_side():
    def f(a, p, b):
        return np.sum(a * b) * p["scale"], {"largest": np.max(a)}

    a, b = np.arange(3.0), np.asfortranarray(np.ones((2, 3)))
    both = value_and_grad(f, (2, 1, 0), has_aux=True)
    (value, aux), (b_bar, p_bar, a_bar) = both(a, {"scale": 2.0, "n": 3}, b)
    assert value == 12.0 and aux == {"largest": 2.0}
    assert type(value) is np.float64 and type(aux["largest"]) is np.float64
    np.testing.assert_array_equal(b_bar, [[0.0, 2.0, 4.0]] * 2)
    np.testing.assert_array_equal(a_bar, [4.0, 4.0, 4.0])
    assert p_bar == {"scale": 6.0, "n": None}


def test_one_number_of_any_shape_is_a_value_as_it_is():
    x, held = np.array([2.0, 3.0]), track([5.0])
    value, slope = value_and_grad(lambda x: np.sum(x, keepdims=True))(x)
    assert type(value) is np.ndarray and value.shape == (1,) and value[0] == 5.0
    np.testing.assert_array_equal(slope, [1.0, 1.0])
    for constant in (held, held * 2.0, np.ones(1), 5.0):
        with pytest.warns(nbgrad.ConstantWarning):
            value, slope = value_and_grad(lambda x, c=constant: c)(x)
        assert np.shape(value) == np.shape(constant)
        np.testing.assert_array_equal(slope, [0.0, 0.0])
    assert held.grad is None


def test_argnums():
    def f(x, y):
        return x * x * y

    assert grad(f, 1)(3.0, 2.0) == 9.0
    assert grad(f, (1, 0))(3.0, 2.0) == (9.0, 12.0)
    assert grad(f, -1)(3.0, 2.0) == 9.0


def test_dtype_and_shape_of_gradients():
    g = grad(lambda x: np.sum(np.sin(x)))(np.ones((2, 1), np.float32))
    assert g.dtype == np.float32 and g.shape == (2, 1)
    assert isinstance(grad(np.sin)(1.0), np.float64)


def test_what_the_result_does_not_depend_on_has_gradient_zero():
    f = lambda x: 3.0  # noqa: E731
    with pytest.warns(nbgrad.ConstantWarning, match=r"result of <lambda> \(test_transforms.py:\d+"):
        np.testing.assert_array_equal(grad(f)(np.ones(2)), np.zeros(2))
    np.testing.assert_array_equal(grad(f)(np.ones(2)), np.zeros(2))  # once a function
    assert gradient(lambda x, y: x * x, 3.0, 1.0) == (6.0, 0.0)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_any_order(order):
    f, expected = np.exp, np.exp(0.3) * 2**order
    derivative = lambda x: f(2.0 * x)  # noqa: E731
    for _ in range(order):
        derivative = grad(derivative)
    np.testing.assert_allclose(derivative(0.3), expected * np.exp(0.3), rtol=1e-13)


def f(x):
    return np.sum(np.tanh(x) * x * x)


def test_hessian_vector_products_three_ways(rng):
    x, v = rng.normal(size=(2, 5))
    forward_over_reverse = jvp(grad(f), (x,), (v,))[1]
    reverse_over_forward = grad(lambda x: jvp(f, (x,), (v,))[1])(x)
    reverse_over_reverse = grad(lambda x: np.sum(grad(f)(x) * v))(x)
    np.testing.assert_allclose(forward_over_reverse, reverse_over_forward, rtol=1e-12)
    np.testing.assert_allclose(forward_over_reverse, reverse_over_reverse, rtol=1e-12)
    tracked = track(x)
    f(tracked).backward(create_graph=True)
    slope, tracked.grad = tracked.grad, None
    np.sum(slope * v).backward()
    np.testing.assert_allclose(np.asarray(tracked.grad), forward_over_reverse, rtol=1e-12)


def test_perturbations_are_not_confused():
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(2.0) == 1.0
    assert jvp(lambda x: x * jvp(lambda y: x + y, (1.0,), (1.0,))[1], (2.0,), (1.0,))[1] == 1.0
    assert grad(lambda x: x * jvp(lambda y: x * y, (1.0,), (1.0,))[1])(2.0) == 4.0
    assert jvp(lambda x: x * grad(lambda y: x * y)(1.0), (2.0,), (1.0,))[1] == 4.0


def test_a_leaf_keeps_its_derivative_where_it_is_passed_and_where_it_is_closed_over():
    for slope_of in (
        lambda t: grad(lambda y, t: t * t * y * y)(3.0, t),
        lambda t: grad(lambda y: t * t * y * y)(3.0),
    ):
        t = track(2.0)
        slope = slope_of(t)
        slope.backward()
        assert (slope.item(), t.grad) == (24.0, 24.0)


def test_transformations_of_tracked_arguments():
    x = track(2.0)
    slope = grad(lambda t: t**3)(x)
    slope.backward()
    assert (slope.item(), x.grad) == (12.0, 12.0)
    value, tangent = jvp(lambda t: t**3, (track(2.0),), (1.0,))
    assert (value.item(), tangent.item()) == (8.0, 12.0)


def test_track_and_backward_inside_of_a_gradient():
    def inner(x):
        t = track(3.0)
        z = t * t * x
        z.backward()
        return t.grad * x

    assert grad(inner)(2.0) == 24.0


def test_gradients_own_their_memory():
    x, y = np.ones(3), np.ones(3)
    g, h = gradient(lambda x, y: np.sum(x + y), x, y)
    g[:] = 7
    np.testing.assert_array_equal(h, np.ones(3))
    np.testing.assert_array_equal(x, np.ones(3))
