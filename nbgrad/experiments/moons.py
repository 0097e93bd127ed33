"""Two moons: a 2-16-16-2 network learns to tell two interleaved half circles apart.

Every step is plain gradient descent on all the points. A relu after the last layer too
(``last="relu"``) makes it harder than it need be: where both logits of a class are cut to zero no
gradient flows, and some seeds never recover: of the seeds 0 to 99, 59 reach 100 %. With
``last="linear"`` 97 do.
"""

from functools import partial
from itertools import product
from typing import Annotated, Any

import numpy as np
import typer

import nbgrad
from nbgrad.experiments.history import History, OnStep
from nbgrad.experiments.network import Last, Layers, Network, accuracy, forward
from nbgrad.experiments.options import Compiled, Seed, Seeds, Steps
from nbgrad.experiments.progress import Tell, progress
from nbgrad.experiments.race import Race, raced
from nbgrad.experiments.sheet import Sheet
from nbgrad.experiments.training import trained
from nbgrad.static.variant import Variant

STEPS = 200
POINTS = 200
NOISE = 0.1
RATE = 0.9
SLOW_RATE, SLOW_STEPS = 0.5, 500


def make_moons(
    rng: np.random.Generator, n: int, noise: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Draw ``n`` points (half of them, rounded down, on each moon) and their labels, 0 and 1.

    The angles are uniformly random; ``noise`` is the standard deviation added to the coordinates.
    """
    n_moon = n // 2
    outer, inner = rng.uniform(0, np.pi, (2, n_moon))
    points = np.concatenate(
        [
            np.stack([np.cos(outer), np.sin(outer)], axis=1),
            np.stack([1 - np.cos(inner), 0.5 - np.sin(inner)], axis=1),
        ]
    )
    points += noise * rng.standard_normal(points.shape)
    return points, np.repeat([0, 1], n_moon)


def step(
    layers: Layers, x: np.ndarray, one_hot: np.ndarray, last: Last, rate: float = RATE
) -> tuple[Any, Layers]:
    """The loss, and the weights and biases after one step."""

    def loss_of(layers):
        return nbgrad.logit_cross_entropy(forward(layers, last, x), one_hot)

    loss, slopes = nbgrad.value_and_grad(loss_of)(layers)
    moved = [
        (weight - rate * weight_slope, bias - rate * bias_slope)
        for (weight, bias), (weight_slope, bias_slope) in zip(layers, slopes, strict=True)
    ]
    return loss, moved


compiled_step = nbgrad.compile(step, static_argnames="last")


@nbgrad.compile(static_argnames=("last", "steps"))
def compiled_training(
    layers: Layers,
    x: np.ndarray,
    labels: np.ndarray,
    one_hot: np.ndarray,
    last: Last,
    steps: int,
    rate: float,
):
    """All steps in one loop: the layers at the end, each step's loss and the accuracy after it."""

    def body(layers, _):
        loss, layers = step(layers, x, one_hot, last, rate)
        return layers, (loss, accuracy(forward(layers, last, x), labels))

    return nbgrad.scan(body, layers, length=steps)


class Training:
    """A network and the points that it learns from; a step is eager, or compiled."""

    def __init__(self, seed: int, last: Last):
        rng = np.random.default_rng(seed)
        self.x, self.labels = make_moons(rng, POINTS, NOISE)
        self.one_hot = np.eye(2)[self.labels]
        self.network = Network.random(rng, (2, 16, 16, 2), last)

    def eager(self) -> float:
        """One step; returns the loss before it."""
        loss = nbgrad.logit_cross_entropy(self.network(self.x), self.one_hot)
        loss.backward()
        for parameter in self.network.parameters():
            parameter.data -= RATE * parameter.grad
            nbgrad.reset(parameter)
        return loss.item()

    def compiled(self) -> None:
        """The same by `compiled_step`."""
        network = self.network
        _, layers = compiled_step(network.arrays(), self.x, self.one_hot, network.last)
        network.replace(layers)


def train(
    seed: int = 0,
    steps: int = STEPS,
    last: Last = "relu",
    on_step: OnStep | None = None,
    compiled: bool = False,
) -> History:
    """Train on 200 points; the history's accuracy is that on the same points.

    Ctrl-C ends the training early and keeps the steps taken so far. All steps are one `compiled`
    loop, or each is eager: the losses are the same to rounding.
    """
    training = Training(seed, last)
    network = training.network
    history = History(network, training.x, training.labels)
    if compiled:
        layers, (losses, accuracies) = compiled_training(
            network.arrays(), training.x, training.labels, training.one_hot, last, steps, RATE
        )
        network.replace(layers)
        history.record_all(losses, accuracies, on_step)
        return history
    try:
        for _ in range(steps):
            history.record(training.eager(), on_step)
    except KeyboardInterrupt:
        history.interrupted = True
    return history


def shares(seeds: int, steps: int, tell: Tell) -> dict[Last, list[float]]:
    """The accuracy that each seed reaches, with each of the last layers."""
    found: dict[Last, list[float]] = {"relu": [], "linear": []}
    for done, (last, seed) in enumerate(product(found, range(seeds)), start=1):
        found[last].append(train(seed, steps, last, compiled=True).accuracy)
        tell(done, 2 * seeds, f"{last}, seed {seed}: {100 * found[last][-1]:.1f} %")
    return found


def slowly(seeds: int) -> float:
    """The share of seeds that separate every point at the slower rate, with a linear last layer."""
    reached = []
    for seed in range(seeds):
        start = Training(seed, "linear")
        layers, _ = compiled_training(
            start.network.arrays(), start.x, start.labels, start.one_hot, "linear", SLOW_STEPS,
            SLOW_RATE,
        )  # fmt: skip
        start.network.replace(layers)
        reached.append((start.network.predict(start.x) == start.labels).all())
    return float(np.mean(reached))


def run(
    sheet: Sheet,
    seed: Seed = 0,
    steps: Steps = STEPS,
    last: Annotated[Last, typer.Option(help="What follows the last layer.")] = "relu",
    compiled: Compiled = False,
    seeds: Seeds = 1,
) -> None:
    """Separate two interleaved half circles with a network.

    Shows plain gradient descent on 200 points, and the boundary it finds.
    With a relu after the last layer too, some seeds get stuck, since no
    gradient passes where it cuts; with a linear last layer nearly every
    seed reaches 100 %.

    [bold]nbgrad run moons[/]
    [bold]nbgrad run moons --seed 6[/]                a seed that gets stuck
    [bold]nbgrad run moons --seed 6 --last linear[/]  and the way out
    [bold]nbgrad run moons --compiled[/]              all steps one compiled loop
    [bold]nbgrad run moons --seeds 100[/]             the share of seeds at 100 %
    """
    to_train = partial(train, seed, steps, last, compiled=compiled)
    trained(sheet, "accuracy", to_train, steps, partial(race, seed, last) if compiled else None)
    if seeds == 1:
        return
    with progress("moons") as tell:
        found = shares(seeds, steps, tell)
    sheet.csv("seeds", ("seed", *found), list(zip(range(seeds), *found.values(), strict=True)))
    names = {"relu": "relu on the logits", "linear": "linear last layer"}
    for kind, reached in found.items():
        sheet.figure(f"seeds at 100 %, {names[kind]}", float(np.mean(np.array(reached) == 1.0)))
    sheet.figure(f"seeds at 100 %, rate {SLOW_RATE}, {SLOW_STEPS} steps", slowly(seeds))


def race(seed: int = 0, last: Last = "relu") -> Race:
    """How many times faster a compiled step is than an eager one."""
    training = Training(seed, last)
    return raced(training.eager, training.compiled)


def program() -> Variant:
    """The compiled step, without taking it."""
    training = Training(0, "relu")
    return compiled_step.variant(
        training.network.arrays(), training.x, training.one_hot, training.network.last
    )
