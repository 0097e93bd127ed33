"""Waves that write: paddles around a round basin, steered so that the water shows two letters.

The height of the water follows the wave equation with a little friction. Its time steps are plain
loops, compiled by `nbgrad.njit`: in every step the paddles push the water at the rim, each cell
accelerates by the differences to its neighbours, and the heights move. L-BFGS finds how 60 paddles
must push over time so that the letters A and D stand on the water after the last step.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np

import nbgrad
from nbgrad.experiments.babysqrt import five_point
from nbgrad.experiments.options import Seed
from nbgrad.experiments.race import raced
from nbgrad.experiments.sheet import Sheet

CELLS, PADDLES, STEPS, HOLD = 91, 60, 150, 6
"""Cells on a side, paddles, steps in time, and steps from one given push to the next."""
SPEED, FRICTION, PRICE = 0.4, 0.005, 0.05
"""The squared speed of waves, in cells a step; friction of a step; the price of pushing hard."""

CENTRE = CELLS // 2
X, Y = np.meshgrid(np.arange(CELLS) - CENTRE, CENTRE - np.arange(CELLS))
WATER = X**2 + Y**2 <= (CENTRE - 1.5) ** 2
HEIGHT, WIDTH, BOLD = 16.0, 11.0, 2.4
"""Half the height of a letter, half its width, and the width of its strokes, in cells."""


@nbgrad.njit
def waves(push, water, rim, steps):
    """The heights after some steps, for pushes by time and paddle."""
    height = np.zeros(water.shape)
    speed = np.zeros(water.shape)
    for t in range(steps):
        k, share = t // HOLD, (t % HOLD) / HOLD
        for r in range(len(rim)):
            i, j, paddle = rim[r, 0], rim[r, 1], rim[r, 2]
            speed[i, j] += (1 - share) * push[k, paddle] + share * push[k + 1, paddle]
        for i in range(1, CELLS - 1):
            for j in range(1, CELLS - 1):
                if water[i, j]:
                    pull = 0.0
                    if water[i - 1, j]:
                        pull += height[i - 1, j] - height[i, j]
                    if water[i + 1, j]:
                        pull += height[i + 1, j] - height[i, j]
                    if water[i, j - 1]:
                        pull += height[i, j - 1] - height[i, j]
                    if water[i, j + 1]:
                        pull += height[i, j + 1] - height[i, j]
                    speed[i, j] = (1 - FRICTION) * speed[i, j] + SPEED * pull
        for i in range(1, CELLS - 1):
            for j in range(1, CELLS - 1):
                height[i, j] += speed[i, j]
    return height


def rim_cells() -> np.ndarray:
    """Row, column and paddle of each cell of water beside the wall."""
    inner = [np.roll(WATER, shift, axis) for shift in (1, -1) for axis in (0, 1)]
    i, j = np.nonzero(WATER & ~np.all(inner, axis=0))
    turns = np.arctan2(Y[i, j], X[i, j]) / (2 * np.pi)
    return np.stack([i, j, (turns * PADDLES).astype(int) % PADDLES], axis=1)


def strokes() -> list[tuple[complex, complex]]:
    """The strokes of both letters, from one point of the plane to another."""
    a = [(-1 - 1j, 1j), (1j, 1 - 1j), (-0.6 - 0.2j, 0.6 - 0.2j)]
    bow = -0.8 + 1.7 * np.cos(turn := np.linspace(-np.pi / 2, np.pi / 2, 25)) + 1j * np.sin(turn)
    d = [(-0.8 - 1j, -0.8 + 1j), *pairwise(bow)]

    def placed(z: complex, x: float) -> complex:
        return complex(x + WIDTH * z.real, HEIGHT * z.imag)

    return [
        (placed(start, x), placed(end, x))
        for letter, x in ((a, -15.0), (d, 15.0))
        for start, end in letter
    ]


def letters() -> np.ndarray:
    """The heights that are wanted: ridges along the strokes, with the mean of still water."""
    points = X + 1j * Y
    distance = np.full(X.shape, np.inf)
    for start, end in strokes():
        along = end - start
        share = np.clip(((points - start) * along.conjugate()).real / abs(along) ** 2, 0, 1)
        distance = np.minimum(distance, abs(points - start - share * along))
    ridges = np.exp(-((distance / BOLD) ** 2))
    return np.where(WATER, ridges - ridges[WATER].mean(), 0.0)


@nbgrad.njit
def misfit(push, wanted, water, rim):
    """Squared distance from the heights that are wanted, and the price of pushing hard."""
    height = waves(push, water, rim, STEPS)
    return np.sum((height - wanted) ** 2) + PRICE * np.sum(push**2)


def run(sheet: Sheet, rounds: int = 200, seed: Seed = 0) -> None:
    """Write letters on water with waves.

    The wave equation in loops of the user's own, compiled by `nbgrad.njit`;
    60 paddles around a basin are steered until the waves show two letters.

    [bold]nbgrad run basin[/]
    """
    rim, wanted = rim_cells(), letters()
    rest = wanted, WATER, rim
    start = np.zeros((STEPS // HOLD + 1, PADDLES))
    path = [start]
    found = nbgrad.scipy.minimize(
        misfit, start, args=rest, method="L-BFGS-B",
        callback=lambda x: path.append(np.copy(x)), options={"maxiter": rounds, "maxcor": 30},
    )  # fmt: skip
    direction = np.random.default_rng(seed).normal(size=start.shape)
    slope = np.sum(nbgrad.grad(misfit)(found.x, *rest) * direction)
    difference = five_point(lambda t: misfit(found.x + t * direction, *rest), 0.0, 1e-3)
    both = nbgrad.value_and_grad(misfit)
    race = raced(lambda: both(found.x, *rest), lambda: misfit(found.x, *rest), rounds=20)
    losses = [misfit(x, *rest) for x in path]
    final = waves(found.x, WATER, rim, STEPS)
    sheet.csv("misfit", ("step", "misfit"), list(enumerate(losses)))
    sheet.csv(
        "pushes", ("time", *(f"paddle {i}" for i in range(PADDLES))),
        [(HOLD * k, *row) for k, row in enumerate(found.x.tolist())],
    )  # fmt: skip
    off = np.linalg.norm(final - wanted) / np.linalg.norm(wanted)
    sheet.figure("distance from the letters", float(off))
    sheet.figure("gradient and differences apart, relative", abs(difference / slope - 1))
    sheet.figure("value and gradient / value, time", race.ratio)
    sheet.say(f"{found.nit} steps of L-BFGS, {found.nfev} gradients")
    sheet.say(misfit.plan)
    if sheet.plots:
        shots = [(t, waves(found.x, WATER, rim, t)) for t in range(0, STEPS + 1, 5)]
        draw(sheet.out / "waves.png", shots, wanted)
        draw_pushes(sheet.out / "paddles.png", found.x)
        draw_losses(sheet.out / "misfit.png", losses)
        animate(sheet.out / "waves.gif", [height for _, height in shots])


def draw(path: Path, shots: list[tuple[int, np.ndarray]], wanted: np.ndarray) -> None:
    """Draw the water at six times, the last beside the target, and write a PNG."""
    from matplotlib.patches import Circle

    from nbgrad.experiments.plots import SIDES
    from nbgrad.experiments.style import INK, new_figure

    figure = new_figure(9.6, 6.4)
    chosen = [shots[round(share * (len(shots) - 1))] for share in (0, 0.3, 0.6, 0.85, 1)]
    pictures = [("still water" if t == 0 else f"after {t} steps", height) for t, height in chosen]
    pictures.append(("the target", wanted))
    panels, image = figure.subplots(2, 3), None
    for axes, (title, height) in zip(panels.flat, pictures, strict=True):
        image = axes.imshow(height, cmap=SIDES, vmin=-1, vmax=1, interpolation="bilinear")
        wall = Circle((CENTRE, CENTRE), CENTRE - 2, fill=False, color=INK, linewidth=1.5)
        image.set_clip_path(axes.add_patch(wall))
        axes.set_title(title, color=INK, fontsize=12)
        axes.axis("off")
    assert image is not None
    bar = figure.colorbar(image, ax=panels, shrink=0.7, label="height of the water")
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    figure.suptitle("Sixty paddles at the rim write two letters on the water", color=INK)
    figure.savefig(path)


def draw_pushes(path: Path, push: np.ndarray) -> None:
    """Draw what each paddle does over time, and write a PNG."""
    from nbgrad.experiments.pictures import finish
    from nbgrad.experiments.plots import SIDES
    from nbgrad.experiments.style import new_figure

    figure = new_figure(7.8, 4.6)
    axes = figure.subplots()
    most = abs(push).max()
    image = axes.imshow(
        push.T, cmap=SIDES, vmin=-most, vmax=most, aspect="auto", origin="lower",
        interpolation="bilinear", extent=(-HOLD / 2, HOLD * (len(push) - 0.5), 0, 360),
    )  # fmt: skip
    finish(axes, "How the paddles push", "step in time", "place on the rim, degrees", legend=False)
    axes.grid(False)
    axes.set(xlim=(0, STEPS), yticks=range(0, 361, 60))
    bar = figure.colorbar(image, ax=axes, label="push")
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    figure.savefig(path)


def draw_losses(path: Path, losses: list[float]) -> None:
    """Draw the misfit of each step of L-BFGS, and write a PNG."""
    from nbgrad.experiments.pictures import curves

    curves(
        path, "The misfit of the water", {"misfit": (np.arange(len(losses)), losses)},
        "step of L-BFGS", "misfit", yscale="log",
    )  # fmt: skip


def animate(path: Path, heights: list[np.ndarray]) -> None:
    """Write the motion of the water as a GIF."""
    from PIL import Image

    from nbgrad.experiments.animation import write_gif
    from nbgrad.experiments.plots import SIDES

    def frame(height: np.ndarray) -> Image.Image:
        colors = SIDES((height + 1) / 2, bytes=True)
        colors[~WATER] = 255
        small = Image.fromarray(np.ascontiguousarray(colors[..., :3]))
        return small.resize((3 * CELLS, 3 * CELLS), Image.Resampling.BILINEAR).quantize(96)

    write_gif(path, map(frame, heights), 110, last=2500)
