"""Programs in autograd's call forms: its names for transformations, rules and descent."""

import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import nbgrad
import nbgrad.numpy as gnp  # pyright: ignore
from nbgrad import (
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    hessian,
    hessian_vector_product,
    jacobian,
    make_hvp,
    make_jvp,
    make_vjp,
    value_and_grad,
    vector_jacobian_product,
)
from nbgrad.extend import defjvp, defvjp, primitive
from nbgrad.misc import flatten
from nbgrad.misc.flatten import flatten_func
from nbgrad.misc.optimizers import adam, rmsprop, sgd

X, V = np.array([0.4, -1.1, 0.7]), np.array([1.0, 0.5, -2.0])


def curve(scale, x):
    y = gnp.zeros(3)
    y[:] = scale * gnp.sin(x) * x
    return y


def loss(scale, x):
    return gnp.sum(curve(scale, x) ** 2)


# -- transformations ------------------------------------------------------------------------------

STEP = 1e-6


def slope_of(f, x, v):
    return (f(x + STEP * v) - f(x - STEP * v)) / (2 * STEP)


@pytest.mark.parametrize("make", [grad, value_and_grad, elementwise_grad, jacobian, hessian])
def test_argnum_means_argnums(make):
    def both(**named):
        found = make(loss, **named)(2.0, X)
        return found[1] if make is value_and_grad else found

    assert np.array_equal(both(argnum=1), both(argnums=1))
    assert "argnum" not in inspect.signature(make).parameters
    assert pickle.loads(pickle.dumps(make(np.sum, argnum=0)))(X) is not None
    with pytest.raises(TypeError, match="multiple values"):
        make(loss, 0, **{"argnum": 1})


def test_several_arguments():
    make: Any = grad  # of which type checkers know argnums only
    of_scale, of_x = make(loss, argnum=(0, 1))(2.0, X)
    assert np.isclose(of_scale, slope_of(lambda s: loss(s, X), 2.0, 1.0), rtol=1e-6)
    assert np.isclose(of_x @ V, slope_of(lambda x: loss(2.0, x), X, V), rtol=1e-6)


def test_pullbacks_and_pushforwards():
    pullback, value = make_vjp(curve, 1)(2.0, X)
    tangent = make_jvp(curve, 1)(2.0, X)(V)
    assert np.array_equal(value, curve(2.0, X))
    assert np.array_equal(tangent[0], value)
    assert np.isclose(pullback(V) @ V, tangent[1] @ V)
    assert np.allclose(tangent[1], slope_of(lambda x: curve(2.0, x), X, V), rtol=1e-6)
    assert np.array_equal(vector_jacobian_product(curve, 1)(2.0, X, V), pullback(V))
    of_both, _ = make_vjp(curve, (0, 1))(2.0, X)
    assert np.array_equal(of_both(V)[1], pullback(V))
    assert np.isclose(deriv(lambda x: np.sin(x) * x)(0.3), np.sin(0.3) + 0.3 * np.cos(0.3))


def test_products_with_the_hessian():
    expected = hessian(loss, 1)(2.0, X) @ V
    assert np.allclose(hessian_vector_product(loss, 1)(2.0, X, V), expected)
    product, slope = make_hvp(loss, 1)(2.0, X)
    assert np.allclose(product(V), expected)
    assert np.allclose(slope, grad(loss, 1)(2.0, X))
    assert np.allclose(nbgrad.compile(lambda x, v: make_hvp(loss, 1)(2.0, x)[0](v))(X, V), expected)


def test_a_second_result():
    found, aux = grad_and_aux(lambda x: (np.sum(x**2), {"sum": np.sum(x)}))(X)
    assert np.array_equal(found, 2 * X)
    assert np.isclose(aux["sum"], np.sum(X))


def test_names_that_are_not_there_are_none():
    with pytest.raises(AttributeError, match="holomorphic_grad"):
        getattr(nbgrad, "holomorphic_grad")  # noqa: B009


# -- rules ----------------------------------------------------------------------------------------


def made(with_jvp: bool):
    @primitive
    def log_sum(x, weight, power=1):
        return np.log(np.sum(np.exp(x))) * weight**power

    defvjp(
        log_sum,
        lambda ans, x, w, power=1: lambda g: g * w**power * np.exp(x - ans / w**power),
        lambda ans, x, w, power=1: lambda g: g * ans * power / w,
    )
    if with_jvp:
        defjvp(
            log_sum,
            lambda g, ans, x, w, power=1: np.sum(g * np.exp(x - ans / w**power)) * w**power,
            lambda g, ans, x, w, power=1: g * ans * power / w,
        )
    return log_sum


@pytest.mark.parametrize("with_jvp", [False, True])
def test_primitives_have_the_derivatives_that_they_are_given(with_jvp):
    f = made(with_jvp)
    nbgrad.check_grads(f, (X, 1.7), ("reverse", "forward"), order=2)
    nbgrad.check_grads(lambda x, w: f(x, w, power=2), (X, 1.7), ("reverse", "forward"))
    assert f.__name__ == "log_sum"
    assert np.allclose(nbgrad.compile(grad(f))(X, 1.7), grad(f)(X, 1.7))


def test_arguments_without_a_rule_are_refused_by_name():
    @primitive
    def scaled(x, n):
        return x * n

    with pytest.raises(nbgrad.NoRuleError, match="scaled has no derivative in argument 0"):
        grad(scaled)(2.0, 3.0)
    defvjp(scaled, lambda ans, x, n: lambda g: g * n)
    assert grad(scaled)(2.0, 3.0) == 3.0
    with pytest.raises(nbgrad.NoRuleError, match="scaled has no derivative in argument 1"):
        grad(scaled, 1)(2.0, 3.0)
    defvjp(scaled, None, argnums=[1])
    with pytest.warns(nbgrad.ConstantWarning, match="scaled"):
        assert grad(scaled, 1)(2.0, 3.0) == 0.0

    @primitive
    def forward_only(x):
        return 2.0 * x

    defjvp(forward_only, lambda g, ans, x: 2.0 * g)
    assert make_jvp(forward_only)(1.0)(3.0)[1] == 6.0
    with pytest.raises(nbgrad.NoRuleError, match="forward_only has no vjp"):
        grad(forward_only)(1.0)


# -- trees and descent ----------------------------------------------------------------------------


def test_trees_as_vectors():
    tree = (X, [np.ones((2, 2)), 3.0], {"b": 1.0, "a": np.zeros(0)}, ())
    vector, unflatten = flatten(tree)
    assert vector.shape == (9,)
    assert np.array_equal(flatten(unflatten(vector))[0], vector)
    f, unflatten, start = flatten_func(lambda p, s: {"w": p["w"] * s}, {"w": X})
    assert np.array_equal(f(start, 2.0), 2 * X)
    found = grad(lambda v: np.sum(flatten(unflatten(v))[0] ** 2))(start)
    assert np.array_equal(found, 2 * X)


def autograds(name: str, g, x: float, steps: int) -> float:
    """The steps as autograd states them, of one number."""
    v, m, s = 0.0, 0.0, 1.0 if name == "rmsprop" else 0.0
    for i in range(steps):
        slope = g(x, i)
        if name == "sgd":
            v = 0.9 * v - 0.1 * slope
            x += 0.1 * v
        elif name == "rmsprop":
            s = 0.9 * s + 0.1 * slope**2
            x -= 0.1 * slope / (np.sqrt(s) + 1e-8)
        else:
            m, s = 0.9 * m + 0.1 * slope, 0.999 * s + 0.001 * slope**2
            x -= 0.001 * m / (1 - 0.9 ** (i + 1)) / (np.sqrt(s / (1 - 0.999 ** (i + 1))) + 1e-8)
    return x


@pytest.mark.parametrize("rule", [sgd, rmsprop, adam])
def test_descent_takes_autograds_steps(rule):
    def slope(p, i):
        return {"w": 2 * p["w"] + i, "b": [p["b"][0] ** 3]}

    seen = []
    start = {"w": 1.0, "b": [np.array([2.0])]}
    end = rule(slope, start, lambda p, i, g: seen.append((i, p["w"], g["w"])), num_iters=4)
    assert np.isclose(
        end["w"], autograds(rule.__name__, lambda x, i: 2 * x + i, 1.0, 4), rtol=1e-12
    )
    last = autograds(rule.__name__, lambda x, i: x**3, 2.0, 4)
    assert np.allclose(end["b"][0], last, rtol=1e-12)
    assert [i for i, *_ in seen] == [0, 1, 2, 3]
    assert seen[0][1:] == (1.0, 2.0)
