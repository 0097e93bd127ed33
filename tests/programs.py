# ruff: noqa: E501 (one program a line)
"""Small programs as users write them, that every transformation must take.

The figures of those that have `value` or `slopes` are of the texts they come from: a lab on reverse
mode, a series on automatic differentiation in Julia, its small library, and an article on
elementary steps through a network.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

import nbgrad
from nbgrad import logsumexp, relu, sigmoid, softmax

_RNG = np.random.default_rng(3)


@dataclass(frozen=True, eq=False)
class Program:
    """A function and where it is called.

    `value` is what it gives and `slopes` a cotangent for each argument, where they are known, to
    `digits` decimals. They belong to the cotangent `ct`; one is drawn where it is None. `branches`
    says why Python needs values to run it.
    """

    name: str
    f: Callable
    args: tuple[Any, ...]
    value: Any = None
    slopes: Any = None
    ct: Any = None
    digits: int = 14
    branches: str = ""


def draw(*shape: int) -> Any:
    """Numbers in [-1, 1), or one."""
    return _RNG.uniform(-1.0, 1.0, shape) if shape else float(_RNG.uniform(-1.0, 1.0))


def positive(*shape: int) -> Any:
    return _RNG.uniform(0.5, 1.5, shape)


# -- arithmetic, control flow and calls -----------------------------------------------------------


def babysqrt(x, steps=10):
    t = (1 + x) / 2
    for _ in range(steps):
        t = (t + x / t) / 2
    return t


def descended(x, y, lr=0.2):
    """The lab's surface after one step down."""

    def surface(x, y):
        return y * y + np.sin(x)

    x_bar, y_bar = nbgrad.gradient(surface, x, y)
    return surface(x - lr * x_bar, y - lr * y_bar)


def superfluous(x, y):
    z = x * y
    np.exp(z)
    _ = z / x, [z, -z]
    return z + y


def reused(x):
    y = x * x
    y = y + x
    z = y * y
    return z * y + x


def branched(x):
    if x[0] > 0:
        return np.sum(x * x)
    return np.sum(np.sin(x))


def by_size(x):
    """Branches on shapes need no values."""
    return np.sum(x**3) if len(x) > 2 and x.ndim == 1 else np.prod(x)


def newton_root(x):
    """The cube root, until a step is small."""
    y = x
    while abs(y * y * y - x) > 1e-14:
        y = y - (y * y * y - x) / (3 * y * y)
    return y


def bracketed(x):
    try:
        if x > 10:
            raise OverflowError
        return np.exp(x)
    except OverflowError:
        return x


def masked(x):
    return np.sum(x[x > 0] ** 2)


def recursive(x, n=5):
    return x if n == 0 else np.sin(recursive(x, n - 1)) + x


def fibonacci(a, b):
    series = [a, b]
    while len(series) < 8:
        series.append(series[-1] * 0.5 + series[-2])
    return np.stack(series)


def shifted(scale, shift):
    """A closure, called where its variables are differentiated."""

    def inner(x):
        return scale * x + shift

    return inner(inner(4.0))


def keyword(x, *, power, weights):
    return np.sum(weights * x**power)


def outputs(x, y):
    return {"product": x @ y, "norms": (np.sum(x * x), [np.sum(y * y), 2.0])}


def written(x, y):
    z = x * 1.0
    z[1:3] = y * y
    z[0] += z[2]
    return z * x


def counted(x, labels, n):
    """Integers stay what they are."""
    return np.sum(x[labels] ** n) / n


# -- models ---------------------------------------------------------------------------------------


@dataclass
class Dense:
    weight: Any
    bias: Any
    activation: Callable = np.tanh

    def __call__(self, x):
        return self.activation(x @ self.weight + self.bias)


@dataclass
class Chain:
    layers: tuple

    def __call__(self, x):
        return reduce(lambda y, layer: layer(y), self.layers, x)


@nbgrad.register
class Polynomial:
    def __init__(self, *weights):
        self.weights = list(weights)
        self.name = "polynomial"

    def __call__(self, x):
        return nbgrad.evalpoly(x, self.weights)


def same(x):
    return x


def dense(n: int, m: int, activation: Callable = np.tanh) -> Dense:
    return Dense(draw(n, m), draw(m), activation)


def call(model, *args):
    return model(*args)


def fit(model, x, y):
    return nbgrad.mse(model(x), y)


def classified(model, x, y):
    return nbgrad.logit_cross_entropy(model(x), y)


def squares(model, x, y):
    return np.sum((model(x)[:, 0] - y) ** 2)


def dict_network(p, x):
    hidden = np.tanh(x @ p["in"]["w"] + p["in"]["b"])
    return np.mean((hidden @ p["out"]["w"]) ** 2) + 0.1 * np.sum(p["in"]["w"] ** 2)


def tied(w, x):
    """One matrix there and back."""
    return np.sum((relu(x @ w + 2.0) @ w.T - x) ** 2)


def character_network(p, letters, labels, eps=1e-5):
    """Step by step, batch norm and cross entropy included."""
    n = len(labels)
    embedded = p["c"][letters].reshape(n, -1)
    before = embedded @ p["w1"] + p["b1"]
    mean = before.sum(0, keepdims=True) / n
    difference = before - mean
    variance = (difference**2).sum(0, keepdims=True) / (n - 1)
    normal = difference * (variance + eps) ** -0.5
    hidden = np.tanh(p["gain"] * normal + p["shift"])
    logits = hidden @ p["w2"] + p["b2"]
    counts = np.exp(logits - logits.max(1, keepdims=True))
    shares = counts * counts.sum(1, keepdims=True) ** -1
    return -np.log(shares)[np.arange(n), labels].mean()


def chars():
    n, vocabulary, size, hidden = 4, 5, 2, 3
    return {
        "c": draw(vocabulary, size), "w1": draw(2 * size, hidden), "b1": draw(hidden),
        "gain": positive(hidden), "shift": draw(hidden), "w2": draw(hidden, vocabulary),
        "b2": draw(vocabulary),
    }, _RNG.integers(0, vocabulary, (n, 2)), _RNG.integers(0, vocabulary, n)  # fmt: skip


def batch_norm(x, gain, shift):
    return gain * (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) + shift


def layer_norm(x, gain):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return gain * centred / np.sqrt(np.mean(centred**2, -1, keepdims=True) + 1e-5)


def attention(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1]), axis=-1) @ v


def recurrent(w, u, state, xs):
    def step(state, x):
        new = np.tanh(state @ w + x @ u)
        return new, new[0]

    return nbgrad.scan(step, state, xs)


def convolution(x, w):
    n = len(x) - len(w) + 1
    return np.tanh(sum(x[k : k + n] * w[k] for k in range(len(w))))


# -- science --------------------------------------------------------------------------------------


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def pendulum(state, length, dt=0.1, steps=3):
    """Runge and Kutta's steps of fourth order."""

    def slope(y):
        return np.stack([y[1], -9.81 / length * np.sin(y[0])])

    for _ in range(steps):
        k1 = slope(state)
        k2 = slope(state + dt / 2 * k1)
        k3 = slope(state + dt / 2 * k2)
        k4 = slope(state + dt * k3)
        state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


def leapfrog(q, p, k):
    def step(i, state):
        q, p = state
        p = p - 0.05 * k * q**3
        return q + 0.1 * p, p - 0.05 * k * q

    q, p = nbgrad.loop(5, step, (q, p))
    return q * q + p


def implicit_euler(y, a):
    for _ in range(2):
        y = np.linalg.solve(np.eye(3) - 0.1 * a, y)
    return y


def heat(u, c):
    """Explicit steps on a ring."""
    for _ in range(3):
        u = u + c * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return u


def kalman(transition, noise, observations):
    """The log likelihood of a position seen through noise, with a hidden speed."""
    mean, covariance, total = np.zeros(2), np.eye(2), 0.0
    for y in observations:
        mean = transition @ mean
        covariance = transition @ covariance @ transition.T + noise * np.eye(2)
        spread = covariance[0, 0] + 0.5
        error = y - mean[0]
        total = total - 0.5 * (np.log(2 * np.pi * spread) + error**2 / spread)
        gain = covariance[:, 0] / spread
        mean = mean + gain * error
        covariance = covariance - np.outer(gain, covariance[0])
    return total


def gaussian_process(length, noise, x, y):
    distance = (x[:, None] - x[None, :]) ** 2
    kernel = np.exp(-distance / (2 * length**2)) + noise**2 * np.eye(len(x))
    factor = np.linalg.cholesky(kernel)
    white = np.linalg.solve(factor, y)
    return -0.5 * white @ white - np.sum(np.log(np.diagonal(factor))) - len(x) * 0.9189385332046727


def determinant_volume(a):
    _, logarithm = np.linalg.slogdet(a @ a.T + np.eye(3))
    return logarithm + np.trace(np.linalg.inv(a + 4 * np.eye(3)))


def logistic(w, b, x, y):
    margin = y * (x @ w + b)
    return np.mean(np.logaddexp(0.0, -margin)) + 0.01 * w @ w


def poisson(w, x, counts):
    rate = x @ w
    return np.sum(np.exp(rate) - counts * rate)


def factorisation(u, v, data):
    return np.sum((u @ v.T - data) ** 2) + 0.1 * (np.sum(u**2) + np.sum(v**2))


def mixture(weights, means, deviations, x):
    """The log likelihood of a mixture of normal distributions."""
    normal = -0.5 * ((x[:, None] - means) / deviations) ** 2 - np.log(deviations)
    return np.sum(logsumexp(nbgrad.logsoftmax(weights) + normal, axis=1))


def huber(w, x, y):
    error = abs(x @ w - y)
    return np.sum(np.where(error < 0.5, 0.5 * error**2, 0.5 * error - 0.125))


def portfolio(w, returns):
    shares = softmax(w)
    profits = returns @ shares
    return np.mean(profits) / np.std(profits)


def distances(x, y):
    return np.sqrt(np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1) + 1e-3)


def tensors(a, b, c):
    return np.einsum("ijk,kl,l->ij", a, b, c)


def interpolated(x, knots):
    """Linear between positions that the values choose by their ranks."""
    ordered = np.sort(x)
    return ordered[1:] * knots[:-1] + np.cumsum(ordered)[:-1] * knots[1:]


def field(x):
    """A vector field whose divergence is wanted."""
    return np.stack([np.sin(x[0] * x[1]), x[1] ** 2 + x[2], np.exp(-x[2]) * x[0]])


def energy_force(x):
    """Forces are a gradient inside of the function."""
    return nbgrad.grad(lambda r: np.sum(1 / (r * r) ** 3 - 1 / (r * r)))(x)


def sensitivities(x, v):
    """A derivative along a direction inside of the function."""
    return nbgrad.jvp(np.sin, (x * x,), (v,))[1] * x


SAMPLES = np.array([0.0, 1.0, 2.0, 3.0])
TARGET = (15.0, -2.1, 13.9, 1.5)
GRID = np.linspace(-1.5, 1.5, 6)

PROGRAMS = [
    # The lab on reverse mode
    Program("lab", lambda x, y: x * y + np.sin(x), (2.0, 3.0), 6 + np.sin(2.0), (2.5838531634528574, 2.0)),
    Program("surface", lambda x, y: y * y + np.sin(x), (1.0, 1.0), 1 + np.sin(1.0), (np.cos(1.0), 2.0)),
    Program("descended", descended, (1.0, 1.0), 1.1382910542267546),
    Program("babysqrt", babysqrt, (2.0,), np.sqrt(2.0), (np.sqrt(0.125),)),
    Program("products", lambda x, y: np.sum(x @ y), (np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2) - 2.0), slopes=(np.tile([-3.0, 1.0, 5.0], (2, 1)), np.tile([[3.0], [5.0], [7.0]], (1, 2)))),
    Program("elements", lambda x, y: np.sum(x * y), (draw(2, 3), draw(2, 3))),
    Program("learned surface", lambda model, x, y: squares(model, nbgrad.hcat(x, y), y * y + np.sin(x)), (Chain((dense(2, 3, sigmoid), dense(3, 1, same))), draw(4), draw(4))),
    Program("flower", lambda model, x, y: fit(model, x, y) / 2, (Chain((dense(2, 3, sigmoid), dense(3, 2, same))), draw(3, 2), np.eye(2)[[0, 1, 1]])),
    # Explicit rules
    Program("composed", lambda x: np.sin(np.cos(x)), (0.6,), 0.73477, (-0.38300,), digits=5),
    Program("polynomial", nbgrad.evalpoly, (2.5, [3.0, 2.0, -3.0, 1.0]), 4.875, (5.75, [1.0, 2.5, 6.25, 15.625])),
    Program("polynomial fit", lambda c: nbgrad.mse(nbgrad.evalpoly(GRID, c), nbgrad.evalpoly(GRID, TARGET)), ([1.0, 0.5, -1.0, 2.0],)),
    Program("mapped", lambda c, x: nbgrad.map(lambda t: nbgrad.evalpoly(t, c), x), (draw(3), draw(4))),
    # The small library
    Program("closure", shifted, (2.0, 3.5), 26.5, (19.5, 3.0)),
    Program("quotient", lambda a, b: a / (a + b * b), (2.1, 3.2), 0.17017828200972446),
    Program("sigmoid", sigmoid, (0.5,), 0.6224593312018546, (0.2350037122015945,)),
    Program("tanh", np.tanh, (0.5,), slopes=(0.7864477329659274,)),
    Program("softmax", softmax, (np.array([2.0, -1.0, 0.5]),), np.array([0.7855970345892759, 0.03911257327068745, 0.1752903921400367]), (np.array([-0.04655011041061041, 0.01837295773064898, 0.028177152679961473]),), np.array([0.46, 0.989, 0.68])),
    Program("logsoftmax", nbgrad.logsoftmax, (np.array([2.0, -1.0, 0.5]),), None, (np.array([-1.3567911037678275, 0.8826622801879377, 0.47412882357988995]),), np.ones(3)),
    Program("losses", lambda x, y: (nbgrad.mse(x, y), nbgrad.cross_entropy(softmax(x), y), nbgrad.hinge_loss(x, y)), (draw(3, 2), positive(3, 2))),
    Program("model", call, (Polynomial(3.0, 2.0, -3.0, 1.0), 2.5), 4.875, (Polynomial(1.0, 2.5, 6.25, 15.625), 5.75)),
    Program("chain of functions", lambda x: Chain((np.cos, np.sin))(x), (0.9,), 0.5823, (-0.6368,), digits=4),
    Program("dense", call, (dense(3, 2, same), draw(4, 3)), ct=np.ones((4, 2))),
    Program("superfluous", superfluous, (draw(3), positive(3))),
    Program("keyword", lambda x, w: keyword(x, power=3, weights=w), (draw(3), draw(3))),
    Program("outputs", outputs, (draw(3), draw(3))),
    Program("reused", reused, (0.7,)),
    # A network on moons
    Program("moons", classified, (Chain((dense(2, 3, relu), dense(3, 3, relu), dense(3, 2, relu))), draw(4, 2), np.eye(2)[[0, 1, 1, 0]])),
    # Elementary steps
    Program("two variables", lambda a, b: (a * b) * (b + 1), (2.0, 3.0), 24.0, (12.0, 14.0)),
    Program("characters", character_network, chars()),
    Program("saturated", lambda w, x: np.sum(reduce(lambda y, _: sigmoid(8 * (y @ w)), range(4), x)), (draw(2, 2), draw(3, 2))),
    Program("field", field, (draw(3),)),
    # Control flow
    Program("branched", branched, (draw(3),), branches="an if on a value"),
    Program("by size", by_size, (draw(3),)),
    Program("Newton", newton_root, (2.0,), 2 ** (1 / 3), (2 ** (-2 / 3) / 3,), digits=12, branches="a while on a value"),
    Program("bracketed", bracketed, (0.5,), np.exp(0.5), branches="an if on a value"),
    Program("masked", masked, (draw(6),), branches="a mask has as many elements as the values say"),
    Program("recursive", recursive, (0.4,)),
    Program("fibonacci", fibonacci, (1.0, 1.0), slopes=None),
    Program("written", written, (draw(4), draw(2))),
    Program("counted", counted, (positive(4), np.array([0, 2, 2]), 3)),
    Program("sorted", interpolated, (np.array([0.3, -1.0, 2.0, 0.9]), draw(4))),
    # Models and networks
    Program("dict network", dict_network, ({"in": {"w": draw(2, 3), "b": draw(3)}, "out": {"w": draw(3, 1)}}, draw(4, 2))),
    Program("tied", tied, (draw(3, 2), draw(2, 3))),
    Program("batch norm", batch_norm, (draw(4, 2), positive(2), draw(2))),
    Program("layer norm", layer_norm, (draw(2, 4), positive(4))),
    Program("attention", attention, (draw(3, 2), draw(4, 2), draw(4, 3))),
    Program("recurrent", recurrent, (draw(2, 2), draw(1, 2), draw(2), draw(4, 1))),
    Program("convolution", convolution, (draw(6), draw(3))),
    # Science
    Program("Rosenbrock", rosenbrock, (np.array([-1.2, 1.0]),), 24.2, (np.array([-215.6, -88.0]),), digits=12),
    Program("Rosenbrock of 5", rosenbrock, (draw(5),)),
    Program("pendulum", pendulum, (draw(2), 1.3)),
    Program("leapfrog", leapfrog, (0.5, 0.2, 1.1)),
    Program("implicit Euler", implicit_euler, (draw(3), draw(3, 3))),
    Program("heat", heat, (draw(5), 0.2)),
    Program("Kalman", kalman, (np.array([[1.0, 0.1], [-0.1, 0.9]]), 0.3, draw(3))),
    Program("Gaussian process", gaussian_process, (0.8, 0.4, draw(4), draw(4))),
    Program("determinant", determinant_volume, (draw(3, 3),)),
    Program("logistic", logistic, (draw(2), 0.1, draw(4, 2), np.array([1.0, -1.0, 1.0, -1.0]))),
    Program("Poisson", poisson, (draw(2), draw(4, 2), np.array([2, 0, 1, 3]))),
    Program("factorisation", factorisation, (draw(3, 2), draw(4, 2), draw(3, 4))),
    Program("mixture", mixture, (draw(2), draw(2), positive(2), draw(4))),
    Program("Huber", huber, (draw(2), draw(4, 2), 3 * draw(4))),
    Program("portfolio", portfolio, (draw(3), draw(5, 3))),
    Program("distances", distances, (draw(2, 3), draw(3, 3))),
    Program("tensors", tensors, (draw(2, 3, 2), draw(2, 2), draw(2))),
    Program("energy and force", energy_force, (positive(3),)),
    Program("sensitivities", sensitivities, (draw(3), draw(3))),
]  # fmt: skip
