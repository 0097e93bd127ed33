"""Handwritten digits: a 64-64-32-10 relu network, trained in a few seconds.

scikit-learn bundles 1,797 scanned digits of 8 x 8 pixels. Three quarters of them train the network
by stochastic gradient descent with momentum; the rest, which it never sees, measure it.
"""

from typing import NamedTuple

import numpy as np

import nbgrad
from nbgrad.experiments.history import History, OnStep
from nbgrad.experiments.network import Network

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


def train(seed: int = 0, steps: int = STEPS, on_step: OnStep | None = None) -> History:
    """Train on three quarters of the digits; the history's accuracy is that on the rest.

    Ctrl-C ends the training early and keeps the steps taken so far.
    """
    rng = np.random.default_rng(seed)
    data = load(rng)
    network = Network.random(rng, (64, 64, 32, 10))
    history = History(network, data.held_x, data.held_labels)
    velocities = [np.zeros(p.shape) for p in network.parameters()]
    order = np.empty(0, dtype=int)
    try:
        for step in range(steps):
            if len(order) < BATCH:
                order = rng.permutation(len(data.train_x))
            batch, order = order[:BATCH], order[BATCH:]
            # Fresh noise on every batch: no image is seen twice, which keeps the network from
            # learning them by heart.
            x = data.train_x[batch] + NOISE * rng.standard_normal((BATCH, 64))
            loss = nbgrad.logit_cross_entropy(network(x), data.train_labels[batch])
            loss.backward()
            rate = RATE * (1 + np.cos(np.pi * step / steps)) / 2
            for parameter, velocity in zip(network.parameters(), velocities, strict=True):
                velocity *= MOMENTUM
                velocity += parameter.grad
                parameter.data -= rate * velocity
                nbgrad.reset(parameter)
            history.record(loss.item(), on_step)
    except KeyboardInterrupt:
        history.interrupted = True
    return history
