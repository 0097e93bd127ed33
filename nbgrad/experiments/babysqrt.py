"""The derivative of a square root that is computed by Heron's rule, in seven ways.

``t <- (t + x / t) / 2`` approaches the square root of x. Nobody differentiates that loop by hand:
reverse mode, forward mode and differences each give the slope of what it computes, and the
mathematics says that this must be 1 / (2 sqrt(x)).
"""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

import nbgrad
from nbgrad import naive
from nbgrad.experiments.sheet import Sheet


class Row(NamedTuple):
    """One way to the derivative, what it gives, and how far that is from 1 / (2 sqrt(x))."""

    way: str
    derivative: float
    error: float


def babysqrt(x: Any, n: int = 10) -> Any:
    """The square root of x after n steps of Heron's rule."""
    t = (1 + x) / 2
    for _ in range(n):
        t = (t + x / t) / 2
    return t


def central(f: Any, x: float, step: float) -> float:
    """The slope from two points: its error falls with the square of the step."""
    return (f(x + step) - f(x - step)) / (2 * step)


def five_point(f: Any, x: float, step: float) -> float:
    """The slope from four points around x: its error falls with the fourth power of the step, so
    that a longer step, which rounding harms less, is good enough."""
    return (8 * (f(x + step) - f(x - step)) - (f(x + 2 * step) - f(x - 2 * step))) / (12 * step)


def compare(x: float) -> list[Row]:
    """The derivative at x in each way, the exact one last."""
    scale = max(1.0, x)
    exact = 0.5 / np.sqrt(x)
    ways = {
        "reverse mode (nbgrad.grad)": nbgrad.grad(babysqrt)(x),
        "reverse mode, compiled": nbgrad.compile(nbgrad.grad(babysqrt))(x),
        "reverse mode, number by number (naive)": naive.gradient(babysqrt, x)[0],
        "forward mode, dual numbers (nbgrad.jvp)": nbgrad.jvp(babysqrt, (x,), (1.0,))[1],
        "central differences": central(babysqrt, x, 1e-6 * scale),
        "5-point differences": five_point(babysqrt, x, min(5e-4 * scale, x / 4)),
        "exact, 1 / (2 sqrt(x))": exact,
    }
    return [Row(way, float(found), abs(float(found - exact))) for way, found in ways.items()]


def run(
    sheet: Sheet,
    at: Annotated[
        float, typer.Option("--at", min=1e-3, max=1e3, help="Where to take the derivative.")
    ] = 2.0,
) -> None:
    """Differentiate a square root, a loop, in seven ways.

    Compares reverse mode, the same number by number and compiled, forward
    mode, central and 5-point differences with 1 / (2 sqrt(x)); draws the root
    with its exact and its dual derivative on 0 to 2, and the derivative after
    1, 3 and 10 steps of the loop.

    [bold]nbgrad run babysqrt[/]
    [bold]nbgrad run babysqrt --at 100[/]
    """
    rows = compare(at)
    sheet.table(
        "babysqrt",
        f"The derivative of the square root at {at:g}",
        {"": "", "derivative": ".16f", "error": ".1e"},
        rows,
    )
    error = {row.way: row.error for row in rows}
    sheet.figure("largest error of both modes", max(row.error for row in rows[:4]))
    sheet.figure("error of central differences", error["central differences"])
    sheet.figure("error of 5-point differences", error["5-point differences"])
    if sheet.plots:
        draw_root(sheet.out / "root.png")
        draw_slopes(at, sheet.out / "slopes.png")


def draw_root(path: Path) -> None:
    """Draw the root on 0 to 2 with its exact derivative and that of dual numbers, as a PNG."""
    from nbgrad.experiments.style import BLUE, GRID, INK, ORANGE, new_figure, tidy

    xs = np.linspace(0.01, 2.0, 200)
    roots, slopes = nbgrad.jvp(babysqrt, (xs,), (np.ones_like(xs),))
    figure = new_figure(7, 4.6)
    axes = figure.subplots()
    axes.plot(xs, roots, color=INK, linewidth=1.8, label="root after 10 steps")
    axes.plot(xs, 0.5 / np.sqrt(xs), color="#bbbbbb", linewidth=6, label=r"$1\,/\,(2\sqrt{x})$")
    axes.plot(xs, slopes, "--", color=ORANGE, linewidth=1.8, label="derivative by dual numbers")
    axes.plot([2.0], [0.5 / np.sqrt(2)], "o", color=BLUE, label=r"$1\,/\,(2\sqrt{2})$ at 2")
    axes.set(xlim=(0, 2.05), ylim=(0, 5.2), xlabel="x")
    axes.set_title("Heron's square root and its derivative", color=INK, fontsize=13)
    axes.grid(color=GRID, linewidth=0.8)
    axes.legend(frameon=False, labelcolor=INK)
    tidy(axes)
    figure.savefig(path)


def draw_slopes(x: float, path: Path) -> None:
    """Draw the derivative against x after some numbers of steps, and write it as a PNG."""
    from nbgrad.experiments.style import BLUE, GRID, INK, ORANGE, new_figure, tidy

    xs = np.geomspace(min(0.01, x / 4), max(100.0, 4 * x), 200)
    figure = new_figure(7, 4.6)
    axes = figure.subplots()
    axes.plot(xs, 0.5 / np.sqrt(xs), color="#bbbbbb", linewidth=6, label=r"$1\,/\,(2\sqrt{x})$")
    for n, color in ((1, "#92c5de"), (3, "#4393c3"), (10, BLUE)):
        # One pass gives the slopes at all x: each root depends on its own x alone.
        slopes = nbgrad.grad(lambda xs, n=n: np.sum(babysqrt(xs, n)))(xs)
        steps = f"{n} step{'s' * (n > 1)}"
        axes.plot(xs, slopes, color=color, linewidth=1.8, label=f"nbgrad, {steps}")
    axes.plot([x], [0.5 / np.sqrt(x)], "o", color=ORANGE, markersize=8, label=f"x = {x:g}")
    axes.set(xscale="log", yscale="log", xlabel="x", ylabel="derivative of the square root")
    axes.set_title("The slope of Heron's square root", color=INK, fontsize=13)
    axes.grid(color=GRID, linewidth=0.8)
    axes.legend(frameon=False, labelcolor=INK)
    tidy(axes)
    figure.savefig(path)
