"""Compiled functions inside of transformations: the function's own numbers, by machine code.

A function that runs compiled does not run in Python again, once it was recorded: that is counted.
"""

import numpy as np
import pytest
from helpers.daily import pairs
from helpers.static.transformed import (
    FUNCTIONS,
    RNG,
    TRANSFORMS,
    XS,
    A,
    Pair,
    V,
    X,
    close,
    counted,
    drop,
    leaves,
    runs_compiled,
)

import nbgrad
from nbgrad import compile, grad, hessian, hvp, jvp, value_and_grad, vjp, vmap


@pytest.mark.parametrize(("f", "transform"), pairs([*FUNCTIONS], [*TRANSFORMS], 5))
def test_a_compiled_function_runs_compiled_in_each_transformation(f, transform):
    runs_compiled(TRANSFORMS[transform], FUNCTIONS[f])


P = {"w": A, "b": [V, 0.5], "kind": "tanh"}


def of_trees(p, x, kind=None):
    h = np.tanh(p["w"] @ x + p["b"][0]) if p["kind"] == "tanh" else p["w"] @ x
    value = np.sum(h) * p["b"][1]
    return {"value": value, "pair": Pair(h, np.argmax(h)), "kind": p["kind"], "none": kind}


TREES = {
    "gradients of several": lambda f: grad(lambda p, x: f(p, x)["value"], (0, 1))(P, X),
    "a result that is used twice": lambda f: grad(
        lambda p, x: f(p, x)["value"] * np.sum(f(p, x)["pair"].a)
    )(P, X),
    "all results": lambda f: vjp(lambda p: drop(f(p, X)), P)[1]((2.0, V)),
    "has_aux": lambda f: leaves(
        value_and_grad(lambda p, x: (f(p, x)["value"], f(p, x)), has_aux=True)(P, X)
    ),
    "samples": lambda f: leaves(vmap(lambda x: (*drop(f(P, x, kind=None)), f(P, x)["pair"].b))(XS)),
    "tangents": lambda f: jvp(lambda x: drop(f(P, x)), (X,), (V,)),
    "keyword": lambda f: grad(lambda x: f(P, x=x, kind=None)["value"])(X),
    "hessian": lambda f: hessian(lambda x: np.sum(drop(f(P, x))[1]))(X),
}


@pytest.mark.parametrize("name", TREES)
def test_nested_arguments_and_results_run_compiled(name):
    runs_compiled(TREES[name], of_trees)
    result = grad(lambda x: _noted(compile(of_trees)(P, x)))(X)
    assert result.shape == (3,)


def _noted(result):
    assert result["kind"] == "tanh" and result["none"] is None and result["pair"].b in range(3)
    return result["value"]


def test_static_arguments_are_part_of_programs():
    def power(x, n, how):
        y = x
        for _ in range(n - 1):
            y = y * x
        return how(y)

    counting, calls = counted(power)
    f = compile(counting, static_argnames="n")
    for n in (2, 3, 2):
        close(grad(f)(X, n, np.sum), n * X ** (n - 1))
    calls.clear()
    for n in (2, 3):
        close(grad(f)(X, n, np.sum), n * X ** (n - 1))
    assert not calls


NAMED = {
    "gradient": lambda f, w, x: grad(lambda w: np.sum(f(w, x)))(w),
    "gradient of samples": lambda f, w, x: grad(lambda x: np.sum(f(w, x) ** 2))(x),
    "pullback": lambda f, w, x: vjp(f, w, x)[1](x @ w),
    "jvp": lambda f, w, x: jvp(f, (w, x), (w, x)),
    "vmap": lambda f, w, x: vmap(f, in_axes=(None, 0))(w, np.stack([x, x + 1.0])),
    "hvp": lambda f, w, x: hvp(lambda w: np.sum(f(w, x) ** 2))(w, w),
}


@pytest.mark.parametrize("name", NAMED)
def test_one_program_for_all_sizes_that_have_names(name):
    def layer(w, x):
        return np.tanh(x @ w)

    counting, calls = counted(layer)
    f = compile(counting, dynamic={"x": ("n", None)})
    for n in (4, 5, 7, 60):
        x = RNG.normal(size=(n, 3))
        close(NAMED[name](f, A, x), NAMED[name](layer, A, x))
        assert bool(calls) == (n == 4)
        calls.clear()


def test_sizes_of_one_name_are_equal():
    f = compile(lambda x, y: np.sum(x) * np.sum(y), dynamic={"x": ("n",), "y": ("n",)})
    with pytest.raises(nbgrad.DimensionMismatch, match=r"size n is 3 in x.* and 2 in y"):
        grad(f)(X, X[:2])


def test_float32_stays_float32():
    f = compile(lambda x: np.sum(np.sin(x) * 2.0))
    x = X.astype(np.float32)
    slope = grad(f)(x)
    assert slope.dtype == np.float32
    close(slope, grad(lambda x: np.sum(np.sin(x) * 2.0))(x), 1e-6)
    value, tangent = jvp(f, (x,), (x,))
    assert value.dtype == tangent.dtype == np.float32
