"""Three clouds of points, each from a normal distribution: which one is a point from?

A 2-16-16-3 network is trained on minibatches of 64. With a relu after the last layer too, a class
whose logit is cut to zero everywhere is lost for good; a linear last layer has no such trap.
"""

from functools import partial
from typing import Any, Literal

import numpy as np

import nbgrad
from nbgrad.experiments.descent import descend
from nbgrad.experiments.options import Seed, Steps
from nbgrad.experiments.progress import progress
from nbgrad.experiments.sheet import Sheet

BATCH, STEPS, SEEDS = 64, 500, 10
PLAIN = nbgrad.optim.SGD(0.05)
Last = Literal["relu", "linear"]
LASTS: dict[Last, str] = {"relu": "relu after the last layer", "linear": "linear last layer"}


def first_network(rng: np.random.Generator, last: Last) -> nbgrad.nn.Chain:
    """2-16-16-3 with relu between, and after the last layer too where it is asked for."""
    first, second, third = (nbgrad.nn.Dense.random(rng, *s) for s in ((2, 16), (16, 16), (16, 3)))
    end = [nbgrad.relu] if last == "relu" else []
    return nbgrad.nn.Chain(first, nbgrad.relu, second, nbgrad.relu, third, *end)


def loss_of(network: Any, x: Any, labels: Any, batch: Any) -> Any:
    return nbgrad.logit_cross_entropy(network(x[batch]), labels[batch])


def train(seed: int, steps: int, last: Last) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """The trained network, the points, their labels, and the loss of each batch."""
    rng = np.random.default_rng(seed)
    x, labels = nbgrad.data.normals(rng)
    batches = np.stack([rng.choice(len(x), BATCH, replace=False) for _ in range(steps)])
    network, losses = descend(loss_of, first_network(rng, last), (x, labels), PLAIN, each=batches)
    return network, x, labels, losses


def classes(network: Any, x: np.ndarray) -> np.ndarray:
    """Which cloud the network takes each point for."""
    return nbgrad.data.one_cold(network(x))


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
                reached.append(float(np.mean(classes(network, x) == labels)))
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
            right = np.mean(classes(network, x) == labels)
            title = f"Three normals, {LASTS[last]}: {100 * right:.1f} %"
            file = sheet.out / f"regions-{last}.png"
            pictures.regions(file, title, partial(classes, network), x, labels)
            file = sheet.out / f"points-{last}.png"
            pictures.classes(file, title, x, labels, classes(network, x))
