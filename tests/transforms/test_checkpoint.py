"""`checkpoint` and `stop_gradient`."""

import gc
import weakref

import numpy as np
import pytest

import nbgrad
from nbgrad import GraphError, checkpoint, grad, jvp, stop_gradient, track, vmap

RNG = np.random.default_rng(0)
W, X = RNG.normal(size=(6, 6)) / 3, RNG.normal(size=(5, 6))


def block(w, h):
    h = np.tanh(h @ w)
    return np.exp(-h * h) @ w, {"total": np.sum(h), "steps": 3}


def loss(block):
    def f(p):
        h, first = block(p["w"], X)
        h, second = block(p["w"], h)
        return np.sum(h * h) * first["total"] + second["total"] * second["steps"]

    return f


def test_the_gradient_is_the_same_to_the_last_bit():
    params = {"w": W}
    assert np.array_equal(
        grad(loss(checkpoint(block)))(params)["w"], grad(loss(block))(params)["w"]
    )


def test_what_a_closure_holds_is_an_argument():
    def f(wrap):
        def g(w):
            layer = wrap(lambda h: np.tanh(h @ w))
            return np.sum(layer(layer(X)))

        return g

    expected = grad(f(lambda layer: layer))(W)
    assert np.array_equal(grad(f(checkpoint))(W), expected)
    w = track(W)
    f(checkpoint)(w).backward()
    assert np.array_equal(w.grad, expected)
    w = track(W)
    z = f(checkpoint)(w)
    z.grad = 1.0
    np.testing.assert_allclose(nbgrad.accum(w), expected, rtol=1e-13)


def test_what_is_inside_is_freed_and_computed_again():
    runs, inner = [], []

    def layer(x):
        runs.append(1)
        h = np.tanh(x)
        inner.append(weakref.ref(h.node))
        return np.exp(h)

    x = track(X)
    z = np.sum(checkpoint(layer)(x))
    gc.collect()
    assert len(runs) == 1 and inner[0]() is None, "nothing of the inside is kept"
    z.backward()
    assert len(runs) == 2
    np.testing.assert_array_equal(x.grad, grad(lambda x: np.sum(np.exp(np.tanh(x))))(X))


def test_every_mode():
    f, plain = checkpoint(np.sin), np.sin
    assert grad(grad(f))(0.3) == grad(grad(plain))(0.3)
    assert jvp(f, (0.3,), (2.0,)) == jvp(plain, (0.3,), (2.0,))
    np.testing.assert_array_equal(vmap(grad(f))(X[0]), np.cos(X[0]))
    g = lambda wrap: lambda w: np.sum(wrap(lambda w: np.tanh(X @ w) @ w)(w))  # noqa: E731
    same = lambda f: f  # noqa: E731
    small = W[:, :2] @ np.ones((2, 6))
    direction = np.ones_like(small)
    np.testing.assert_allclose(
        nbgrad.hvp(g(checkpoint))(small, direction), nbgrad.hvp(g(same))(small, direction),
        rtol=1e-12,
    )  # fmt: skip
    np.testing.assert_allclose(
        nbgrad.compile(grad(g(checkpoint)))(W), grad(g(same))(W), rtol=1e-12, atol=1e-14
    )


OUTSIDE = track(np.ones(6))


def test_a_tracked_global_is_refused():
    with pytest.raises(GraphError, match="checkpoint: uses_global uses a tracked array that is"):

        def uses_global(x):
            return x * OUTSIDE

        checkpoint(uses_global)(track(X))


def test_stopped_values_are_constants():
    f = lambda x: x * stop_gradient(x)  # noqa: E731
    assert grad(f)(3.0) == 3.0 and grad(grad(f))(3.0) == 0.0
    assert jvp(f, (3.0,), (1.0,)) == (9.0, 3.0)
    np.testing.assert_array_equal(vmap(grad(f))(X[0]), X[0])
    assert nbgrad.compile(grad(f))(3.0) == 3.0
    stopped = stop_gradient({"a": track(2.0), "n": 3, "s": "text"})
    assert stopped == {"a": 2.0, "n": 3, "s": "text"} and isinstance(stopped["a"], float)


def test_a_stopped_value_blocks_inf():
    assert grad(lambda x: x + stop_gradient(np.log(x)))(0.0) == 1.0
