"""Reverse mode out of forward mode: push symbols through a function, and read what is left of it
from its end.

`linearize` runs a function on dual numbers whose tangents are symbols. All that depends on the
point is computed on the way; what remains is a straight-line program that is linear in the
tangents. Its transpose, op by op from the last to the first, takes a cotangent to the gradient.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import nbgrad
from nbgrad.experiments.options import Seed
from nbgrad.experiments.sheet import Sheet
from nbgrad.transforms import LinearMap


class Row(NamedTuple):
    """A program: the ops that are linear in its tangents, and how far the gradients are apart."""

    name: str
    steps: int
    transposed: int
    apart: float


def neuron(w: Any, x: Any, b: Any) -> Any:
    """One neuron: short enough to read its programs."""
    return np.tanh(np.sum(w * x) + b)


def neuron_point() -> tuple:
    return np.array([0.5, -1.0]), np.array([2.0, 1.0]), 0.25


def programs(seed: int) -> dict[str, tuple[Callable, tuple]]:
    """Functions of one number, with the point to differentiate them at."""
    rng = np.random.default_rng(seed)
    x, labels = rng.normal(size=(20, 4)), rng.integers(0, 3, 20)
    a = rng.normal(size=(5, 5))
    spd = a @ a.T + 5 * np.eye(5)

    def network(p: Any) -> Any:
        hidden = np.tanh(x @ p["w1"] + p["b1"])
        return nbgrad.logit_cross_entropy(hidden @ p["w2"], labels)

    def root(x: Any) -> Any:
        t = (1.0 + x) / 2.0
        for _ in range(10):
            t = (t + x / t) / 2.0
        return t

    def rosenbrock(x: Any) -> Any:
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    def branch(x: Any) -> Any:
        return np.sum(np.exp(x)) if x[0] > 0 else np.sum(x * x)

    def likelihood(k: Any) -> Any:
        factor = np.linalg.cholesky(k)
        z = np.linalg.solve(factor, np.arange(5.0))
        return 0.5 * np.sum(z * z) + np.sum(np.log(np.diagonal(factor)))

    weights = {
        "w1": rng.normal(size=(4, 8)),
        "b1": rng.normal(size=8),
        "w2": rng.normal(size=(8, 3)),
    }
    return {
        "a neuron": (neuron, neuron_point()),
        "square root in 10 steps": (root, (2.0,)),
        "Rosenbrock, 50 numbers": (rosenbrock, (rng.normal(size=50),)),
        "a branch": (branch, (np.array([0.5, -0.3]),)),
        "network 4-8-3, 20 samples": (network, (weights,)),
        "Gaussian likelihood": (likelihood, (spd,)),
    }


def compare(seed: int) -> list[Row]:
    """For each program its gradients by transposition and by the direct pullback."""
    rows = []
    for name, (f, point) in programs(seed).items():
        _, push = nbgrad.linearize(f, *point)
        transposed = nbgrad.linearize(push.transpose, 1.0)[1]
        found = _flat(push.transpose(1.0))
        direct = _flat(nbgrad.vjp(f, *point)[1](1.0))
        apart = float(np.abs(found - direct).max() / np.abs(direct).max())
        rows.append(Row(name, len(push), len(transposed), apart))
    return rows


def side_by_side() -> tuple[LinearMap, LinearMap]:
    """The linear program of the neuron, and its transpose."""
    _, push = nbgrad.linearize(neuron, *neuron_point())
    return push, nbgrad.linearize(push.transpose, 1.0)[1]


def _flat(tree: Any) -> np.ndarray:
    return nbgrad.scipy.ravel(tree)[0]


def run(sheet: Sheet, seed: Seed = 0) -> None:
    """Build reverse mode out of forward mode by transposition.

    Pushes symbols through a neuron, shows the linear program that is left and
    its transpose, and compares the gradients of some programs with those of
    the direct pullback.

    [bold]nbgrad run transposition[/]
    """
    rows = compare(seed)
    titles = (
        "tanh(sum(w * x) + b), linear in its tangents:",
        "its transpose, linear in the cotangent:",
    )
    for title, program in zip(titles, side_by_side(), strict=True):
        print(f"{title}\n{program}\n")
    sheet.table(
        "transposition",
        "Gradients by transposition and by the direct pullback",
        {"": "", "linear ops": "d", "transposed": "d", "apart, relative": ".0e"},
        rows,
    )
    sheet.figure("largest difference, relative", max(row.apart for row in rows))
    if sheet.plots:
        draw(sheet.out / "transposition.png")


def draw(path: Path) -> None:
    """Draw the linear program of the neuron and its transpose, and write a PNG."""
    from nbgrad.experiments.graphs import Box, draw_graph
    from nbgrad.experiments.style import INK, new_figure

    figure = new_figure(9, 5.2)
    places = [(-1.5, 4), (0, 4), (1.5, 2), (-1.5, 3), (0, 3), (-0.75, 2), (-0.75, 1), (0.4, 0),
              (0.4, -1), (0.4, -2)]  # fmt: skip
    slope = r"$\cdot\, (1 - y^2)$"
    tangents = (r"$\dot w$", r"$\dot x$", r"$\dot b$", r"$\cdot\, x$", r"$\cdot\, w$", "+",
                r"$\Sigma$", "+", slope, r"$\dot y$")  # fmt: skip
    cotangents = (r"$\bar w$", r"$\bar x$", r"$\bar b$", *tangents[3:5], "copy", "spread", "copy",
                  slope, r"$\bar y$")  # fmt: skip
    edges = [(0, 3), (1, 4), (3, 5), (4, 5), (5, 6), (6, 7), (2, 7), (7, 8), (8, 9)]
    titles = ("linearize: tangents go down", "transpose: cotangents come up")
    for axes, names, turned, title in zip(
        figure.subplots(1, 2), (tangents, cotangents), (False, True), titles, strict=True
    ):
        boxes = {i: Box(names[i], *places[i], end=i in (0, 1, 2, 9)) for i in range(len(places))}
        arrows = {(j, i) if turned else (i, j): "" for i, j in edges}
        draw_graph(axes, boxes, arrows)
        axes.set_title(title, color=INK, fontsize=12)
    figure.suptitle(r"One neuron, $y = \tanh(\Sigma\, w x + b)$: sums become copies", color=INK)
    figure.savefig(path)
