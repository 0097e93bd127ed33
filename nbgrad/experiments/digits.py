"""Handwritten digits: a 64-64-32-10 relu network, trained in a few seconds.

scikit-learn bundles 1,797 scanned digits of 8 x 8 pixels. Three quarters of them train the network
by stochastic gradient descent with momentum; the rest, which it never sees, measure it.
"""

from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

import nbgrad
from nbgrad.experiments.history import History, OnStep
from nbgrad.experiments.network import Layers, Network, accuracy, forward
from nbgrad.experiments.options import Compiled, Engine, Seed, Steps, Workers
from nbgrad.experiments.race import Race, raced
from nbgrad.experiments.sheet import Sheet
from nbgrad.experiments.training import trained
from nbgrad.parallel import ValueAndGrad
from nbgrad.static.variant import Variant

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


def batch(state: Any, x: Any, labels: Any) -> tuple[Any, Any, Any]:
    """The next state of `nbgrad.random`, some of the images and their labels.

    Fresh noise on every batch: no image is seen twice, which keeps the network from learning them
    by heart.
    """
    state, chosen = nbgrad.random.choice(state, len(x), BATCH)
    state, noise = nbgrad.random.normal(state, (BATCH, 64), std=NOISE)
    return state, x[chosen] + noise, labels[chosen]


def loss_of(layers: Layers, x: Any, labels: Any) -> Any:
    """The mean loss of some images."""
    return nbgrad.logit_cross_entropy(forward(layers, "linear", x), labels)


def moved(layers: Layers, velocities: Layers, slopes: Layers, rate: Any) -> tuple[Layers, Layers]:
    """Weights, biases and velocities after a step down these slopes."""
    velocities = [
        (MOMENTUM * weight + weight_slope, MOMENTUM * bias + bias_slope)
        for (weight, bias), (weight_slope, bias_slope) in zip(velocities, slopes, strict=True)
    ]
    layers = [
        (weight - rate * weight_velocity, bias - rate * bias_velocity)
        for (weight, bias), (weight_velocity, bias_velocity) in zip(layers, velocities, strict=True)
    ]
    return layers, velocities


def step(layers: Layers, velocities: Layers, x: Any, labels: Any, rate: Any):
    """The loss, and weights, biases and velocities after one step."""
    loss, slopes = nbgrad.value_and_grad(loss_of)(layers, x, labels)
    return loss, *moved(layers, velocities, slopes, rate)


compiled_step = nbgrad.compile(step)


@nbgrad.compile
def compiled_training(layers: Layers, velocities: Layers, state: Any, data: Split, rates: Any):
    """A step for each of the rates, in one loop: the layers at the end, each step's loss and the
    accuracy after it."""

    def body(carried, rate):
        layers, velocities, state = carried
        state, x, labels = batch(state, data.train_x, data.train_labels)
        loss, layers, velocities = step(layers, velocities, x, labels, rate)
        reached = accuracy(forward(layers, "linear", data.held_x), data.held_labels)
        return (layers, velocities, state), (loss, reached)

    (layers, _, _), found = nbgrad.scan(body, (layers, velocities, state), rates)
    return layers, found


class Training:
    """A network, its velocities, and the digits it learns from; a step is eager, or compiled."""

    def __init__(self, seed: int):
        rng = np.random.default_rng(seed)
        self.data = load(rng)
        self.network = Network.random(rng, (64, 64, 32, 10))
        self.velocities = [(np.zeros_like(w), np.zeros_like(b)) for w, b in self.network.arrays()]
        self.state = nbgrad.random.key(seed)

    def batch(self) -> tuple[np.ndarray, np.ndarray]:
        """The next images and their labels."""
        self.state, x, labels = batch(self.state, self.data.train_x, self.data.train_labels)
        return x, labels

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

    def compiled(self, x: np.ndarray, labels: np.ndarray, rate: float) -> None:
        """The same by `compiled_step`."""
        network = self.network
        _, layers, self.velocities = compiled_step(
            network.arrays(), self.velocities, x, labels, rate
        )
        network.replace(layers)

    def divided(self, vg: ValueAndGrad, x: np.ndarray, labels: np.ndarray, rate: float) -> float:
        """The same by workers, each with its rows of the batch; returns the loss before it."""
        count = min(vg.workers, len(x))
        shards = zip(np.array_split(x, count), np.array_split(labels, count), strict=True)
        network = self.network
        loss, slopes = vg(network.arrays(), vg.mine(shards))
        layers, self.velocities = moved(network.arrays(), self.velocities, slopes, rate)
        network.replace(layers)
        return loss


def train(
    seed: int = 0,
    steps: int = STEPS,
    on_step: OnStep | None = None,
    compiled: bool = False,
    vg: ValueAndGrad | None = None,
) -> History:
    """Train on three quarters of the digits; the history's accuracy is that on the rest.

    Ctrl-C ends the training early and keeps the steps taken so far. All steps are one `compiled`
    loop, or each is eager, or the workers of `vg` divide its batch: the losses are the same to
    rounding.
    """
    training = Training(seed)
    network, data = training.network, training.data
    history = History(network, data.held_x, data.held_labels)
    rates = RATE * (1 + np.cos(np.pi * np.arange(steps) / steps)) / 2
    if compiled and vg is None:
        layers, (losses, accuracies) = compiled_training(
            network.arrays(), training.velocities, training.state, data, rates
        )
        network.replace(layers)
        history.record_all(losses, accuracies, on_step)
        return history
    take = training.eager if vg is None else partial(training.divided, vg)
    try:
        for rate in rates.tolist():
            history.record(take(*training.batch(), rate), on_step)
    except KeyboardInterrupt:
        history.interrupted = True
    return history


def run(
    sheet: Sheet,
    seed: Seed = 0,
    steps: Steps = STEPS,
    compiled: Compiled = False,
    engine: Engine = None,
    workers: Workers = None,
) -> None:
    """Read handwritten digits with a 64-64-32-10 relu network.

    Shows minibatches, momentum and a decaying learning rate, on tracked
    weights that take thousands of updates. The digits are 1,797 scans of
    8 x 8 pixels; a quarter of them is held out to measure the accuracy.
    Pictures show the training, which digits are taken for which, and every
    digit that was misread. With --engine or --workers the rows of each batch
    are divided between workers, and the result is the same but for rounding.

    [bold]nbgrad run digits[/]
    [bold]nbgrad run digits --steps 300 --no-plots[/]
    [bold]nbgrad run digits --compiled[/]  all steps one compiled loop
    [bold]nbgrad run digits --workers 2 --engine processes[/]
    [bold]mpiexec -n 2 python -m nbgrad run digits --engine mpi[/]
    """
    to_train = partial(train, seed, steps, compiled=compiled)
    if engine is None and workers is None:
        race_of = partial(race, seed) if compiled else None
        trained(sheet, "held-out accuracy", to_train, steps, race_of)
        return
    dividing = nbgrad.parallel.value_and_grad(loss_of, engine, workers=workers, compile=compiled)
    with dividing as vg:
        trained(sheet, "held-out accuracy", partial(to_train, vg=vg), steps)
        sheet.say(f"the last step: {vg.report}")


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
