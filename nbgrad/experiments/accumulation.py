"""In which order the Jacobians of some programs take the fewest multiplications.

Forward and reverse mode are two of the orders in which the chain rule can be multiplied out. On
programs with a bottleneck inside neither is good, and the best order is a third.
"""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import nbgrad
from nbgrad import elimination
from nbgrad.elimination.graph import Partial
from nbgrad.experiments.options import Rounds, Seed
from nbgrad.experiments.progress import Tell, progress
from nbgrad.experiments.sheet import Sheet

ORDERS = ("forward", "reverse", "markowitz", "optimal")


class Row(NamedTuple):
    """A program: its intermediate vertices, the multiplications of each order, the seconds that the
    Jacobian takes in each, and how far they are apart, relative to the largest number."""

    name: str
    vertices: int
    costs: dict[str, int]
    seconds: dict[str, float]
    error: float

    @property
    def saved(self) -> float:
        """How many times the multiplications of the best order the better mode takes."""
        best = self.costs["optimal"]
        return min(self.costs["forward"], self.costs["reverse"]) / best if best else 1.0

    @property
    def time_saved(self) -> float:
        """The same for the seconds."""
        return min(self.seconds["forward"], self.seconds["reverse"]) / self.seconds["optimal"]


def two_numbers(x: Any) -> Any:
    """t = x0 sin(x0 x1), and of it cos(t) and t / x1: an example of Naumann's."""
    t = x[0] * np.sin(x[0] * x[1])
    return np.stack([np.cos(t), t / x[1]])


def programs(seed: int) -> dict[str, tuple[Callable, np.ndarray]]:
    """The programs by name, and where their Jacobians are taken."""
    rng = np.random.default_rng(seed)

    def matrix(*shape: int) -> np.ndarray:
        return rng.normal(size=shape) / np.sqrt(shape[-1])

    sizes = (120, 40, 90, 8, 100, 30, 70, 20, 110)
    factors = [matrix(m, n) for n, m in pairwise(sizes)]
    narrow, wide = matrix(4, 150), matrix(150, 4)
    one, other = matrix(200), matrix(200)
    inner = [matrix(24, 24) for _ in range(3)]
    first, last = matrix(12, 30), matrix(5, 12)

    def product(x):
        for factor in factors:
            x = factor @ x
        return x

    def hourglass(x):
        return np.tanh(wide @ np.tanh(narrow @ np.tanh(wide @ np.tanh(narrow @ np.sin(x)))))

    def bottleneck(x):
        return np.sin(other * np.exp(one @ np.sin(x)))

    def shortcuts(x):
        for weights in inner:
            x = x + np.tanh(weights @ np.tanh(weights.T @ x))
        return x

    def batch(x):
        return nbgrad.softmax(np.tanh(x @ first.T) @ last.T)

    def oscillator(state):
        def slope(s):
            return np.stack([s[1], (1.0 - s[0] * s[0]) * s[1] - s[0]])

        for _ in range(2):
            half = state + 0.05 * slope(state)
            state = state + 0.1 * slope(half)
        return state

    return {
        "two numbers": (two_numbers, np.array([0.7, 1.3])),
        "oscillator": (oscillator, np.array([1.0, 0.5])),
        "8 matrices": (product, rng.normal(size=120)),
        "bottleneck": (bottleneck, rng.normal(size=200)),
        "hourglass": (hourglass, rng.normal(size=150)),
        "shortcuts": (shortcuts, rng.normal(size=24)),
        "16 samples": (batch, rng.normal(size=(16, 30))),
    }


def compare(seed: int, rounds: int = 10, tell: Tell | None = None) -> list[Row]:
    """Count, compute and time the Jacobian of each program in each order."""
    rows = []
    chosen = programs(seed)
    for i, (name, (f, x)) in enumerate(chosen.items(), start=1):
        graph = elimination.record(f, x)
        orders = {way: elimination.order(graph, way) for way in ORDERS}
        found = {way: elimination.jacobian(f, x, order) for way, order in orders.items()}
        largest = np.abs(found["reverse"]).max()
        apart = max(np.abs(found[way] - found["reverse"]).max() for way in ORDERS)
        # All in turns: machines drift, so only what ran side by side is compared.
        times = [{way: _seconds(f, x, orders[way]) for way in ORDERS} for _ in range(rounds)]
        rows.append(
            Row(
                name,
                len(graph.intermediates),
                {way: graph.cost(order) for way, order in orders.items()},
                {way: median(time[way] for time in times) for way in ORDERS},
                float(apart / largest),
            )
        )
        if tell is not None:
            tell(i, len(chosen), name)
    return rows


def run(sheet: Sheet, seed: Seed = 0, rounds: Rounds = 10) -> None:
    """Find the cheapest order for the chain rule of a Jacobian.

    Counts the multiplications of the chain rule in forward mode, in reverse
    mode, in the order of Markowitz and in the best that is found, computes
    the Jacobians in each order, and compares them.

    [bold]nbgrad run accumulation[/]
    """
    with progress("accumulation") as tell:
        rows = compare(seed, rounds, tell)
    columns = {
        "": "", "vertices": "d", **dict.fromkeys(ORDERS, ",d"), "gain": ".2f", "in time": ".2f",
        "apart": ".0e",
    }  # fmt: skip
    sheet.table(
        "accumulation",
        "Multiplications of a Jacobian; gain: the better mode against the best order",
        columns,
        [(r.name, r.vertices, *r.costs.values(), r.saved, r.time_saved, r.error) for r in rows],
    )
    costs = {row.name: row.costs for row in rows}
    for order in ORDERS:
        sheet.figure(f"two numbers, {order}", costs["two numbers"][order])
    sheet.figure("least gain over the better mode", min(row.saved for row in rows))
    sheet.figure("largest difference between orders", max(row.error for row in rows))
    if sheet.plots:
        draw(rows, sheet.out / "accumulation.png")
        draw_elimination(sheet.out / "elimination.png")


def _seconds(f: Callable, x: np.ndarray, order: tuple[int, ...]) -> float:
    start = perf_counter()
    elimination.jacobian(f, x, order)
    return perf_counter() - start


def draw(rows: list[Row], path: Path) -> None:
    """Draw the multiplications of each order against those of the better mode, and write a PNG."""
    from nbgrad.experiments.style import BLUE, GRID, INK, ORANGE, new_figure, tidy

    figure = new_figure(8, 5)
    axes = figure.subplots()
    colors = dict(zip(ORDERS, ("#bbbbbb", "#92c5de", ORANGE, BLUE), strict=True))
    labels = dict(zip(ORDERS, ("forward mode", "reverse mode", "Markowitz", "best"), strict=True))
    height = 0.8 / len(ORDERS)
    for k, way in enumerate(ORDERS):
        better = [min(row.costs["forward"], row.costs["reverse"]) for row in rows]
        shares = [row.costs[way] / least for row, least in zip(rows, better, strict=True)]
        places = np.arange(len(rows)) + (k - 1.5) * height
        axes.barh(places, shares, height, color=colors[way], label=labels[way])
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    axes.invert_yaxis()
    axes.axvline(1.0, color=INK, linewidth=0.8)
    axes.set_xlabel("multiplications / multiplications of the better of both modes")
    axes.set_title("What the order of the chain rule is worth", color=INK, fontsize=13)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    tidy(axes)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, labelcolor=INK)
    figure.savefig(path)


def draw_elimination(path: Path) -> None:
    """Draw the graph of `two_numbers` as its vertices are eliminated in the best order, and write
    a PNG."""
    from nbgrad.experiments.graphs import Box, draw_graph
    from nbgrad.experiments.style import INK, new_figure

    graph = elimination.record(two_numbers, np.array([0.7, 1.3]))
    names = ("$x_0$", "$x_1$", "$x_0 x_1$", "sin", "$t$", "cos", "/")
    places = ((0, 1), (0, -1), (1, -0.2), (2, -0.2), (3, 0), (4, 1), (4, -1))
    boxes = {
        v: Box(names[i], *places[i], end=v not in graph.intermediates)
        for i, v in enumerate(graph.vertices)
    }
    order = elimination.order(graph)
    figure = new_figure(8, 5.4)
    panels = figure.subplots(2, 2).flat
    left = Partial(graph.sizes, graph.edges)
    total = 0
    for axes, vertex in zip(panels, (None, *order), strict=True):
        title = "the graph"
        if vertex is not None:
            total += left.eliminate(vertex)
            times = f"{total} multiplication{'s' * (total > 1)}"
            title = f"without {boxes.pop(vertex).name}: {times} in all"
        edges = {(i, j): "" for j, into in left.into.items() for i in into}
        draw_graph(axes, boxes, edges)
        axes.set_title(title, color=INK, fontsize=11)
    figure.suptitle(
        f"From a graph to its Jacobian with {total} multiplications\n"
        f"(forward mode {graph.cost(elimination.order(graph, 'forward'))}, "
        f"reverse mode {graph.cost(elimination.order(graph, 'reverse'))})",
        color=INK,
    )
    figure.savefig(path)
