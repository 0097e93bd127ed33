"""Handwritten digits: a 64-64-32-10 relu network, trained in a few seconds.

scikit-learn bundles 1,797 scanned digits of 8 x 8 pixels. Three quarters of them train the network
by stochastic gradient descent with momentum; the rest, which it never sees, measure it.
"""

from itertools import chain
from typing import NamedTuple

import numpy as np

import nbgrad
from nbgrad.experiments.history import History, OnStep
from nbgrad.experiments.network import Layers, Network, forward
from nbgrad.experiments.race import Race, raced
from nbgrad.static.function import Variant

STEPS = 2000
BATCH = 64
RATE = 0.1
MOMENTUM = 0.9
NOISE = 0.2


class Split(NamedTuple):
    """Images as rows of 64 numbers from 0 to 1, and the digits they show."""

    train_x: np.ndarray
    train_labels: np.ndarray
    held_x: np.ndarray
    held_labels: np.ndarray


def load(rng: np.random.Generator) -> Split:
    """The digits, a random quarter of each held out."""
    from sklearn.datasets import load_digits  # slow to import

    bunch = load_digits(return_X_y=True)
    x, labels = np.asarray(bunch[0], dtype=float) / 16, np.asarray(bunch[1])
    held = np.zeros(len(labels), dtype=bool)
    for digit in range(10):
        members = rng.permutation(np.flatnonzero(labels == digit))
        held[members[: round(len(members) / 4)]] = True
    return Split(x[~held], labels[~held], x[held], labels[held])


@nbgrad.compile
def compiled_step(layers: Layers, velocities: Layers, x: np.ndarray, labels: np.ndarray, rate):
    """The loss, and weights, biases and velocities after one step, in one Numba function."""

    def loss_of(layers):
        return nbgrad.logit_cross_entropy(forward(layers, "linear", x), labels)

    loss, slopes = nbgrad.value_and_grad(loss_of)(layers)
    velocities = [
        (MOMENTUM * weight + weight_slope, MOMENTUM * bias + bias_slope)
        for (weight, bias), (weight_slope, bias_slope) in zip(velocities, slopes, strict=True)
    ]
    layers = [
        (weight - rate * weight_velocity, bias - rate * bias_velocity)
        for (weight, bias), (weight_velocity, bias_velocity) in zip(layers, velocities, strict=True)
    ]
    return loss, layers, velocities


class Training:
    """A network, its velocities, and the digits it learns from; a step is eager, or compiled."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.data = load(self.rng)
        self.network = Network.random(self.rng, (64, 64, 32, 10))
        self.velocities = [(np.zeros_like(w), np.zeros_like(b)) for w, b in self.network.arrays()]
        self.order = np.empty(0, dtype=int)

    def batch(self) -> tuple[np.ndarray, np.ndarray]:
        """The next images and their labels."""
        if len(self.order) < BATCH:
            self.order = self.rng.permutation(len(self.data.train_x))
        batch, self.order = self.order[:BATCH], self.order[BATCH:]
        # Fresh noise on every batch: no image is seen twice, which keeps the network from
        # learning them by heart.
        x = self.data.train_x[batch] + NOISE * self.rng.standard_normal((BATCH, 64))
        return x, self.data.train_labels[batch]

    def eager(self, x: np.ndarray, labels: np.ndarray, rate: float) -> float:
        """One step; returns the loss before it."""
        loss = nbgrad.logit_cross_entropy(self.network(x), labels)
        loss.backward()
        velocities = chain.from_iterable(self.velocities)
        for parameter, velocity in zip(self.network.parameters(), velocities, strict=True):
            velocity *= MOMENTUM
            velocity += parameter.grad
            parameter.data -= rate * velocity
            nbgrad.reset(parameter)
        return loss.item()

    def compiled(self, x: np.ndarray, labels: np.ndarray, rate: float) -> float:
        """The same by `compiled_step`."""
        network = self.network
        loss, layers, self.velocities = compiled_step(
            network.arrays(), self.velocities, x, labels, rate
        )
        network.replace(layers)
        return loss


def train(
    seed: int = 0, steps: int = STEPS, on_step: OnStep | None = None, compiled: bool = False
) -> History:
    """Train on three quarters of the digits; the history's accuracy is that on the rest.

    Ctrl-C ends the training early and keeps the steps taken so far. Each step is `compiled`, or
    eager: the losses are the same to rounding.
    """
    training = Training(seed)
    history = History(training.network, training.data.held_x, training.data.held_labels)
    take = training.compiled if compiled else training.eager
    try:
        for step in range(steps):
            rate = RATE * (1 + np.cos(np.pi * step / steps)) / 2
            history.record(take(*training.batch(), rate), on_step)
    except KeyboardInterrupt:
        history.interrupted = True
    return history


def race(seed: int = 0) -> Race:
    """How many times faster a compiled step is than an eager one."""
    training = Training(seed)
    x, labels = training.batch()
    return raced(
        lambda: training.eager(x, labels, 0.01), lambda: training.compiled(x, labels, 0.01)
    )


def program() -> Variant:
    """The compiled step, without taking it."""
    training = Training(0)
    return compiled_step.variant(
        training.network.arrays(), training.velocities, *training.batch(), RATE
    )
