"""A network learns a hilly surface from thirty points, in two ways that must agree.

The surface is f(x, y) = y^2 + sin(x). The points go through a 2-15-15-1 network joined by `hcat`,
one column each, or as one array of columns; the loss is the sum of squared errors.
"""

from pathlib import Path
from typing import Any

import numpy as np

import nbgrad
from nbgrad.experiments.descend import surface
from nbgrad.experiments.descent import descend
from nbgrad.experiments.options import Seed, Steps
from nbgrad.experiments.sheet import Sheet

POINTS, STEPS, EVERY = 30, 20_000, 50
PLAIN = nbgrad.optim.SGD(0.003)
SIZES = ((15, 2), (15, 15), (1, 15))
ACROSS, UP = np.arange(-4, 4.01, 0.1), np.arange(-2, 2.01, 0.1)


def sample(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points of the grid as columns, and the heights there."""
    points = np.stack([rng.choice(ACROSS, POINTS), rng.choice(UP, POINTS)])
    return points, surface(*points)


def first_weights(rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Uniform between -0.5 and 0.5."""
    return [(rng.random(s) - 0.5, rng.random((s[0], 1)) - 0.5) for s in SIZES]


def network(p: Any, x: Any) -> Any:
    """Sigmoid, sigmoid, linear; samples are columns, as `hcat` makes them."""
    (w1, b1), (w2, b2), (w3, b3) = p
    return w3 @ nbgrad.sigmoid(w2 @ nbgrad.sigmoid(w1 @ x + b1) + b2) + b3


def loss_of(p: Any, x: Any, heights: Any) -> Any:
    """The sum of squared errors; a list of points is joined first."""
    batch = nbgrad.hcat(*x) if isinstance(x, list) else x
    return np.sum(nbgrad.abs2(network(p, batch)[0] - heights))


def learn(p: Any, x: Any, heights: np.ndarray, steps: int) -> tuple[list[Any], np.ndarray]:
    """The weights before each `EVERY` steps and at the end, and the loss before every step."""
    kept, history = [p], []
    for _ in range(0, steps, EVERY):
        p, losses = descend(loss_of, kept[-1], (x, heights), PLAIN, steps=EVERY)
        kept.append(p)
        history.append(losses)
    return kept, np.concatenate(history)


def run(sheet: Sheet, seed: Seed = 0, steps: Steps = STEPS) -> None:
    """Watch a network learn a hilly surface from thirty points.

    A 2-15-15-1 network of sigmoids learns y^2 + sin(x), from points joined by
    hcat and from one batch; an animation shows the truth and the network
    beside each other.

    [bold]nbgrad run surface[/]
    [bold]nbgrad run surface --steps 5000[/]
    """
    rng = np.random.default_rng(seed)
    points, heights = sample(rng)
    start = first_weights(rng)
    kept, batch = learn(start, points, heights, steps)
    _, joined = learn(start, list(points.T.copy()), heights, steps)
    sheet.csv(
        "history",
        ("step", "batch", "joined"),
        zip(range(1, len(batch) + 1), batch.tolist(), joined.tolist(), strict=True),
    )
    below = np.flatnonzero(batch < 0.01 * batch[0])
    sheet.figure("loss at the end, of its start", float(batch[-1] / batch[0]))
    sheet.figure("loss at the end, of its start, joined by hcat", float(joined[-1] / joined[0]))
    sheet.figure("first step below 1 %", float(below[0]) if below.size else np.inf)
    apart = np.max(np.abs(joined[:EVERY] / batch[:EVERY] - 1))
    sheet.figure("both ways apart over the first 50 steps", float(apart))
    if sheet.plots:
        from nbgrad.experiments.pictures import losses

        title = "The sum of squared errors over 30 points"
        losses(sheet.out / "history.png", title, {"one batch": batch, "joined by hcat": joined})
        animate(sheet.out, kept, points, batch)


def animate(out: Path, kept: list[Any], points: np.ndarray, history: np.ndarray) -> None:
    """Write ``surface.gif``, truth and network side by side, and ``surface.png``, its end."""
    from nbgrad.experiments.animation import grab, write_gif
    from nbgrad.experiments.style import INK, new_figure, tidy

    plane = np.meshgrid(ACROSS, UP)
    truth = surface(*plane)
    grid = np.stack([plane[0].ravel(), plane[1].ravel()])
    levels = np.linspace(-2, 5.5, 16)
    figure = new_figure(9.2, 3.9, dpi=80)
    panels = figure.subplots(1, 2, sharey=True)
    # Every 50 steps at first; later, when little moves, ever longer strides.
    frames = sorted({*range(0, min(40, len(kept)), 1), *range(40, len(kept), 20), len(kept) - 1})

    def show(frame: int) -> Any:
        height = network(kept[frame], grid)[0].reshape(truth.shape)
        filled = None
        for axes, z, name in zip(panels, (truth, height), ("truth", "network"), strict=True):
            axes.clear()
            filled = axes.contourf(*plane, z, levels, cmap="RdYlBu_r", extend="both")
            axes.plot(*points, ".", color="black", markersize=4)
            axes.set_title(name, color=INK, fontsize=11)
            axes.set_xlabel("x")
            tidy(axes)
        panels[0].set_ylabel("y")
        told = history[min(frame * EVERY, len(history) - 1)]
        figure.suptitle(f"step {frame * EVERY:,}, loss {told:.3g}", color=INK)
        return filled

    figure.colorbar(show(0), ax=panels, label="$y^2 + \\sin x$", pad=0.02)

    def frame(i: int) -> Any:
        show(i)
        figure.canvas.draw()
        return grab(figure)

    write_gif(out / "surface.gif", map(frame, frames), milliseconds=120)
    figure.savefig(out / "surface.png", dpi=150)
