"""A sampler in plain Numba that follows compiled gradients: Hamiltonian Monte Carlo.

The density is a banana: x is standard normal, and y lies around x squared. Its moments are known.
The sampler is a user's own `@njit` function; it calls the density's value and gradient, compiled by
nbgrad, as it calls any other compiled function.
"""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from numba import njit

import nbgrad
from nbgrad.experiments.options import Seed
from nbgrad.experiments.sheet import Sheet

WIDTH, CHAINS, LEAPS, STEP, SAMPLES = 0.5, 4, 25, 0.11, 20_000
MOMENTS: dict[str, tuple[Callable, float]] = {
    "mean of x": (lambda x, y: x, 0.0),
    "variance of x": (lambda x, y: x**2, 1.0),
    "mean of y": (lambda x, y: y, 1.0),
    "variance of y": (lambda x, y: (y - 1) ** 2, 2.25),
}
"""y = x^2 + 0.5 z has the mean 1 and the variance 2 + 0.25."""


def log_density(q: Any) -> Any:
    """The logarithm of the banana's density, up to a constant."""
    return -0.5 * q[0] ** 2 - 0.5 * ((q[1] - q[0] ** 2) / WIDTH) ** 2


def sampler(value_and_slope: Callable) -> Callable:
    """The sampler for a compiled ``q -> (log density, gradient)``: an ordinary `njit` function."""

    @njit
    def sample(seed, samples, leaps, step):
        np.random.seed(seed)  # noqa: NPY002 (the state of Numba's own generator)
        kept, accepted = np.empty((samples, 2)), 0
        q = np.random.standard_normal(2)  # noqa: NPY002
        value, slope = value_and_slope(q)
        for i in range(samples):
            p = np.random.standard_normal(2)  # noqa: NPY002
            energy = 0.5 * (p @ p) - value
            # A random length keeps the paths from closing on themselves.
            stride = step * np.random.uniform(0.7, 1.3)  # noqa: NPY002
            new_q, new_value, new_slope = q.copy(), value, slope
            for _ in range(leaps):
                p += 0.5 * stride * new_slope
                new_q += stride * p
                new_value, new_slope = value_and_slope(new_q)
                p += 0.5 * stride * new_slope
            if np.log(np.random.random()) < energy - (0.5 * (p @ p) - new_value):  # noqa: NPY002
                q, value, slope, accepted = new_q, new_value, new_slope, accepted + 1
            kept[i] = q
        return kept, accepted / samples

    return sample


def effective(chain: np.ndarray) -> float:
    """How many independent samples a chain is worth: its length over its autocorrelation time,
    summed until it first falls below 0.05."""
    centred = chain - chain.mean()
    spectrum = np.abs(np.fft.rfft(centred, 2 * len(chain))) ** 2
    correlation = np.fft.irfft(spectrum)[: len(chain)]
    correlation /= correlation[0]
    end = int(np.argmax(correlation < 0.05))
    return len(chain) / (1 + 2 * float(np.sum(correlation[1:end])))


def shrink(chains: np.ndarray) -> float:
    """Gelman and Rubin's factor: near 1 where the chains agree."""
    within = np.mean(np.var(chains, axis=1, ddof=1))
    between = np.var(np.mean(chains, axis=1), ddof=1)
    return float(np.sqrt(1 + between / within))


def run(
    sheet: Sheet,
    seed: Seed = 0,
    samples: Annotated[int, typer.Option(min=100, help="Samples of each chain.")] = SAMPLES,
) -> None:
    """Sample a banana by Hamiltonian Monte Carlo in Numba.

    The sampler is a user's own njit function that calls a compiled gradient;
    four chains are compared with the known moments, and their effective
    samples a second counted.

    [bold]nbgrad run hmc[/]
    """
    compiled = nbgrad.compile(nbgrad.value_and_grad(log_density))
    sample = sampler(compiled.variant(np.zeros(2)).njit)
    sample(seed, 1, 1, STEP)  # and compile
    start = perf_counter()
    runs = [sample(seed + i, samples, LEAPS, STEP) for i in range(CHAINS)]
    seconds = perf_counter() - start
    chains = np.stack([chain for chain, _ in runs])
    rows, worth = [], []
    for name, (moment, exact) in MOMENTS.items():
        series = moment(chains[..., 0], chains[..., 1])
        worth.append(sum(map(effective, series)))
        rows.append((name, series.mean(), exact, series.std() / np.sqrt(worth[-1])))
    columns = {"": "", "sampled": ".4f", "exact": "g", "standard error": ".4f"}
    sheet.table("moments", "Moments of the banana", columns, rows)
    off = max(abs(value - exact) / error for _, value, exact, error in rows)
    sheet.figure("largest distance from a moment, in errors", off)
    sheet.figure("accepted", float(np.mean([accepted for _, accepted in runs])))
    sheet.figure("shrink factor of four chains", max(shrink(chains[..., k]) for k in range(2)))
    sheet.figure("effective samples a second", min(worth) / seconds)
    gradients = CHAINS * samples * LEAPS / seconds
    sheet.say(f"{gradients:,.0f} gradients a second, with all that the sampler does")
    if sheet.plots:
        draw(sheet.out / "banana.png", chains)


def draw(path: Path, chains: np.ndarray) -> None:
    """Draw the density, some samples, and the beginning of a chain, and write a PNG."""
    from nbgrad.experiments.pictures import finish
    from nbgrad.experiments.style import BLUE, ORANGE, new_figure

    across, up = np.meshgrid(np.linspace(-4, 4, 200), np.linspace(-2.5, 14, 200))
    figure = new_figure(7.4, 5.2)
    axes = figure.subplots()
    axes.contourf(across, up, np.exp(log_density(np.stack([across, up]))), 12, cmap="Greys")
    some = chains[:, :: max(1, chains.shape[1] // 500)].reshape(-1, 2)
    axes.plot(*some.T, ".", color=BLUE, markersize=2, label=f"{len(some):,} samples")
    axes.plot(*chains[0, :15].T, "o-", color=ORANGE, markersize=4, lw=1, label="the first 15")
    finish(axes, "A banana, sampled along compiled gradients", "x", "y")
    figure.savefig(path)
