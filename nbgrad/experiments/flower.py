"""A flower of eight petals: a 2-20-20-8 network learns which petal a point belongs to.

In float32, by plain gradient descent on half the squared error of a point, the mean of all points
at every step. Before that its gradient is compared with differences.
"""

from pathlib import Path
from typing import Any

import numpy as np

import nbgrad
from nbgrad.experiments.babysqrt import five_point
from nbgrad.experiments.descent import descend
from nbgrad.experiments.options import Seed, Steps
from nbgrad.experiments.sheet import Sheet

PETALS, STEPS = 8, 10_000
SIZES = ((2, 20), (20, 20), (20, PETALS))
PLAIN = nbgrad.optim.SGD(0.01)


def first_network(rng: np.random.Generator, dtype: Any = np.float32) -> nbgrad.nn.Chain:
    """Sigmoid, sigmoid, linear; weights and biases from the standard normal distribution."""

    def draw(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(dtype)

    first, second, third = (nbgrad.nn.Dense(draw(m, n), draw(n)) for m, n in SIZES)
    return nbgrad.nn.Chain(first, nbgrad.sigmoid, second, nbgrad.sigmoid, third)


def loss_of(network: Any, x: Any, y: Any) -> Any:
    """Half the squared distance from the one-hot labels, the mean over the points."""
    return np.sum(nbgrad.abs2(network(x) - y)) / np.float32(2 * len(x))


def check(seed: int) -> float:
    """How far the gradient, in float64, is from 5-point differences along ten directions."""
    rng = np.random.default_rng(seed)
    x, labels = nbgrad.data.flower(rng, PETALS)
    flat, rebuild = nbgrad.scipy.ravel(first_network(rng, np.float64))

    def f(flat: Any) -> Any:
        return loss_of(rebuild(flat), x, np.eye(PETALS)[labels])

    slopes = nbgrad.grad(f)(flat)
    apart = []
    for direction in rng.normal(size=(10, flat.size)):
        difference = five_point(lambda t, d=direction: float(f(flat + t * d)), 0.0, 1e-3)
        apart.append(abs(difference / float(slopes @ direction) - 1))
    return max(apart)


def accuracy(network: Any, x: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean(nbgrad.data.one_cold(network(x)) == labels))


def run(sheet: Sheet, seed: Seed = 0, steps: Steps = STEPS) -> None:
    """Tell the eight petals of a flower apart, in float32.

    Trains a 2-20-20-8 network of sigmoids by 10,000 steps of plain gradient
    descent on all 896 points, in one compiled loop, after its gradient has
    been compared with 5-point differences.

    [bold]nbgrad run flower[/]
    [bold]nbgrad run flower --steps 2000[/]
    """
    rng = np.random.default_rng(seed)
    points, labels = nbgrad.data.flower(rng, PETALS)
    x, y = points.astype(np.float32), nbgrad.data.one_hot(labels, dtype=np.float32)
    sheet.figure("points", len(x))
    sheet.figure("gradient and 5-point differences apart", check(seed))
    network, history = descend(loss_of, first_network(rng), (x, y), PLAIN, steps=steps)
    sheet.csv("history", ("step", "loss"), enumerate(history.tolist(), start=1))
    sheet.figure("loss at the end, of its start", float(history[-1] / history[0]))
    sheet.figure("accuracy", accuracy(network, x, labels))
    if sheet.plots:
        draw(sheet.out, network, x, labels, history)


def draw(out: Path, network: Any, x: np.ndarray, labels: np.ndarray, history: np.ndarray) -> None:
    """Draw the points, what is misread, the regions of the plane, and the loss."""
    from nbgrad.experiments import pictures

    def classify(points: np.ndarray) -> np.ndarray:
        return nbgrad.data.one_cold(network(points.astype(np.float32)))

    told = f"{100 * accuracy(network, x, labels):.1f} % of {len(x)} points"
    pictures.classes(out / "points.png", f"The flower: {told}", x, labels, classify(x))
    pictures.regions(out / "regions.png", f"Where each petal is seen: {told}", classify, x, labels)
    title = "Half the squared error of a point, learning rate 0.01"
    pictures.losses(out / "history.png", title, {"gradient descent": history})
