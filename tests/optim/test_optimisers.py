"""Optimisers against recursions written out, schedules against closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import rosen

import nbgrad
from nbgrad import nn, optim

# f = sum(curve * w * w) / 2, whose gradient is curve * w
CURVE, START = np.array([1.0, 4.0, 0.25]), np.array([1.0, -2.0, 3.0])


def path(optimiser, steps=12):
    """The parameters after each step on the quadratic, in a tree with what is no float."""
    w, state, found = {"w": START, "n": 2, "f": np.tanh}, None, []
    state = optimiser.init(w)
    for _ in range(steps):
        slopes = nbgrad.grad(lambda w: 0.5 * np.sum(CURVE * w["w"] ** w["n"]))(w)
        state, w = optimiser.update(state, slopes, w)
        assert w["n"] == 2 and w["f"] is np.tanh
        found.append(w["w"])
    assert state["step"] == steps
    return np.array(found)


def by_hand(step, steps=12):
    """The same by a recursion for each number: `step(g, w, memory, t)` gives (w, memory)."""
    found = np.empty((steps, 3))
    for k in range(3):
        w, memory = START[k], (0.0, 0.0)
        for t in range(steps):
            w, memory = step(CURVE[k] * w, w, memory, t + 1)
            found[t, k] = w
    return found


def adam(rate, beta1, beta2, epsilon, decay=0.0):
    def step(g, w, memory, t):
        m = beta1 * memory[0] + (1 - beta1) * g
        s = beta2 * memory[1] + (1 - beta2) * g**2
        size = (s / (1 - beta2**t)) ** 0.5 + epsilon
        return w - rate * m / (1 - beta1**t) / size - rate * decay * w, (m, s)

    return step


def momentum(rate, beta, nesterov):
    def step(g, w, memory, t):
        v = beta * memory[0] + g
        return w - rate * (g + beta * v if nesterov else v), (v, 0.0)

    return step


def rms(rate, decay, epsilon):
    def step(g, w, memory, t):
        s = decay * memory[0] + (1 - decay) * g**2
        return w - rate * g / (s**0.5 + epsilon), (s, 0.0)

    return step


@pytest.mark.parametrize(
    ("optimiser", "step"),
    [
        (optim.SGD(0.1, momentum=0.9), momentum(0.1, 0.9, False)),
        (optim.SGD(0.1, momentum=0.8, nesterov=True), momentum(0.1, 0.8, True)),
        (optim.RMSProp(0.05, decay=0.9, epsilon=1e-3), rms(0.05, 0.9, 1e-3)),
        (optim.Adam(0.1), adam(0.1, 0.9, 0.999, 1e-8)),
        (optim.Adam(0.1, 0.5, 0.6, 1e-2), adam(0.1, 0.5, 0.6, 1e-2)),
        (optim.AdamW(0.1, decay=0.3), adam(0.1, 0.9, 0.999, 1e-8)),  # one axis: no decay
    ],
)
def test_recursions(optimiser, step):
    np.testing.assert_allclose(path(optimiser), by_hand(step), rtol=1e-12)


def test_plain_descent_has_a_closed_form():
    t = np.arange(1, 13)[:, None]
    np.testing.assert_allclose(path(optim.SGD(0.1)), START * (1 - 0.1 * CURVE) ** t, rtol=1e-12)
    rates = 0.1 * 0.5 ** np.arange(12)[:, None]
    found = path(optim.SGD(optim.exponential(0.1, 0.5)))
    np.testing.assert_allclose(found, START * np.cumprod(1 - rates * CURVE, axis=0), rtol=1e-12)


def test_decay_shrinks_matrices_only():
    w = {"matrix": np.ones((1, 3)), "bias": np.ones(3), "number": 1.0}
    optimiser = optim.AdamW(optim.constant(0.1), decay=0.5)
    zeros = {"matrix": np.zeros((1, 3)), "bias": np.zeros(3), "number": 0.0}
    _, after = optimiser.update(optimiser.init(w), zeros, w)
    np.testing.assert_allclose(after["matrix"], 0.95 * w["matrix"])
    assert after["number"] == 1.0 and after["bias"].tolist() == [1.0] * 3
    step = adam(0.1, 0.9, 0.999, 1e-8, decay=0.5)
    _, after = optimiser.update(optimiser.init(w), {**zeros, "matrix": np.full((1, 3), 2.0)}, w)
    np.testing.assert_allclose(after["matrix"], step(2.0, 1.0, (0.0, 0.0), 1)[0], rtol=1e-12)


@pytest.mark.parametrize(
    ("schedule", "closed"),
    [
        (optim.constant(0.3), lambda t: 0.3),
        (optim.stepwise(0.3, 0.1, 4), lambda t: 0.3 * 0.1 ** (t // 4)),
        (optim.exponential(0.3, 0.5, every=5), lambda t: 0.3 * 0.5 ** (t / 5)),
        (
            optim.cosine(0.3, 6, final=0.1),
            lambda t: 0.1 + 0.1 * (1 + np.cos(np.pi * t / 6)) if t < 6 else 0.1,
        ),
        (optim.warmup(0.3, 4), lambda t: 0.3 * min((t + 1) / 4, 1)),
        (
            optim.warmup(optim.exponential(1.0, 0.5), 3),
            lambda t: 0.5**t * (1 / 3, 2 / 3, 1.0)[min(t, 2)],
        ),
    ],
)
def test_schedules(schedule, closed):
    compiled = nbgrad.compile(lambda step, x: x * schedule(step))
    for t in range(10):
        assert np.isclose(float(schedule(t)), closed(t), rtol=1e-14, atol=1e-16)
        assert np.isclose(compiled(t, 1.0), closed(t), rtol=1e-14, atol=1e-16)


def test_clipping():
    slopes = {"a": np.array([[3.0, 0.0]]), "b": (4.0, None), "n": None}
    assert optim.norm(slopes) == 5.0
    clipped = optim.clip(slopes, 2.0)
    np.testing.assert_allclose(clipped["a"], [[1.2, 0.0]])
    assert np.isclose(clipped["b"][0], 1.6) and clipped["n"] is clipped["b"][1] is None
    np.testing.assert_array_equal(optim.clip(slopes, 6.0)["a"], slopes["a"])
    assert optim.clip({"a": np.zeros(2)}, 1.0)["a"].tolist() == [0.0, 0.0]
    w, moved = np.zeros(2), optim.Clipped(optim.SGD(1.0), 1.0)
    _, after = moved.update(moved.init(w), np.array([3.0, 4.0]), w)
    np.testing.assert_allclose(after, [-0.6, -0.8])


ALL = [
    optim.Clipped(optim.SGD(optim.cosine(0.1, 9), momentum=0.9, nesterov=True), 0.5),
    optim.RMSProp(optim.stepwise(0.1, 0.5, 2)),
    optim.AdamW(optim.warmup(optim.cosine(0.1, 9), 3), decay=0.1),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("optimiser", ALL, ids=["sgd", "rms", "adam"])
def test_steps_compile(optimiser, dtype):
    model = nn.Chain(nn.Dense.random(0, 3, 4, dtype=dtype), np.tanh, np.sum)
    x = np.random.default_rng(0).normal(size=(5, 3)).astype(dtype)

    def step(state, model):
        value, slopes = nbgrad.value_and_grad(lambda m: m(x))(model)
        return value, optimiser.update(state, slopes, model)

    fast = nbgrad.compile(step)
    eager = quick = optimiser.init(model), model
    for _ in range(4):
        value, eager = step(*eager)
        found, quick = fast(*quick)
        assert np.isclose(value, found, rtol=1e-12 if dtype == np.float64 else 1e-5)
    dense = quick[1].layers[0]
    assert dense.weight.dtype == eager[1].layers[0].weight.dtype == dtype
    rtol, atol = (1e-12, 0.0) if dtype == np.float64 else (2e-6, 1e-6)
    np.testing.assert_allclose(dense.weight, eager[1].layers[0].weight, rtol, atol)
    assert quick[0]["step"] == 4 and len(fast._variants) == 1


@pytest.mark.parametrize("compile", [False, True])
def test_lbfgs_is_scipys(compile):
    def valley(w):
        return 100.0 * (w["y"] - w["x"] ** 2) ** 2 + (1.0 - w["x"]) ** 2

    assert np.isclose(valley({"x": 0.3, "y": 2.0}), rosen([0.3, 2.0]))
    found = optim.lbfgs(valley, {"x": -1.2, "y": 1.0}, compile=compile)
    assert np.allclose([found.x["x"], found.x["y"]], 1.0, atol=1e-6) and found.fun < 1e-12
    assert optim.lbfgs(valley, {"x": -1.2, "y": 1.0}, steps=3).nit == 3


def test_lbfgs_takes_models():
    x = np.linspace(-1.0, 1.0, 20)[:, None]
    model = nn.Dense(np.zeros((1, 1)), np.zeros(1))
    found = optim.lbfgs(lambda m, x, y: nbgrad.mse(m(x), y), model, (x, 3.0 * x + 1.0)).x
    assert type(found) is nn.Dense
    np.testing.assert_allclose([found.weight[0, 0], found.bias[0]], [3.0, 1.0], rtol=1e-6)


def test_mistakes_are_told():
    optimiser = optim.Adam()
    state = optimiser.init(np.zeros(3))
    with pytest.raises(nbgrad.DimensionMismatch, match=r"Adam: a gradient of shape \(2,\) for a"):
        optimiser.update(state, np.zeros(2), np.zeros(3))
    with pytest.raises(
        TypeError, match=r"Adam: the gradients have the structure \[\*, \*\], but parameters"
    ):
        optimiser.update(state, [np.zeros(3), 1.0], np.zeros(3))
    with pytest.raises(ValueError, match="cosine: 0 updates; there must be at least one"):
        optim.cosine(0.1, 0)
    with pytest.raises(TypeError):
        replace(optimiser, momentum=0.9)  # which Adam has not
