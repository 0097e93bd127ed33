"""How will an epidemic go on? Its rates from the cases of its first weeks, with their uncertainty.

In the SIR model the susceptible are infected at a rate in proportion to the infectious, who recover
at another rate. The equations are a loop of Runge-Kutta steps for `njit`; the counts of cases are
negative binomial. `nbgrad.laplace` gives errors at the best point, and the no-U-turn sampler draws
from the whole posterior, from which the bands of the forecast are made.
"""

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import nbgrad
from nbgrad import njit
from nbgrad.experiments.options import Seed
from nbgrad.experiments.sheet import Sheet

PEOPLE, DAYS, KNOWN, PARTS = 20_000.0, 90, 35, 4
"""Days that are simulated, days whose cases are known, and steps of a day."""
TRUTH = {
    "log_infection": np.log(0.42), "log_recovery": np.log(0.2), "log_first": np.log(8.0),
    "log_scatter": np.log(12.0),
}  # fmt: skip
START = {
    "log_infection": np.log(0.5), "log_recovery": np.log(0.25), "log_first": np.log(10.0),
    "log_scatter": np.log(10.0),
}  # fmt: skip
PRIOR_WIDTH = {"log_infection": 0.5, "log_recovery": 0.3, "log_first": 1.0, "log_scatter": 1.0}
BAND = (0.05, 0.95)


@njit
def new_cases(infection, recovery, first, days):
    """The expected new cases of each day, by four Runge-Kutta steps a day."""
    cases, h = np.empty(days), 1.0 / PARTS
    susceptible, infectious = 1.0 - first / PEOPLE, first / PEOPLE
    for day in range(days):
        before = susceptible
        for _ in range(PARTS):
            s, i = susceptible, infectious
            a = infection * s * i
            k1, l1 = -a, a - recovery * i
            s, i = susceptible + 0.5 * h * k1, infectious + 0.5 * h * l1
            a = infection * s * i
            k2, l2 = -a, a - recovery * i
            s, i = susceptible + 0.5 * h * k2, infectious + 0.5 * h * l2
            a = infection * s * i
            k3, l3 = -a, a - recovery * i
            s, i = susceptible + h * k3, infectious + h * l3
            a = infection * s * i
            k4, l4 = -a, a - recovery * i
            susceptible = susceptible + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            infectious = infectious + h / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4)
        cases[day] = PEOPLE * (before - susceptible)
    return cases


def expected(p: Any, days: int) -> Any:
    """The expected new cases for parameters on the logarithmic scale."""
    infection, recovery = np.exp(p["log_infection"]), np.exp(p["log_recovery"])
    return new_cases(infection, recovery, np.exp(p["log_first"]), days)


def reproduction(p: Any) -> Any:
    """How many others an infectious person infects at the beginning."""
    return np.exp(p["log_infection"] - p["log_recovery"])


def log_density(p: Any, counts: Any) -> Any:
    """Normal priors of the logarithms, and negative binomial counts: their variance is
    mean + mean^2 / scatter."""
    gammaln = nbgrad.special.gammaln
    total = 0.0
    for name, width in PRIOR_WIDTH.items():
        total += nbgrad.stats.norm.logpdf(p[name], START[name], width)
    mean, scatter = expected(p, KNOWN), np.exp(p["log_scatter"])
    likelihood = gammaln(counts + scatter) - gammaln(scatter)
    likelihood += scatter * np.log(scatter / (scatter + mean))
    likelihood += counts * np.log(mean / (scatter + mean))
    return total + np.sum(likelihood)


def counted(p: Any, mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Counts around expected cases."""
    scatter = np.exp(p["log_scatter"])
    return rng.negative_binomial(scatter, scatter / (scatter + mean)).astype(float)


def forecast(found: nbgrad.sample.Samples, rng: np.random.Generator) -> np.ndarray:
    """Counts of all days for each draw, of shape (draws, days)."""
    return found.map(lambda p: counted(p, expected(p, DAYS), rng)).reshape(-1, DAYS)


def run(
    sheet: Sheet,
    seed: Seed = 0,
    draws: Annotated[int, typer.Option(min=50, help="Draws of each chain.")] = 1000,
) -> None:
    """Forecast an epidemic, with bands, from its first weeks.

    The rates of an SIR model are fitted through its equations, a loop for
    njit, to daily counts; the no-U-turn sampler gives the bands.

    [bold]nbgrad run epidemic[/]
    """
    rng = np.random.default_rng([seed, 5])
    clean = expected(TRUTH, DAYS)
    counts = counted(TRUTH, clean, rng)
    known = counts[:KNOWN]
    best = nbgrad.scipy.minimize(lambda p: -log_density(p, known), START, tol=1e-6)
    near = nbgrad.laplace(best)
    value, error = near.band(reproduction)
    start = perf_counter()
    found = nbgrad.sample.nuts(
        log_density, best.x, args=(known,), draws=draws, mass="dense", target=0.9, seed=seed,
        progress=False,
    )  # fmt: skip
    seconds = perf_counter() - start
    number = found.map(reproduction)
    ahead = forecast(found, rng)
    low, high = np.quantile(ahead, BAND, axis=0)
    inside = (low <= counts) & (counts <= high)
    summary = found.summary(BAND)
    forms = {"mean": ".3f", "sd": ".3f", "5%": ".3f", "95%": ".3f", "ess_bulk": ",.0f"}
    rows = [
        (name, TRUTH[name], *(float(summary[column][i]) for column in forms))
        for i, name in enumerate(summary.names)
    ]
    sheet.table("posterior", "Posterior", {"": "", "truth": ".3f", **forms}, rows)
    bands = np.stack([np.arange(DAYS), counts, clean, low, np.median(ahead, axis=0), high])
    sheet.csv("forecast", ("day", "cases", "truth", "5%", "50%", "95%"), bands.T.tolist())
    truth = float(reproduction(TRUTH))
    sheet.figure(
        "reproduction number, from the truth, in errors",
        abs(float(number.mean()) - truth) / float(number.std()),
    )
    sheet.figure("error by Laplace / by draws", float(error) / float(number.std()))
    sheet.figure("days ahead inside of the 90 % band", float(inside[KNOWN:].mean()))
    sheet.figure("largest R-hat", float(summary["rhat"].max()))
    sheet.figure("divergent", found.divergences)
    sheet.figure("effective draws a second", float(summary["ess_bulk"].min()) / found.seconds)
    sheet.say(f"reproduction number {number.mean():.2f} +- {number.std():.2f}, truth {truth:.2f}")
    sheet.say(f"by Laplace {float(value):.2f} +- {float(error):.2f}")
    steps = found.stats.steps.sum()
    sheet.say(f"{seconds:.1f} s with compilation, {steps:,} gradients after the warm-up")
    if sheet.plots:
        draw(sheet.out / "epidemic.png", counts, clean, ahead)
        draw_number(sheet.out / "reproduction.png", number, float(value), float(error))


def draw(path: Path, counts: np.ndarray, clean: np.ndarray, ahead: np.ndarray) -> None:
    """Draw the cases and the bands of the forecast, and write a PNG."""
    from nbgrad.experiments.pictures import finish
    from nbgrad.experiments.style import BLUE, INK, ORANGE, new_figure

    figure, days = new_figure(8.4, 4.8), np.arange(DAYS)
    axes = figure.subplots()
    for share, alpha in ((0.9, 0.18), (0.5, 0.32)):
        band = np.quantile(ahead, (0.5 - share / 2, 0.5 + share / 2), axis=0)
        label = f"{share:.0%} of the forecast".replace("%", " %")
        axes.fill_between(days, *band, color=BLUE, alpha=alpha, linewidth=0, label=label)
    axes.plot(days, np.median(ahead, axis=0), color=BLUE, label="its median")
    axes.plot(days, clean, "--", color=INK, linewidth=1, label="expected, the truth")
    axes.plot(days[:KNOWN], counts[:KNOWN], "o", color=ORANGE, markersize=4, label="cases known")
    axes.plot(
        days[KNOWN:], counts[KNOWN:], "o", color=ORANGE, markersize=4, fillstyle="none",
        label="cases to come",
    )  # fmt: skip
    axes.axvline(KNOWN - 0.5, color=INK, linewidth=0.8, linestyle=":")
    axes.set(xlim=(0, DAYS - 1), ylim=(0, 1.25 * np.quantile(ahead, 0.95, axis=0).max()))
    finish(axes, f"An epidemic, from its first {KNOWN} days", "day", "new cases a day")
    figure.savefig(path)


def draw_number(path: Path, number: np.ndarray, value: float, error: float) -> None:
    """Draw the posterior of the reproduction number, and write a PNG."""
    from nbgrad.experiments.pictures import finish
    from nbgrad.experiments.style import BLUE, INK, ORANGE, new_figure

    figure = new_figure(6.6, 4.2)
    axes = figure.subplots()
    axes.hist(number.ravel(), 50, density=True, color=BLUE, alpha=0.5, label="draws")
    x = np.linspace(number.min(), number.max(), 300)
    axes.plot(x, nbgrad.stats.norm.pdf(x, value, error), color=INK, label="Laplace")
    axes.axvline(float(reproduction(TRUTH)), color=ORANGE, label="truth")
    finish(axes, "The reproduction number", "infected by one person", "density")
    figure.savefig(path)
