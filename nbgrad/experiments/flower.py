"""A flower of eight petals: a 2-20-20-8 network learns which petal a point belongs to.

In float32, by plain gradient descent on half the squared error of a point, the mean of all points
at every step. Before that its gradient is compared with differences.
"""

from pathlib import Path
from typing import Any

import numpy as np

import nbgrad
from nbgrad.experiments.babysqrt import five_point
from nbgrad.experiments.options import Seed, Steps
from nbgrad.experiments.sheet import Sheet

PETALS, POINTS, STEPS = 8, 900, 10_000
SIZES = ((2, 20), (20, 20), (20, PETALS))
RATE = np.float32(0.01)


def make_flower(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """112 points of each petal: long and narrow, turned by the petal's angle; and their petals."""
    each = POINTS // PETALS
    labels = np.repeat(np.arange(PETALS), each)
    u = np.tanh(rng.normal(size=len(labels)) - 1) + 4 + 0.05 * rng.normal(size=len(labels))
    v = 0.3 * rng.normal(size=len(labels))
    angle = labels * 2 * np.pi / PETALS
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([u * cos - v * sin, u * sin + v * cos], axis=1).astype(np.float32), labels


def first_weights(rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights and biases from the standard normal distribution."""

    def draw(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    return [(draw(m, n), draw(n)) for m, n in SIZES]


def network(p: Any, x: Any) -> Any:
    """Sigmoid, sigmoid, linear."""
    (w1, b1), (w2, b2), (w3, b3) = p
    return nbgrad.sigmoid(nbgrad.sigmoid(x @ w1 + b1) @ w2 + b2) @ w3 + b3


def loss_of(p: Any, x: Any, y: Any) -> Any:
    """Half the squared distance from the one-hot labels, the mean over the points."""
    return np.sum(nbgrad.abs2(network(p, x) - y)) / np.float32(2 * len(x))


def check(p: Any, x: np.ndarray, y: np.ndarray) -> float:
    """How far the gradient, in float64, is from 5-point differences along ten directions."""
    flat, rebuild = nbgrad.scipy.ravel([(w.astype(float), b.astype(float)) for w, b in p])
    x, y = x.astype(float), y.astype(float)

    def f(flat: Any) -> Any:
        return loss_of(rebuild(flat), x, y)

    slopes = nbgrad.grad(f)(flat)
    apart = []
    for direction in np.random.default_rng(0).normal(size=(10, flat.size)):
        difference = five_point(lambda t, d=direction: float(f(flat + t * d)), 0.0, 1e-3)
        apart.append(abs(difference / float(slopes @ direction) - 1))
    return max(apart)


@nbgrad.compile(static_argnames="steps")
def descend(p: Any, x: Any, y: Any, steps: int) -> tuple[Any, Any]:
    """Plain gradient descent: the last weights, and the loss before each step."""

    def step(p, _):
        loss, slopes = nbgrad.value_and_grad(loss_of)(p, x, y)
        moved = [(w - RATE * dw, b - RATE * db) for (w, b), (dw, db) in zip(p, slopes, strict=True)]
        return moved, loss

    return nbgrad.scan(step, p, length=steps)


def accuracy(p: Any, x: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean(network(p, x).argmax(axis=1) == labels))


def run(sheet: Sheet, seed: Seed = 0, steps: Steps = STEPS) -> None:
    """Tell the eight petals of a flower apart, in float32.

    Trains a 2-20-20-8 network of sigmoids by 10,000 steps of plain gradient
    descent on all 896 points, in one compiled loop, after its gradient has
    been compared with 5-point differences.

    [bold]nbgrad run flower[/]
    [bold]nbgrad run flower --steps 2000[/]
    """
    rng = np.random.default_rng(seed)
    x, labels = make_flower(rng)
    y = np.eye(PETALS, dtype=np.float32)[labels]
    start = first_weights(rng)
    sheet.figure("points", len(x))
    sheet.figure("gradient and 5-point differences apart", check(start, x, y))
    p, history = descend(start, x, y, steps=steps)
    sheet.csv("history", ("step", "loss"), enumerate(history.tolist(), start=1))
    sheet.figure("loss at the end, of its start", float(history[-1] / history[0]))
    sheet.figure("accuracy", accuracy(p, x, labels))
    if sheet.plots:
        draw(sheet.out, p, x, labels, history)


def draw(out: Path, p: Any, x: np.ndarray, labels: np.ndarray, history: np.ndarray) -> None:
    """Draw the points, what is misread, the regions of the plane, and the loss."""
    from nbgrad.experiments import pictures

    def classify(points: np.ndarray) -> np.ndarray:
        return network(p, points.astype(np.float32)).argmax(axis=1)

    told = f"{100 * accuracy(p, x, labels):.1f} % of {len(x)} points"
    pictures.classes(out / "points.png", f"The flower: {told}", x, labels, classify(x))
    pictures.regions(out / "regions.png", f"Where each petal is seen: {told}", classify, x, labels)
    title = "Half the squared error of a point, learning rate 0.01"
    pictures.losses(out / "history.png", title, {"gradient descent": history})
