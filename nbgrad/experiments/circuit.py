"""A radio filter from its specification: a ladder of seven coils and capacitors.

Signals up to 1 GHz should pass with less than 0.5 dB of loss, those from 1.6 GHz on be damped by
40 dB. The ladder is a product of complex matrices at each frequency (ABCD parameters), the coils
and capacitors have losses, and L-BFGS shrinks the violations of the specification.
"""

from pathlib import Path
from typing import Any

import numpy as np

import nbgrad
from nbgrad.experiments.babysqrt import five_point
from nbgrad.experiments.options import Seed
from nbgrad.experiments.sheet import Sheet

OHMS, QUALITY = 50.0, 200.0
PASS_END, STOP_START, LOSS, DAMPING = 1.0, 1.6, 0.5, 40.0
PASSED, STOPPED = np.linspace(0.02, PASS_END, 80), np.linspace(STOP_START, 3.0, 60)
MARGIN = 0.05
START = np.log([5.0, 4.0, 5.0, 4.0, 5.0, 4.0, 5.0])


def transmission(log_values: Any, frequencies: Any, quality: float = QUALITY) -> tuple[Any, Any]:
    """The amplitudes that pass and that return, S21 and S11, of the ladder between two resistors.

    The logarithms are those of coils in nH, in series, and capacitors in pF, to the ground, in
    turn; frequencies are in GHz.
    """
    turn = 2.0 * np.pi * frequencies * (1j + 1.0 / quality)
    a, b, c, d = 1.0 + 0.0 * turn, 0.0 * turn, 0.0 * turn, 1.0 + 0.0 * turn
    for i, value in enumerate(np.exp(log_values)):
        if i % 2 == 0:
            ohms = turn * value
            b, d = b + a * ohms, d + c * ohms
        else:
            siemens = turn * (1e-3 * value)
            a, c = a + b * siemens, c + d * siemens
    total = a + b / OHMS + c * OHMS + d
    return 2.0 / total, (a + b / OHMS - c * OHMS - d) / total


def decibels(log_values: Any, frequencies: Any) -> Any:
    """What passes, in dB."""
    return 20.0 * np.log10(np.abs(transmission(log_values, frequencies)[0]))


def violation(log_values: Any) -> Any:
    """The mean squares of the violations in the two bands, in dB."""
    lost = np.maximum(-decibels(log_values, PASSED) - LOSS + MARGIN, 0.0)
    left = np.maximum(decibels(log_values, STOPPED) + DAMPING + MARGIN, 0.0)
    return 10.0 * np.mean(lost**2) + np.mean(left**2)


def run(sheet: Sheet, seed: Seed = 0) -> None:
    """Design a radio filter from its specification.

    A ladder of seven coils and capacitors with losses is a product of complex
    matrices. Its gradient, compiled, leads L-BFGS to values that pass 1 GHz and
    damp 1.6 GHz by 40 dB.

    [bold]nbgrad run circuit[/]
    """
    found = nbgrad.scipy.minimize(
        violation, START, method="L-BFGS-B", compile=True, options={"maxiter": 2000, "ftol": 1e-15}
    )
    direction = np.random.default_rng(seed).normal(size=len(START))
    slope = float(nbgrad.grad(violation)(START) @ direction)
    difference = five_point(lambda t: float(violation(START + t * direction)), 0.0, 1e-3)
    passed, returned = transmission(found.x, PASSED, np.inf)
    balance = np.abs(passed) ** 2 + np.abs(returned) ** 2
    grid = np.linspace(0.02, 3.0, 300)
    rows = np.stack([grid, decibels(START, grid), decibels(found.x, grid)]).T
    sheet.csv("response", ("GHz", "first guess, dB", "found, dB"), rows.tolist())
    kinds = ("coil, nH", "capacitor, pF")
    values = [(kinds[i % 2], float(x)) for i, x in enumerate(np.exp(found.x))]
    sheet.csv("parts", ("part", "value"), values)
    sheet.figure("largest loss up to 1 GHz, dB", float(np.max(-decibels(found.x, PASSED))))
    sheet.figure("least damping from 1.6 GHz, dB", float(np.min(-decibels(found.x, STOPPED))))
    sheet.figure("least damping of the first guess, dB", float(np.min(-decibels(START, STOPPED))))
    sheet.figure("power that is lost without losses", float(np.max(np.abs(balance - 1))))
    sheet.figure("gradient and differences apart, relative", abs(difference / slope - 1))
    sheet.say(f"{found.nit} steps of L-BFGS, {found.nfev} gradients")
    if sheet.plots:
        draw(sheet.out / "response.png", found.x)


def draw(path: Path, log_values: np.ndarray) -> None:
    """Draw what passes against frequency, before and after, beside the specification, as a PNG."""
    from nbgrad.experiments.pictures import finish
    from nbgrad.experiments.style import BLUE, INK, ORANGE, new_figure

    grid = np.linspace(0.02, 3.0, 600)
    figure = new_figure(7.8, 4.6)
    axes = figure.subplots()
    axes.fill_between([0, PASS_END], -80, -LOSS, color="#dddddd", label="not allowed")
    axes.fill_between([STOP_START, 3], -DAMPING, 5, color="#dddddd")
    axes.plot(grid, decibels(START, grid), ":", color=INK, label="first guess")
    axes.plot(grid, decibels(log_values, grid), color=ORANGE, linewidth=2, label="found")
    values = np.exp(log_values)
    for i, value in enumerate(values):
        text = f"{value:.1f} {'nH' if i % 2 == 0 else 'pF'}"
        axes.text(0.06, -30 - 5.5 * i, text, color=BLUE, fontsize=9)
    axes.set_xlim(0, 3)
    axes.set_ylim(-80, 5)
    finish(axes, "A filter from its specification", "frequency, GHz", "passes, dB", legend=False)
    axes.legend(loc=(0.36, 0.04), frameon=False)
    figure.savefig(path)
