"""Where gradients vanish, and what brings them back.

Eight layers of sigmoids with a bias of 40: each multiplies the gradient by the slope of the
sigmoid, which is 4.2e-18 there. That is no zero, but eight of them leave nothing to learn from;
batch norm takes the bias out. Beside it two pictures of what a derivative is for.
"""

from pathlib import Path
from typing import Any

import numpy as np

import nbgrad
from nbgrad.experiments.options import Seed
from nbgrad.experiments.sheet import Sheet

LAYERS, WIDTH, SAMPLES, BIAS = 8, 32, 64, 40.0


def first_layers(rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Standard normal weights, and a bias that drives every sigmoid to its end."""
    return [(rng.normal(size=(WIDTH, WIDTH)), np.full(WIDTH, BIAS)) for _ in range(LAYERS)]


def loss_of(layers: Any, x: Any, y: Any, normalise: bool) -> Any:
    """The squared error of eight layers of sigmoids, with or without batch norm before each."""
    norm = nbgrad.nn.BatchNorm.of(WIDTH)
    for weight, bias in layers:
        z = x @ weight + bias
        x = nbgrad.sigmoid(norm.training(z)[0] if normalise else z)
    return np.sum((x - y) ** 2) / SAMPLES


def norms(layers: Any, x: np.ndarray, y: np.ndarray, normalise: bool) -> list[float]:
    """The norm of the gradient of each layer's weights."""
    slopes = nbgrad.grad(loss_of)(layers, x, y, normalise)
    # hypot of numbers near 1e-160 would lose them: their squares underflow.
    found = []
    for weight, _ in slopes:
        largest = np.abs(weight).max()
        found.append(float(largest * np.linalg.norm(weight / largest)))
    return found


def run(sheet: Sheet, seed: Seed = 0) -> None:
    """Watch gradients vanish in sigmoids, and come back.

    The gradient of each of eight layers of saturated sigmoids, with and
    without batch norm; the tails of sigmoid and tanh, which do not underflow;
    a loss that can be descended beside one that cannot; a secant that becomes
    a tangent.

    [bold]nbgrad run vanishing[/]
    """
    rng = np.random.default_rng(seed)
    layers = first_layers(rng)
    x, y = rng.normal(size=(SAMPLES, WIDTH)), rng.random((SAMPLES, WIDTH))
    plain, normalised = (norms(layers, x, y, normalise) for normalise in (False, True))
    sheet.table(
        "norms",
        "Norm of the gradient of each layer's weights",
        {"layer": "d", "plain": ".1e", "batch norm": ".1e"},
        [(i, *both) for i, both in enumerate(zip(plain, normalised, strict=True), start=1)],
    )
    tail = float(nbgrad.grad(nbgrad.sigmoid)(BIAS))
    exact = float(np.exp(-BIAS) / (1 + np.exp(-BIAS)) ** 2)
    sheet.figure("first layer's gradient, plain", plain[0])
    sheet.figure("first layer's gradient, batch norm", normalised[0])
    sheet.figure("sigmoid' at 40", tail)
    sheet.figure("sigmoid' at 40, relative error", abs(tail / exact - 1))
    tanh_tail, exact = float(nbgrad.grad(np.tanh)(20.0)), float(np.cosh(20.0) ** -2)
    sheet.figure("tanh' at 20, relative error", abs(tanh_tail / exact - 1))
    if sheet.plots:
        draw_norms(sheet.out / "norms.png", plain, normalised)
        draw_tails(sheet.out / "tails.png")
        draw_losses(sheet.out / "losses.png")
        draw_secants(sheet.out / "secants.png")


def draw_norms(path: Path, plain: list[float], normalised: list[float]) -> None:
    from nbgrad.experiments.pictures import curves

    layers = np.arange(1, LAYERS + 1)
    curves(
        path, f"Gradients through {LAYERS} layers of sigmoids with a bias of {BIAS:g}",
        {"plain": (layers, plain), "with batch norm": (layers, normalised)},
        "layer, the first next to the input", "norm of the gradient", yscale="log",
    )  # fmt: skip


def draw_tails(path: Path) -> None:
    from nbgrad.experiments.pictures import curves

    x = np.linspace(-45, 45, 400)
    out = nbgrad.sigmoid(x)
    rounded = np.where(out * (1 - out) > 0, out * (1 - out), np.nan)
    lines = {
        "y (1 - y) as it is rounded: 0 right of 37": (x, rounded),
        "tanh'": (x, nbgrad.elementwise_grad(np.tanh)(x)),
        "sigmoid'": (x, nbgrad.elementwise_grad(nbgrad.sigmoid)(x)),
    }
    curves(path, "The tails of two slopes", lines, "x", "slope", yscale="log")


def draw_losses(path: Path) -> None:
    from nbgrad.experiments.pictures import curves

    margin = np.linspace(-4, 4, 401)
    lines = {
        "0-1 loss: no slope to follow": (margin, (margin < 0).astype(float)),
        "cross entropy": (margin, nbgrad.softplus(-margin)),
        "its derivative": (margin, nbgrad.elementwise_grad(lambda m: nbgrad.softplus(-m))(margin)),
    }
    title = "Two losses of one sample"
    curves(path, title, lines, "logit of the right class minus the other", "loss")


def draw_secants(path: Path) -> None:
    from nbgrad.experiments.pictures import finish
    from nbgrad.experiments.style import BLUE, INK, ORANGE, new_figure

    def f(x: Any) -> Any:
        return x**3 / 3 - x

    at, xs = 0.5, np.linspace(-2.2, 2.6, 200)
    figure = new_figure(7.4, 4.8)
    axes = figure.subplots()
    axes.plot(xs, f(xs), color=INK, linewidth=2, label="$x^3 / 3 - x$")
    for step, alpha in ((1.8, 0.35), (1.0, 0.55), (0.4, 0.8)):
        slope = (f(at + step) - f(at)) / step
        label = f"secant, step {step:g}: slope {slope:.2f}"
        axes.plot(xs, f(at) + slope * (xs - at), color=BLUE, alpha=alpha, label=label)
        axes.plot([at + step], [f(at + step)], "o", color=BLUE, alpha=alpha)
    slope = float(nbgrad.grad(f)(at))
    axes.plot(xs, f(at) + slope * (xs - at), color=ORANGE, lw=2, label=f"tangent: slope {slope:g}")
    axes.plot([at], [f(at)], "o", color=ORANGE)
    axes.set_ylim(-4.2, 4)
    finish(axes, "The secant becomes the tangent", "x", "")
    figure.savefig(path)
