"""Rules and elementwise functions that users give, in every mode and tier."""

from typing import Any

import numba
import numpy as np
import pytest
from helpers.messages import text_of

import nbgrad
from nbgrad import DimensionMismatch, NoRuleError, TraceError, grad, jvp, vmap

X = np.linspace(-1.0, 1.5, 5)


@nbgrad.custom_rule(pullback=lambda ct, out, x: ct * np.cos(x))
def sine(x):
    return np.sin(x)


def _affine_pullback(ct, out, p, x):
    return {"w": np.outer(ct["y"], x), "k": None, "b": ct["y"]}, p["w"].T @ ct["y"]


@nbgrad.custom_rule(pullback=_affine_pullback)
def affine(p, x):
    return {"y": p["w"] @ x + p["b"]}


PARAMS = {"w": np.arange(6.0).reshape(2, 3), "k": 4, "b": np.ones(2)}


@numba.njit
def weighted(x, y):
    total = 0.0
    for k in range(y.size):
        total += y[k] * y[k]
    return x * total


@numba.njit
def weighted_pullback(ct, out, x, y):
    return ct * np.sum(y * y), 2.0 * ct * x * y


fast = nbgrad.custom_rule(weighted, pullback=weighted_pullback)


def test_the_rule_is_the_derivative_in_every_mode():
    assert grad(sine)(0.3) == np.cos(0.3)
    assert grad(grad(sine))(0.3) == -np.sin(0.3)
    np.testing.assert_array_equal(jvp(sine, (X,), (X,))[1], X * np.cos(X))
    np.testing.assert_allclose(vmap(grad(sine))(X), np.cos(X), rtol=1e-15)
    np.testing.assert_allclose(nbgrad.compile(vmap(grad(sine)))(X), np.cos(X), rtol=1e-15)
    nbgrad.check_grads(sine, (X,), modes=("reverse", "forward"), order=2)


def test_trees_in_and_out():
    slope = grad(lambda p: np.sum(affine(p, np.ones(3))["y"] ** 2))(PARAMS)
    assert slope["k"] is None
    np.testing.assert_array_equal(slope["b"], 2.0 * np.array([4.0, 13.0]))
    jacobian = nbgrad.jacobian(lambda x: affine(PARAMS, x)["y"], mode="forward")(np.ones(3))
    np.testing.assert_array_equal(jacobian, PARAMS["w"])


def test_several_results_are_one_op():
    rule = nbgrad.custom_rule(
        lambda x, y: (x * y, np.sum(x) + y, "label"),
        pullback=lambda ct, out, x, y: (ct[0] * y + ct[1], np.sum(ct[0] * x) + ct[1]),
    )
    value, pullback = nbgrad.vjp(lambda x, y: rule(x, y)[:2], X, 2.0)
    np.testing.assert_array_equal(value[0], 2.0 * X)
    x_bar, y_bar = pullback((X, 3.0))
    np.testing.assert_allclose(x_bar, 2.0 * X + 3.0)
    np.testing.assert_allclose(y_bar, X @ X + 3.0)


def test_compiled_functions_of_the_user_run_as_they_are():
    value, slopes = nbgrad.value_and_grad(fast, (0, 1))(2.0, X)
    np.testing.assert_allclose(value, 2.0 * X @ X, rtol=1e-15)
    np.testing.assert_allclose(slopes[0], X @ X, rtol=1e-15)
    np.testing.assert_allclose(slopes[1], 4.0 * X, rtol=1e-15)
    batch = vmap(grad(fast, 1))(X, np.ones((5, 3)))
    np.testing.assert_allclose(batch, 2.0 * X[:, None] * np.ones(3), rtol=1e-15)


def test_what_a_compiled_rule_cannot_do_says_so():
    with pytest.raises(NoRuleError, match="weighted: its pullback is compiled by Numba and cannot"):
        grad(grad(lambda x: fast(x, X)))(2.0)
    with pytest.raises(NoRuleError, match="weighted: forward mode needs a pushforward"):
        jvp(fast, (2.0, X), (1.0, X))
    with pytest.raises(TraceError, match="weighted is compiled by Numba and cannot be recorded"):
        nbgrad.compile(fast)(2.0, X)


def test_a_pushforward_is_used():
    rule = nbgrad.custom_rule(
        weighted,
        pullback=weighted_pullback,
        pushforward=lambda tangents, out, x, y: tangents[0] * (y @ y) + 2 * x * (y @ tangents[1]),
    )
    tangent = jvp(rule, (2.0, X), (1.0, X))[1]
    np.testing.assert_allclose(tangent, X @ X + 4.0 * X @ X, rtol=1e-15)
    np.testing.assert_allclose(jvp(lambda x: rule(x, X), (2.0,), (1.0,))[1], X @ X, rtol=1e-15)


def test_rrule_takes_a_custom_rule():
    value, back = nbgrad.rrule(sine, 0.6)
    assert value == np.sin(0.6) and back(1.0) == (None, np.cos(0.6))


def _with(rule):
    @nbgrad.custom_rule(pullback=rule)
    def product(x, y):
        return np.sum(x * y)

    return product


@pytest.mark.parametrize(
    ("rule", "kind", "text"),
    [
        (lambda ct, out, x, y: (ct * y,), TypeError, "product: its pullback gave 1 cotangents for "
         "2 arguments: return a tuple with one for each, None where there is none"),
        (lambda ct, out, x, y: ct * y, TypeError, "product: its pullback gave ndarray for 2 "
         "arguments: return a tuple with one for each, None where there is none"),
        (lambda ct, x, y: (ct * y, ct * x), TypeError, "product: its pullback takes other "
         "arguments: write it as pullback(ct, out, *args), with the arguments of the function "
         "behind ct and out"),
        (lambda ct, out, x, y: (ct * y, ct), DimensionMismatch, "product: its pullback gave shape "
         "() for an argument of shape (5,); they must be equal"),
        (lambda ct, out, x, y: (ct * y, [ct * x]), TypeError, "product: the cotangent of argument "
         "1 nests as [*], and must nest as the argument does: one array"),
    ],
)  # fmt: skip
def test_a_wrong_rule_names_the_function(rule, kind, text):
    with pytest.raises(kind) as caught:
        grad(_with(rule), (0, 1))(X, X)
    assert text_of(caught.value) == text


def test_none_is_no_cotangent():
    slopes = grad(_with(lambda ct, out, x, y: (ct * y, None)), (0, 1))(X, X)
    np.testing.assert_array_equal(slopes[0], X)
    np.testing.assert_array_equal(slopes[1], np.zeros(5))


# -- element by element ---------------------------------------------------------------------------


@nbgrad.custom_elementwise(partials=[lambda x, out: 1.0 / (1.0 + np.exp(-x))])
def soft(x):
    return np.log1p(np.exp(x))


gate = nbgrad.custom_elementwise(
    "x * y if x > 0.0 else y",
    partials=[
        lambda x, y, out: np.where(x > 0.0, y, 0.0),
        lambda x, y, out: np.where(x > 0.0, x, 1.0),
    ],
    name="gate",
)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_elementwise_functions_are_like_built_in_ones(dtype):
    x = X.astype(dtype)
    tracked = nbgrad.track(x)
    out = soft(tracked)
    out.backward(np.ones_like(x))
    assert out.dtype == tracked.grad.dtype == dtype
    np.testing.assert_allclose(tracked.grad, 1 / (1 + np.exp(-x)), rtol=4 * np.finfo(dtype).eps)
    compiled = nbgrad.compile(vmap(grad(soft)))(x)
    np.testing.assert_allclose(compiled, tracked.grad, rtol=4 * np.finfo(dtype).eps)


def test_elementwise_functions_broadcast_and_have_every_order():
    nbgrad.check_grads(soft, (X,), modes=("reverse", "forward"), order=3)
    nbgrad.check_grads(
        gate, (X[:, None], np.arange(1.0, 4.0)), modes=("reverse", "forward"), order=2
    )
    assert gate(nbgrad.track(X), 2.0).name == "gate"
    matrix = nbgrad.compile(gate)(X[:, None], np.arange(1.0, 4.0))
    np.testing.assert_array_equal(matrix, gate(X[:, None], np.arange(1.0, 4.0)))


def test_two_of_one_name_do_not_disturb_each_other():
    one = nbgrad.custom_elementwise("2.0 * x", partials=[lambda x, out: 2.0], name="sum")
    two = nbgrad.custom_elementwise("3.0 * x", partials=[lambda x, out: 3.0], name="sum")
    both = nbgrad.compile(lambda x: (one(x), two(x), np.sum(x)))(X)
    np.testing.assert_allclose(both[0], 2.0 * X)
    np.testing.assert_allclose(both[1], 3.0 * X)
    np.testing.assert_allclose(both[2], np.sum(X))


@pytest.mark.parametrize(
    ("body", "count", "text"),
    [
        ("x +", 1, "the body 'x +' is no expression"),
        ("x * q", 1, "the body 'x * q' uses q"),
        ("x * y", 1, "the body 'x * y' uses y"),
        ("x.real", 1, "'x.real' has no place in scalar code"),
        ("x", 4, "4 partials"),
        (lambda x, y: x * y, 1, "1 partials for a function of 2 arguments"),
    ],
)
def test_a_wrong_body_says_what_is_wrong(body, count, text):
    with pytest.raises(ValueError, match=r"^f: ") as caught:
        nbgrad.custom_elementwise(body, partials=[None] * count, name="f")
    assert text in str(caught.value)


def test_a_body_that_branches_on_values_is_refused_with_the_remedy():
    partials: Any = [None]  # not reached
    with pytest.raises(TraceError, match=r"use np\.where"):
        nbgrad.custom_elementwise(lambda x: x if x > 0 else -x, partials=partials, name="f")


def test_a_body_that_is_too_long_names_what_takes_it():
    def repeated(x):
        for _ in range(12):
            x = np.sin(x) * x + x / (1.0 + x * x)
        return x

    with pytest.raises(ValueError, match=r"f: .*too long.*nbgrad\.custom_rule"):
        nbgrad.custom_elementwise(repeated, partials=[lambda x, out: x], name="f")


def tracks_inside(x):
    w = nbgrad.track(2.0)
    (w * w).backward()
    return float(w.grad) * x * nbgrad.track(1.0)


@nbgrad.custom_rule(pullback=lambda ct, out, x: nbgrad.track(3.0) * ct)
def ruled(x):
    return tracks_inside(x)


def test_what_a_function_with_a_rule_tracks_itself_stays_inside():
    assert nbgrad.grad(ruled)(2.0) == 3.0
    assert nbgrad.value_and_grad(ruled)(2.0)[0] == 8.0
    assert nbgrad.grad(nbgrad.grad(lambda x: ruled(x) * x))(2.0) == 6.0
    x = nbgrad.track(2.0)
    y = ruled(x)
    y.backward()
    assert (y.item(), x.grad) == (8.0, 3.0)
    assert nbgrad.jvp(ruled, (2.0,), (1.0,)) == (8.0, 3.0)
    np.testing.assert_array_equal(nbgrad.vmap(nbgrad.grad(ruled))(np.ones(2)), [3.0, 3.0])
    assert nbgrad.compile(nbgrad.grad(ruled))(2.0) == 3.0
