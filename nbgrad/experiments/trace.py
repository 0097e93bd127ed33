"""The divergence of a vector field from few products: how far off each estimator is, and when.

The field is f(x) = A sin(x), whose Jacobian at 0 is A. Exactly, the divergence takes as many
products with the Jacobian as x has elements. An estimator takes fewer, with random vectors; how far
it is off hangs on the vectors and on how the spectrum of A falls.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple, get_args

import numpy as np
import typer

import nbgrad
from nbgrad.estimators import Method, Probes
from nbgrad.experiments.options import Seed
from nbgrad.experiments.progress import Tell, progress
from nbgrad.experiments.sheet import Sheet

SIZE = 100
PRODUCTS = (6, 12, 24, 48, 96)
SPECTRA = {
    "decaying": 1.0 / np.arange(1, SIZE + 1) ** 2,
    "flat": np.linspace(0.5, 1.5, SIZE),
}
WAYS = tuple((method, probes) for method in get_args(Method) for probes in get_args(Probes))


class Row(NamedTuple):
    """One way to estimate, with its errors: the root of the mean square over the rounds, the
    variance of the estimates, and the root of the mean square of the standard errors that it told.
    All in shares of the trace, or of its square."""

    spectrum: str
    method: str
    probes: str
    products: int
    error: float
    variance: float
    told: float


def field(spectrum: str, seed: int = 0) -> tuple[Callable, float]:
    """The field for a spectrum, turned into a random basis, and its divergence at 0."""
    basis = np.linalg.qr(np.random.default_rng(seed).normal(size=(SIZE, SIZE)))[0]
    values = SPECTRA[spectrum]
    a = (basis * values) @ basis.T
    return lambda x: a @ np.sin(x), float(np.sum(values))


def measure(rounds: int, seed: int, tell: Tell) -> list[Row]:
    """Each way at each number of products, for `rounds` draws of probes, exact ones first."""
    rows, x, done = [], np.zeros(SIZE), 0
    for spectrum in SPECTRA:
        f, exact = field(spectrum, seed)
        off = abs(float(nbgrad.divergence(f)(x)) - exact) / exact
        rows.append(Row(spectrum, "divergence", "", SIZE, off, 0.0, 0.0))
        for method, probes in WAYS:
            for products in PRODUCTS:
                rng = np.random.default_rng([seed, products])
                found = [
                    nbgrad.trace_estimate(f, x, method, samples=products, rng=rng, probes=probes)
                    for _ in range(rounds)
                ]
                error = _root_mean_square([one.value - exact for one in found]) / exact
                told = _root_mean_square([one.standard_error for one in found]) / exact
                variance = float(np.var([one.value for one in found])) / exact**2
                rows.append(Row(spectrum, method, probes, products, error, variance, told))
            done += 1
            tell(done, len(SPECTRA) * len(WAYS), f"{spectrum}, {method}, {probes}")
    return rows


def table(rows: list[Row], spectrum: str) -> list[list]:
    """The errors in shares of the trace, a line for each way and the exact one last."""
    exact, *rest = (row for row in rows if row.spectrum == spectrum)
    lines = [
        [
            f"{method.capitalize()}, {probes}",
            *(row.error for row in rest if row[1:3] == (method, probes)),
            None,
        ]
        for method, probes in WAYS
    ]
    return [*lines, ["divergence, exact", *[None] * len(PRODUCTS), exact.error]]


def run(
    sheet: Sheet,
    rounds: Annotated[int, typer.Option(min=2, help="How many draws each error is over.")] = 100,
    seed: Seed = 0,
) -> None:
    """Estimate a divergence from few products.

    Compares Hutchinson's estimator with Hutch++, which learns the large part
    of the spectrum first, and three kinds of random vectors, with the exact
    divergence of 100 dimensions beside. Where the spectrum decays, Hutch++ is
    far ahead; where it is flat, there is nothing to learn.

    [bold]nbgrad run trace[/]
    [bold]nbgrad run trace --rounds 1000[/]
    """
    with progress("trace") as tell:
        rows = measure(rounds, seed, tell)
    sheet.csv("trace", Row._fields, rows)
    columns = {"products": "", **{str(n): ".2%" for n in (*PRODUCTS, SIZE)}}
    for spectrum in SPECTRA:
        title = f"{spectrum.capitalize()} spectrum: root mean square error, of the trace"
        sheet.table(f"{spectrum}", title, columns, table(rows, spectrum))
    error = {row[:4]: row.error for row in rows}
    most = PRODUCTS[-1]
    gain = (error["decaying", way, "rademacher", most] for way in ("hutchinson", "hutch++"))
    sheet.figure("Hutchinson / Hutch++, 96 products, decaying", next(gain) / next(gain))
    sheet.figure("error of the exact divergence", error["decaying", "divergence", "", SIZE])
    if sheet.plots:
        draw(rows, sheet.out / "trace.png")


def draw(rows: list[Row], path: Path) -> None:
    """Draw errors and variances against the products, a column for each spectrum, and write a
    PNG."""
    from nbgrad.experiments.style import BLUE, GRID, INK, ORANGE, new_figure, tidy

    figure = new_figure(9.5, 7.4)
    figure.suptitle(f"A divergence of {SIZE} dimensions from few products", color=INK, fontsize=13)
    panels = figure.subplots(2, len(SPECTRA), sharex=True, sharey="row")
    colors = dict(zip(get_args(Method), (BLUE, ORANGE), strict=True))
    looks = dict(zip(get_args(Probes), ("o-", "s--", "^:"), strict=True))
    guide = np.array([PRODUCTS[0], PRODUCTS[-1]])
    names = {"error": "root mean square error / trace", "variance": "variance / trace squared"}
    for (fact, label), line in zip(names.items(), panels, strict=True):
        for axes, spectrum in zip(line, SPECTRA, strict=True):
            for way in WAYS:
                found = [getattr(row, fact) for row in rows if row[:3] == (spectrum, *way)]
                method, probes = way
                axes.plot(
                    PRODUCTS, found, looks[probes], color=colors[method], markersize=5,
                    linewidth=1.5, label=f"{method.capitalize()}, {probes}",
                )  # fmt: skip
            power = 0.5 if fact == "error" else 1.0
            first = next(getattr(r, fact) for r in rows if r[:3] == (spectrum, *WAYS[1]))
            falling = 2 * first * (PRODUCTS[0] / guide) ** power
            axes.plot(guide, falling, color="#bbbbbb", linewidth=1, label="slope of more samples")
            axes.axvline(SIZE, color=INK, linewidth=1, label=f"exact: {SIZE} products")
            axes.set(xscale="log", yscale="log")
            axes.set_xticks(PRODUCTS, [str(n) for n in PRODUCTS])
            axes.minorticks_off()
            axes.grid(color=GRID, linewidth=0.8)
            tidy(axes)
        line[0].set_ylabel(label)
    for axes, spectrum in zip(panels[0], SPECTRA, strict=True):
        axes.set_title(f"{spectrum} spectrum", color=INK, fontsize=11)
    for axes in panels[1]:
        axes.set_xlabel("products with the Jacobian")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, labelcolor=INK)
    figure.savefig(path)


def _root_mean_square(values: list) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
