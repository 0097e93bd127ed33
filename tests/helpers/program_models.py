"""Models used in programs.py, and their initial parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

import nbgrad
from nbgrad import relu, softmax

_RNG = np.random.default_rng(3)


def draw(*shape: int) -> Any:
    """Numbers in [-1, 1), or one."""
    return _RNG.uniform(-1.0, 1.0, shape) if shape else float(_RNG.uniform(-1.0, 1.0))


def positive(*shape: int) -> Any:
    return _RNG.uniform(0.5, 1.5, shape)


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
    """An autoencoder with tied weights."""
    return np.sum((relu(x @ w + 2.0) @ w.T - x) ** 2)


def character_network(p, letters, labels, eps=1e-5):
    """A network with batch norm and cross entropy, written in single operations."""
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
