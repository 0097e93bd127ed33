"""Fit a polynomial to noisy points by gradient descent, with the chain rule written out.

The loss is the mean square error of the fit, a function of four coefficients. Its gradient comes
in four ways that must agree: rules applied by hand to the whole array, rules applied by hand sample
by sample, the pullback of a `map` over the samples, and the pullback of a model. Beside the descent
stand what linear algebra finds, a better optimiser, and a network that knows no powers of x.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import nbgrad
from nbgrad.experiments.descent import descend
from nbgrad.experiments.options import Seed, Steps
from nbgrad.experiments.sheet import Sheet

TARGET = np.array([15.0, -2.1, 13.9, 1.5])
RATE, STEPS = 1e-5, 10_000


def by_arrays(w: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Loss and gradient: rules for the whole array, the last one first."""
    fit, evalpoly_back = nbgrad.rrule(nbgrad.evalpoly, x, w)
    loss, mse_back = nbgrad.rrule(nbgrad.mse, fit, y)
    _, fit_bar, _ = mse_back(1.0)
    _, _, w_bar = evalpoly_back(fit_bar)
    return loss, w_bar


def by_samples(w: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The same rules on one sample after another; losses and gradients add up."""

    def add(total, one):
        loss, w_bar = by_arrays(w, *one)
        return (total[0] + loss / len(x), total[1] + w_bar / len(x)), None

    return nbgrad.scan(add, (0.0, np.zeros(len(TARGET))), (x, y))[0]


def by_map(w: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """No rule named: the pullback of a map over the samples."""

    def loss_of(w):
        fit = nbgrad.map(lambda one: nbgrad.evalpoly(one, w), list(x))
        return nbgrad.mse(np.stack(fit), y)

    loss, back = nbgrad.pullback(loss_of, w)
    return loss, back(1.0)[1]


@dataclass
class Polynomial:
    """A model that holds its weights."""

    weights: Any

    def __call__(self, x: Any) -> Any:
        return nbgrad.evalpoly(x, self.weights)


def by_model(w: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The pullback of a model has its gradient in the model's own structure."""
    loss, back = nbgrad.pullback(lambda model: nbgrad.mse(model(x), y), Polynomial(w))
    return loss, back(1.0)[1].weights


WAYS: dict[str, Callable] = {
    "arrays": by_arrays, "samples": by_samples, "map": by_map, "model": by_model,
}  # fmt: skip


@nbgrad.compile(static_argnames=("way", "steps"))
def fit(w: Any, x: Any, y: Any, rate: float, way: str, steps: int) -> tuple[Any, Any]:
    """Plain gradient descent: the last coefficients, and the loss before each step."""

    def step(w, _):
        loss, w_bar = WAYS[way](w, x, y)
        return w - rate * w_bar, loss

    return nbgrad.scan(step, w, length=steps)


def first_network(rng: np.random.Generator) -> nbgrad.nn.Chain:
    """1-16-16-1 with tanh, tanh and sigmoid, for the values scaled to between 0 and 1."""
    first, second, third = (nbgrad.nn.Dense.random(rng, *s) for s in ((1, 16), (16, 16), (16, 1)))
    return nbgrad.nn.Chain(first, np.tanh, second, np.tanh, third, nbgrad.sigmoid)


def network_loss(network: Any, x: Any, y: Any) -> Any:
    return nbgrad.mse(network(x[:, None])[:, 0], y)


def run(sheet: Sheet, seed: Seed = 0, steps: Steps = STEPS) -> None:
    """Fit a polynomial: the chain rule by hand and by pullback.

    The gradient is computed by explicit rules on the whole array and sample
    by sample, by the pullback of a map and of a model: four descents that
    end alike. Beside them the analytic fit, L-BFGS, and a 1-16-16-1 network.

    [bold]nbgrad run polynomial[/]
    """
    x, y = nbgrad.data.polynomial(seed)
    start = np.zeros(len(TARGET))
    fits = {way: fit(start, x, y, RATE, way=way, steps=steps) for way in WAYS}
    (found, history), others = fits["arrays"], list(fits.values())[1:]
    apart = max(float(np.max(np.abs(w / found - 1))) for w, _ in others)

    def loss(w: Any) -> Any:
        return nbgrad.mse(nbgrad.evalpoly(x, w), y)

    quasi_newton = nbgrad.scipy.minimize(loss, start, method="L-BFGS-B", tol=1e-15).x
    analytic = np.linalg.pinv(np.vander(x, len(TARGET), increasing=True)) @ y
    rows = {"target": TARGET, "analytic": analytic, "gradient descent": found}
    rows |= {"L-BFGS": quasi_newton}
    sheet.table(
        "losses",
        "Mean square error on the samples, and the coefficients",
        {"": "", "loss": ".2f", **{f"x^{i}": ".2f" for i in range(len(TARGET))}},
        [(name, float(loss(w)), *w.tolist()) for name, w in rows.items()],
    )
    rng = np.random.default_rng(seed)
    low, size = y.min(), np.ptp(y)
    scaled = (y - low) / size
    network, scaled_losses = descend(
        network_loss, first_network(rng), (x / 5, scaled), nbgrad.optim.SGD(0.1),
        steps=min(steps, 1000),
    )  # fmt: skip
    proportional = nbgrad.data.polynomial(seed, relative=True)
    _, short = fit(start, *proportional, 1e-4, way="model", steps=200)

    sheet.csv("history", ("step", "loss"), enumerate(history.tolist(), start=1))
    sheet.figure("the four ways apart, relative", apart)
    sheet.figure("loss of the target", float(loss(TARGET)))
    sheet.figure("loss of the analytic fit", float(loss(analytic)))
    sheet.figure("descent / analytic fit", float(loss(found) / loss(analytic)))
    sheet.figure("L-BFGS - analytic fit", abs(float(loss(quasi_newton) - loss(analytic))))
    sheet.figure("200 steps of 1e-4 bring the loss down to", float(short[-1] / short[0]))
    sheet.figure("loss of the network, of its start", float(scaled_losses[-1] / scaled_losses[0]))
    if sheet.plots:
        from nbgrad.experiments.pictures import losses

        title = f"Descent on {label(TARGET)} with noise"
        losses(sheet.out / "history.png", title, {"gradient descent": history})
        draw_fits(sheet.out / "curves.png", x, y, rows)
        grid = np.linspace(-5, 5, 200)
        losses(sheet.out / "network-history.png", "A 1-16-16-1 network", {"loss": scaled_losses})
        curve = {"network 1-16-16-1": low + size * network(grid[:, None] / 5)[:, 0]}
        draw_curves(sheet.out / "network.png", x, y, curve)


def label(coefficients: np.ndarray) -> str:
    """A polynomial as text, as in ``1 - 2 x + 3 x^2``."""
    powers = ["", " x", *(f" x^{i}" for i in range(2, len(coefficients)))]
    terms = (f"{c:+g}{power}" for c, power in zip(coefficients, powers, strict=True) if c)
    return " ".join(f"{term[0]} {term[1:]}" for term in terms).removeprefix("+ ") or "0"


def draw_fits(path: Path, x: np.ndarray, y: np.ndarray, rows: dict[str, np.ndarray]) -> None:
    """Draw the samples, and the curve of each row of coefficients, and write a PNG."""
    grid = np.linspace(-5, 5, 200)
    draw_curves(path, x, y, {name: nbgrad.evalpoly(grid, w) for name, w in rows.items()})


def draw_curves(path: Path, x: np.ndarray, y: np.ndarray, fits: dict[str, np.ndarray]) -> None:
    """Draw the samples, and curves over -5 to 5, and write a PNG."""
    from nbgrad.experiments.pictures import finish
    from nbgrad.experiments.style import PALETTE, new_figure

    figure = new_figure(7.4, 4.8)
    axes = figure.subplots()
    axes.plot(x, y, "o", color="#999999", markersize=4, label="samples")
    looks = zip(fits.items(), PALETTE, (5, 3, 1.5, 1.5), ("-", "-", "-", "--"), strict=False)
    for (name, curve), color, width, dash in looks:
        axes.plot(np.linspace(-5, 5, 200), curve, dash, color=color, linewidth=width, label=name)
    finish(axes, f"Fits to {label(TARGET)} with noise", "x", "y")
    figure.savefig(path)
