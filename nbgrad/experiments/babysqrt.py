"""The derivative of a square root that is computed by Heron's rule, in five ways.

``t <- (t + x / t) / 2`` approaches the square root of x. Nobody differentiates that loop by hand:
reverse mode, forward mode and differences each give the slope of what it computes, and the
mathematics says that this must be 1 / (2 sqrt(x)).
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import nbgrad
from nbgrad import naive


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


def compare(x: float) -> list[Row]:
    """The derivative at x in each way, the exact one last."""
    step = 1e-6 * max(1.0, x)
    exact = 0.5 / np.sqrt(x)
    ways = {
        "reverse mode (nbgrad.grad)": nbgrad.grad(babysqrt)(x),
        "reverse mode, number by number (naive)": naive.gradient(babysqrt, x)[0],
        "forward mode (nbgrad.jvp)": nbgrad.jvp(babysqrt, (x,), (1.0,))[1],
        "central differences": (babysqrt(x + step) - babysqrt(x - step)) / (2 * step),
        "exact, 1 / (2 sqrt(x))": exact,
    }
    return [Row(way, float(found), abs(float(found - exact))) for way, found in ways.items()]


def draw(x: float, path: Path) -> None:
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
