"""Fit the parameters of a pendulum to noisy measurements of its angle, through the ODE's solver.

The equation is q'' = -(g / L) sin(q) - damping q'. A Runge-Kutta step is repeated by `scan`, which
compiles to one loop, forward and backward; SciPy's least squares and BFGS get exact derivatives of
the whole trajectory. What is found is compared with the truth, with its standard error.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import nbgrad
from nbgrad.experiments.options import Seed
from nbgrad.experiments.race import raced
from nbgrad.experiments.sheet import Sheet

TIMES, STRIDE, SECONDS, NOISE = 80, 10, 8.0, 0.03
STEP = SECONDS / (TIMES * STRIDE)
TRUTH = {"angle": 1.2, "damping": 0.25, "frequency": 7.3, "speed": -0.4}
"""Where it starts, the damping, and g / L."""
START = {"angle": 1.0, "damping": 0.1, "frequency": 6.5, "speed": 0.0}


def slope(state: Any, p: Any) -> Any:
    """The derivatives of angle and speed."""
    angle, speed = state
    return speed, -p["frequency"] * np.sin(angle) - p["damping"] * speed


def runge_kutta(state: Any, p: Any) -> Any:
    """One step of the classical method of order four."""

    def along(slopes, t):
        return tuple(x + t * s for x, s in zip(state, slopes, strict=True))

    k1 = slope(state, p)
    k2 = slope(along(k1, STEP / 2), p)
    k3 = slope(along(k2, STEP / 2), p)
    k4 = slope(along(k3, STEP), p)
    return tuple(
        x + STEP / 6 * (a + 2 * b + 2 * c + d)
        for x, a, b, c, d in zip(state, k1, k2, k3, k4, strict=True)
    )


def angles(p: Any) -> Any:
    """The angle at each time of measurement."""

    def step(state, _):
        state = runge_kutta(state, p)
        return state, state[0]

    _, found = nbgrad.scan(step, (p["angle"], p["speed"]), length=TIMES * STRIDE)
    return found[STRIDE - 1 :: STRIDE]


def misfit(p: Any, measured: Any) -> Any:
    """Half the sum of squares, in units of the noise."""
    return np.sum(((angles(p) - measured) / NOISE) ** 2) / 2


def residuals(p: Any, measured: Any) -> Any:
    return (angles(p) - measured) / NOISE


def run(sheet: Sheet, seed: Seed = 0) -> None:
    """Fit a pendulum's parameters through its equation.

    800 steps of Runge-Kutta are one compiled loop, and so is their gradient;
    least squares and BFGS find frequency, damping and the start from 80 noisy
    angles.

    [bold]nbgrad run pendulum[/]
    """
    rng = np.random.default_rng(seed)
    measured = angles(TRUTH) + NOISE * rng.normal(size=TIMES)
    fit = nbgrad.scipy.least_squares(residuals, START, args=(measured,), compile=True)
    bfgs = nbgrad.scipy.minimize(misfit, START, args=(measured,), method="BFGS", compile=True)
    errors = np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac)))
    rows = [
        (name, START[name], float(fit.x[name]), error, TRUTH[name])
        for name, error in zip(TRUTH, errors.tolist(), strict=True)
    ]
    sheet.table(
        "parameters",
        "Parameters of the pendulum",
        {"": "", "start": "g", "found": ".4f", "standard error": ".4f", "truth": "g"},
        rows,
    )
    off = max(abs(found - truth) / error for _, _, found, error, truth in rows)
    sheet.figure("farthest from the truth, in standard errors", off)
    apart = max(abs(float(fit.x[name] / bfgs.x[name] - 1)) for name in TRUTH)
    sheet.figure("least squares and BFGS apart, relative", apart)
    sheet.figure("mean square residual, in units of the noise", 2 * float(fit.cost) / TIMES)
    eager = nbgrad.value_and_grad(misfit)
    both = (eager, nbgrad.compile(eager))
    race = raced(*(partial(f, START, measured) for f in both), rounds=2, repeat=1)
    sheet.figure("eager gradient / compiled gradient, time", race.ratio)
    if sheet.plots:
        draw(sheet.out / "pendulum.png", measured, fit.x)


def draw(path: Path, measured: np.ndarray, found: Any) -> None:
    """Draw the angles: measured, true, at the start of the fit and at its end; write a PNG."""
    from nbgrad.experiments.pictures import finish
    from nbgrad.experiments.style import BLUE, ORANGE, new_figure

    times = np.linspace(0, SECONDS, TIMES + 1)[1:]
    figure = new_figure(8, 4.6)
    axes = figure.subplots()
    axes.plot(times, measured, "o", color="#999999", markersize=4, label="measured")
    axes.plot(times, angles(START), ":", color=BLUE, label="first guess")
    axes.plot(times, angles(TRUTH), color="#bbbbbb", linewidth=5, label="truth")
    axes.plot(times, angles(found), color=ORANGE, linewidth=1.5, label="fit")
    finish(axes, "A pendulum from 80 noisy angles", "seconds", "angle")
    figure.savefig(path)
