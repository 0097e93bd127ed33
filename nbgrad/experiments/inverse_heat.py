"""What is a rod made of? Its conductivity from temperatures: the heat equation, backwards.

u_t = (k(x) u_x)_x on 0 to 1, with cold ends and a hot middle at first. The temperature is measured
at nine places over time, with noise; the conductivity at 20 places is sought. A step of the
explicit scheme is repeated by `scan`, one compiled loop forward and one backward, and L-BFGS brings
the misfit down, with a small price on a rough conductivity.
"""

from pathlib import Path
from typing import Any

import numpy as np

import nbgrad
from nbgrad.experiments.babysqrt import five_point
from nbgrad.experiments.options import Seed
from nbgrad.experiments.sheet import Sheet

CELLS, KNOTS, STEPS, STRIDE, NOISE, PRICE = 60, 20, 2400, 24, 0.005, 0.02
WIDTH = 1.0 / CELLS
TIME_STEP = 2e-5
GRID = np.linspace(0, 1, CELLS + 1)
EDGES = (GRID[1:] + GRID[:-1]) / 2
PLACES = np.linspace(0, 1, KNOTS)
SENSORS = np.arange(6, CELLS, 6)
HAT = np.maximum(0, 1 - np.abs(EDGES[:, None] - PLACES) * (KNOTS - 1))
"""Linear interpolation from the places to the edges between cells."""


def true_conductivity(x: np.ndarray) -> np.ndarray:
    """A rod with a weld, and a better end."""
    return 1.0 - 0.6 * np.exp(-(((x - 0.35) / 0.08) ** 2)) + 0.8 / (1 + np.exp(-(x - 0.7) / 0.03))


def temperatures(k: Any) -> Any:
    """The temperatures at the sensors, every few steps, for the conductivity on the edges."""

    def step(u, _):
        flux = k * (u[1:] - u[:-1]) / WIDTH
        inner = u[1:-1] + TIME_STEP / WIDTH * (flux[1:] - flux[:-1])
        u = np.concatenate([np.zeros(1), inner, np.zeros(1)])
        return u, u[SENSORS]

    _, found = nbgrad.scan(step, np.sin(np.pi * GRID), length=STEPS)
    return found[STRIDE - 1 :: STRIDE]


def misfit(log_k: Any, measured: Any) -> Any:
    """The mean square error in units of the noise, and the price of a rough conductivity."""
    error = (temperatures(HAT @ np.exp(log_k)) - measured) / NOISE
    return np.mean(error**2) + PRICE * np.sum((log_k[1:] - log_k[:-1]) ** 2)


def run(sheet: Sheet, seed: Seed = 0) -> None:
    """Find what a rod is made of from its temperatures.

    2,400 steps of the heat equation are one compiled loop, and so is their
    gradient by the conductivity; L-BFGS finds it from nine noisy sensors.

    [bold]nbgrad run inverse-heat[/]
    """
    rng = np.random.default_rng(seed)
    clean = temperatures(true_conductivity(EDGES))
    measured = clean + NOISE * rng.normal(size=clean.shape)
    start = np.zeros(KNOTS)
    path = [start]
    found = nbgrad.scipy.minimize(
        misfit, start, args=(measured,), method="L-BFGS-B", compile=True,
        callback=lambda x: path.append(np.copy(x)), options={"maxiter": 300},
    )  # fmt: skip
    f = nbgrad.compile(misfit)
    direction = rng.normal(size=KNOTS)
    slope = float(nbgrad.compile(nbgrad.grad(misfit))(start, measured) @ direction)
    difference = five_point(lambda t: float(f(start + t * direction, measured)), 0.0, 1e-3)
    truth, k = true_conductivity(EDGES), HAT @ np.exp(found.x)
    off = np.sqrt(np.mean((k - truth) ** 2) / np.mean(truth**2))
    sheet.csv("conductivity", ("x", "found", "truth"), np.stack([EDGES, k, truth]).T.tolist())
    sheet.csv(
        "misfit", ("step", "misfit"), [(i, float(f(x, measured))) for i, x in enumerate(path)]
    )
    sheet.figure("error of the conductivity, relative", float(off))
    sheet.figure("error of the first guess, relative", float(np.sqrt(np.mean((1 - truth) ** 2))))
    error = (temperatures(k) - measured) / NOISE
    sheet.figure("mean square residual, in units of the noise", float(np.mean(error**2)))
    sheet.figure("gradient and differences apart, relative", abs(difference / slope - 1))
    sheet.say(f"{found.nit} steps of L-BFGS, {found.nfev} gradients")
    if sheet.plots:
        draw(sheet.out / "conductivity.png", k, path)
        draw_temperatures(sheet.out / "temperatures.png", measured, temperatures(k))


def draw(path: Path, k: np.ndarray, way: list[np.ndarray]) -> None:
    """Draw the conductivity as it is found, and the truth, and write a PNG."""
    from nbgrad.experiments.pictures import finish
    from nbgrad.experiments.style import BLUE, INK, ORANGE, new_figure

    figure = new_figure(7.8, 4.6)
    axes = figure.subplots()
    axes.plot(EDGES, true_conductivity(EDGES), color="#bbbbbb", linewidth=6, label="truth")
    axes.plot(EDGES, np.ones_like(EDGES), ":", color=INK, label="first guess")
    for share, alpha in ((0.1, 0.4), (0.3, 0.7)):
        i = int(share * (len(way) - 1))
        axes.plot(EDGES, HAT @ np.exp(way[i]), color=BLUE, alpha=alpha, label=f"after {i} steps")
    axes.plot(EDGES, k, color=ORANGE, linewidth=2, label=f"after {len(way) - 1} steps")
    axes.plot(GRID[SENSORS], np.zeros(len(SENSORS)), "^", color=INK, markersize=5, label="sensors")
    axes.set_ylim(bottom=0)
    finish(axes, "The conductivity of a rod from its temperatures", "x", "conductivity")
    figure.savefig(path)


def draw_temperatures(path: Path, measured: np.ndarray, fitted: np.ndarray) -> None:
    """Draw what the sensors measured, and the fit, against time, and write a PNG."""
    from matplotlib import colormaps

    from nbgrad.experiments.pictures import finish
    from nbgrad.experiments.style import new_figure

    figure = new_figure(7.8, 4.6)
    axes = figure.subplots()
    times = TIME_STEP * STRIDE * np.arange(1, len(measured) + 1)
    for i, sensor in enumerate(SENSORS):
        color = colormaps["viridis"](i / len(SENSORS))
        axes.plot(times, measured[:, i], ".", color=color, markersize=3)
        axes.plot(times, fitted[:, i], color=color, label=f"x = {GRID[sensor]:.1f}")
    finish(axes, "Measured (dots) and fitted (lines)", "time", "temperature", legend=False)
    figure.legend(loc="outside right upper", frameon=False)
    figure.savefig(path)
