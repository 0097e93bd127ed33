"""Three clouds of points, each from a normal distribution: which one is a point from?

A 2-16-16-3 network is trained on minibatches of 64. With a relu after the last layer too, a class
whose logit is cut to zero everywhere is lost for good; a linear last layer has no such trap.
"""

from typing import Any

import numpy as np

import nbgrad
from nbgrad.experiments.network import Last, Network, forward
from nbgrad.experiments.options import Seed, Steps
from nbgrad.experiments.progress import progress
from nbgrad.experiments.sheet import Sheet

MEANS = ((-1.0, -1.0), (0.5, 0.5), (1.5, 1.5))
DEVIATIONS = ((0.5, 0.5), (0.8, 0.5), (0.1, 0.1))
EACH, BATCH, RATE, STEPS, SEEDS = 100, 64, 0.05, 500, 10
LASTS: dict[Last, str] = {"relu": "relu after the last layer", "linear": "linear last layer"}


def make_normals(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points of each cloud, and their clouds."""
    clouds = [
        rng.normal(mean, deviation, (EACH, 2))
        for mean, deviation in zip(MEANS, DEVIATIONS, strict=True)
    ]
    return np.concatenate(clouds), np.repeat(np.arange(len(MEANS)), EACH)


@nbgrad.compile(static_argnames="last")
def descend(p: Any, x: Any, labels: Any, batches: Any, last: Last) -> tuple[Any, Any]:
    """A step for each row of indices: the last weights, and the loss of each batch."""

    def step(p, batch):
        def loss_of(p):
            return nbgrad.logit_cross_entropy(forward(p, last, x[batch]), labels[batch])

        loss, slopes = nbgrad.value_and_grad(loss_of)(p)
        moved = [(w - RATE * dw, b - RATE * db) for (w, b), (dw, db) in zip(p, slopes, strict=True)]
        return moved, loss

    return nbgrad.scan(step, p, batches)


def train(seed: int, steps: int, last: Last) -> tuple[Network, np.ndarray, np.ndarray, Any]:
    """The trained network, the points, their labels, and the loss of each batch."""
    rng = np.random.default_rng(seed)
    x, labels = make_normals(rng)
    network = Network.random(rng, (2, 16, 16, len(MEANS)), last)
    batches = np.stack([rng.choice(len(x), BATCH, replace=False) for _ in range(steps)])
    layers, losses = descend(network.arrays(), x, labels, batches, last=last)
    network.replace(layers)
    return network, x, labels, losses


def run(sheet: Sheet, seed: Seed = 0, steps: Steps = STEPS) -> None:
    """Tell three clouds of points apart, in minibatches.

    Trains a 2-16-16-3 network from ten seeds, with a relu after the last layer
    and with a linear one, and draws the boundaries that both find.

    [bold]nbgrad run normals[/]
    [bold]nbgrad run normals --seed 3[/]  the first of the ten seeds, and the pictures
    """
    shares: dict[Last, list[float]] = {last: [] for last in LASTS}
    runs: dict[Last, Any] = {}
    first = []
    with progress("normals") as tell:
        for i in range(SEEDS):
            for last, reached in shares.items():
                network, x, labels, losses = train(seed + i, steps, last)
                runs.setdefault(last, (network, x, labels, losses))
                first.append(float(losses[0]))
                reached.append(float(np.mean(network.predict(x) == labels)))
            tell(i + 1, SEEDS, f"linear last layer: {100 * shares['linear'][-1]:.1f} %")
    sheet.table(
        "seeds",
        "Accuracy of each seed",
        {"seed": "d", **{told: ".1%" for told in LASTS.values()}},
        [(seed + i, *both) for i, both in enumerate(zip(*shares.values(), strict=True))],
    )
    sheet.figure("first loss, mean of the seeds", float(np.mean(first)))
    for last, told in LASTS.items():
        sheet.figure(f"mean accuracy, {told}", float(np.mean(shares[last])))
        sheet.figure(f"worst accuracy, {told}", min(shares[last]))
    if sheet.plots:
        from nbgrad.experiments import pictures

        histories = {told: runs[last][-1] for last, told in LASTS.items()}
        pictures.losses(sheet.out / "history.png", "Loss of each minibatch", histories)
        for last, (network, x, labels, _) in runs.items():
            right = np.mean(network.predict(x) == labels)
            title = f"Three normals, {LASTS[last]}: {100 * right:.1f} %"
            file = sheet.out / f"regions-{last}.png"
            pictures.regions(file, title, network.predict, x, labels)
            file = sheet.out / f"points-{last}.png"
            pictures.classes(file, title, x, labels, network.predict(x))
