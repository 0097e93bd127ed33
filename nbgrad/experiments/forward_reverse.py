"""Forward mode against reverse mode: one small graph by both, one derivative in four ways, and the
Jacobians of functions with few inputs and with few outputs."""

from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

import nbgrad
from nbgrad.experiments.options import Rounds
from nbgrad.experiments.progress import Tell, progress
from nbgrad.experiments.sheet import Sheet

# -- one graph by both modes ----------------------------------------------------------------------


class Vertex(NamedTuple):
    """A value on the way to e, its derivatives with respect to a and to b, from forward mode, and
    the derivative of e with respect to it, from reverse mode."""

    name: str
    value: float
    by_a: float
    by_b: float
    of_e: float


class Walk(NamedTuple):
    """The vertices of a graph, and the local derivative of each edge."""

    vertices: list[Vertex]
    local: dict[tuple[str, str], float]


FORMULAS = {"a": "a", "b": "b", "c": "c = a b", "d": "d = b + 1", "e": "e = c d"}


def product(a: Any, b: Any) -> dict[str, Any]:
    """e = (a b) (b + 1), with what is computed on the way."""
    c = a * b
    d = b + 1
    return {"a": a, "b": b, "c": c, "d": d, "e": c * d}


def walk(a: float, b: float) -> Walk:
    """Both modes on `product`."""

    def values(a: Any, b: Any) -> Any:
        return np.stack(list(product(a, b).values()))

    by_a = nbgrad.jvp(values, (a, b), (1.0, 0.0))[1]
    by_b = nbgrad.jvp(values, (a, b), (0.0, 1.0))[1]

    tracked = product(nbgrad.track(a), nbgrad.track(b))
    local = {
        (name, child): float(x.children[y](1.0))
        for name, x in tracked.items()
        for child, y in tracked.items()
        if y in x.children
    }
    tracked["e"].backward(keep_grads=True)
    vertices = [
        Vertex(name, x.item(), float(by_a[i]), float(by_b[i]), float(x.grad))
        for i, (name, x) in enumerate(tracked.items())
    ]
    return Walk(vertices, local)


# -- one derivative in four ways ------------------------------------------------------------------


class Term(NamedTuple):
    """factor * x**power * exp(rate * x)."""

    factor: float
    power: int
    rate: float

    def __call__(self, x: float) -> float:
        return self.factor * x**self.power * np.exp(self.rate * x)

    def __str__(self) -> str:
        power = {0: "", 1: "x"}.get(self.power, f"x^{self.power}")
        exponential = f"e^({self.rate:g} x)" if self.rate else ""
        return " ".join(filter(None, [f"{self.factor:g}", power, exponential]))


def differentiated(terms: list[Term]) -> list[Term]:
    """The derivative of a sum of terms, as terms: by the rules for products, powers and
    exponentials."""
    found = []
    for factor, power, rate in terms:
        if power:
            found.append(Term(factor * power, power - 1, rate))
        if rate:
            found.append(Term(factor * rate, power, rate))
    return found


class Way(NamedTuple):
    """One way to a derivative, what it gives, and how far that is from the derivative by hand."""

    way: str
    derivative: float
    error: float


def four_ways(x: float) -> list[Way]:
    """The derivative of 3 x^2 + e^(2 x): by hand, by differences, symbolically, automatically."""
    terms = [Term(3.0, 2, 0.0), Term(1.0, 0, 2.0)]
    symbolic = differentiated(terms)

    def f(x: Any) -> Any:
        return 3 * x**2 + np.exp(2 * x)

    by_hand = 6 * x + 2 * np.exp(2 * x)
    ways = {
        "by hand: 6 x + 2 e^(2 x)": by_hand,
        "differences, one-sided": (f(x + 1e-8) - f(x)) / 1e-8,
        "differences, central": (f(x + 1e-5) - f(x - 1e-5)) / 2e-5,
        f"symbolic: {' + '.join(map(str, symbolic))}": sum(term(x) for term in symbolic),
        "automatic, forward mode": nbgrad.jvp(f, (x,), (1.0,))[1],
        "automatic, reverse mode": nbgrad.grad(f)(x),
    }
    return [Way(way, float(d), abs(float(d - by_hand))) for way, d in ways.items()]


# -- Jacobians from tall to wide ------------------------------------------------------------------

SHAPES = ((4, 1024), (16, 256), (64, 64), (256, 16), (1024, 4))
"""Inputs and outputs of the functions."""
HIDDEN = 64


class Race(NamedTuple):
    """Multiplications and seconds of the Jacobian of a function with so many inputs and outputs, by
    one pushforward for each input and by one pullback for each output."""

    inputs: int
    outputs: int
    forward_cost: int
    reverse_cost: int
    forward: float
    reverse: float


def by_forward(f: Callable, x: np.ndarray) -> np.ndarray:
    """The Jacobian, column by column."""
    return np.stack([nbgrad.jvp(f, (x,), (e,))[1] for e in np.eye(x.size)], axis=1)


def by_reverse(f: Callable, x: np.ndarray) -> np.ndarray:
    """The Jacobian, row by row."""
    tracked = nbgrad.track(x)
    y = f(tracked)
    rows = []
    for e in np.eye(y.size):
        y.backward(e, keep_graph=True)
        rows.append(tracked.grad)
        tracked.grad = None
    return np.stack(rows)


def layers(inputs: int, outputs: int) -> tuple[Callable, np.ndarray]:
    """A function of two layers, and where its Jacobian is taken."""
    rng = np.random.default_rng(inputs)
    first = rng.normal(size=(HIDDEN, inputs)) / np.sqrt(inputs)
    last = rng.normal(size=(outputs, HIDDEN)) / np.sqrt(HIDDEN)
    return lambda x: np.tanh(last @ np.tanh(first @ x)), rng.normal(size=inputs)


def race(rounds: int, tell: Tell | None = None) -> list[Race]:
    """Count and time both modes for each shape."""
    races = []
    for i, (inputs, outputs) in enumerate(SHAPES, start=1):
        f, x = layers(inputs, outputs)
        graph = nbgrad.elimination.record(f, x)
        # One pushforward, or one pullback, multiplies once with each number of a local Jacobian.
        once = sum(graph.sizes[i] * graph.sizes[j] // e.blocks for (i, j), e in graph.edges.items())
        np.testing.assert_allclose(by_forward(f, x), by_reverse(f, x), rtol=1e-9, atol=1e-12)
        # In turns: machines drift, so only what ran side by side is compared.
        times = [(_seconds(by_forward, f, x), _seconds(by_reverse, f, x)) for _ in range(rounds)]
        forward, reverse = (median(column) for column in zip(*times, strict=True))
        races.append(Race(inputs, outputs, inputs * once, outputs * once, forward, reverse))
        if tell is not None:
            tell(i, len(SHAPES), f"{inputs} to {outputs}")
    return races


def _seconds(way: Callable, f: Callable, x: np.ndarray) -> float:
    start = perf_counter()
    way(f, x)
    return perf_counter() - start


def run(
    sheet: Sheet,
    a: Annotated[float, typer.Option("-a", help="In e = (a b) (b + 1).")] = 2.0,
    b: Annotated[float, typer.Option("-b", help="In e = (a b) (b + 1).")] = 3.0,
    at: Annotated[float, typer.Option(min=-5, max=5, help="Where to differentiate.")] = 0.5,
    rounds: Rounds = 5,
) -> None:
    """Compare forward mode with reverse mode in three ways.

    Walks through e = (a b) (b + 1) by both modes, with the local derivatives;
    compares 3 x^2 + e^(2 x) by hand, by differences, symbolically and
    automatically; and counts and times both modes on Jacobians from tall to
    wide.

    [bold]nbgrad run forward-reverse[/]
    [bold]nbgrad run forward-reverse -a 1 -b -2 --at 1[/]
    """
    with progress("forward-reverse") as tell:
        races = race(rounds, tell)
    found, ways = walk(a, b), four_ways(at)
    sheet.table(
        "walk",
        f"e = (a b) (b + 1) at a = {a:g}, b = {b:g}",
        {"": "", "value": "g", "d/da forward": "g", "d/db forward": "g", "de/d reverse": "g"},
        [(FORMULAS[v.name], *v[1:]) for v in found.vertices],
    )
    sheet.table(
        "four-ways",
        f"The derivative of 3 x^2 + e^(2 x) at {at:g}",
        {"": "", "derivative": ".14f", "error": ".1e"},
        ways,
    )
    sheet.table(
        "jacobians",
        "Jacobians by forward and by reverse mode: multiplications, milliseconds",
        {
            "outputs x inputs": "", "forward": ",d", "reverse": ",d", "forward ms": ",.2f",
            "reverse ms": ",.2f", "ratio": ".2f",
        },
        [
            (
                f"{r.outputs} x {r.inputs}", r.forward_cost, r.reverse_cost, 1e3 * r.forward,
                1e3 * r.reverse, r.forward / r.reverse,
            )
            for r in races
        ],
    )  # fmt: skip
    by_name = {v.name: v for v in found.vertices}
    sheet.figure("de/da", by_name["a"].of_e)
    sheet.figure("de/db", by_name["b"].of_e)
    sheet.figure("both modes apart", abs(by_name["e"].by_a - by_name["a"].of_e))
    sheet.figure("largest error of automatic ways", max(way.error for way in ways[-2:]))
    if sheet.plots:
        draw_walk(found, sheet.out / "graph.png")
        draw_races(races, sheet.out / "jacobians.png")


# -- pictures -------------------------------------------------------------------------------------


def draw_walk(found: Walk, path: Path) -> None:
    """Draw the graph of `product` with local derivatives on its edges, once with what forward mode
    and once with what reverse mode computes in its vertices, and write a PNG."""
    from nbgrad.experiments.graphs import Box, draw_graph
    from nbgrad.experiments.style import INK, new_figure

    places = {"a": (0, 1), "b": (0, -1), "c": (1.2, 1), "d": (1.2, -1), "e": (2.4, 0)}
    number = {name: i for i, name in enumerate(places)}
    edges = {(number[x], number[y]): f"{d:g}" for (x, y), d in found.local.items()}
    figure = new_figure(9, 4.2)
    panels = figure.subplots(1, 2)
    titles = (
        "forward mode: d/da and d/db of each",
        "reverse mode: de/d of each, from e back",
    )
    for axes, title in zip(panels, titles, strict=True):
        boxes = {}
        for v in found.vertices:
            told = f"{v.by_a:g}, {v.by_b:g}" if axes is panels[0] else f"{v.of_e:g}"
            text = f"{v.name} = {v.value:g}\n{told}"
            boxes[number[v.name]] = Box(text, *places[v.name], end=v.name in "abe")
        turned = {(j, i): label for (i, j), label in edges.items()}
        draw_graph(axes, boxes, edges if axes is panels[0] else turned)
        axes.set_title(title, color=INK, fontsize=11)
    figure.suptitle("e = (a b) (b + 1), with local derivatives on the edges", color=INK)
    figure.savefig(path)


def draw_races(races: list[Race], path: Path) -> None:
    """Draw multiplications and seconds of both modes against the shape, and write a PNG."""
    from nbgrad.experiments.style import BLUE, GRID, INK, ORANGE, new_figure, tidy

    figure = new_figure(9, 4.2)
    panels = figure.subplots(1, 2)
    counted = [(r.forward_cost, r.reverse_cost) for r in races]
    measured = [(1e3 * r.forward, 1e3 * r.reverse) for r in races]
    for axes, pairs, label in (
        (panels[0], counted, "multiplications, counted"),
        (panels[1], measured, "milliseconds, measured"),
    ):
        forward, reverse = zip(*pairs, strict=True)
        axes.plot(range(len(races)), forward, "o-", color=BLUE, label="forward mode")
        axes.plot(range(len(races)), reverse, "o-", color=ORANGE, label="reverse mode")
        axes.set_xticks(range(len(races)), [f"{r.outputs} x {r.inputs}" for r in races])
        axes.set_yscale("log")
        axes.set_xlabel("shape of the Jacobian")
        axes.set_title(label, color=INK, fontsize=11)
        axes.grid(color=GRID, linewidth=0.8)
        tidy(axes)
    panels[0].legend(frameon=False, labelcolor=INK)
    figure.suptitle("A tall Jacobian is for forward mode, a wide one for reverse mode", color=INK)
    figure.savefig(path)
