"""Two descents on one hilly surface: neighbours that end in different valleys.

The surface is g(x, y) = y^2 + sin(x). Between the two starts lies a ridge, at x = pi / 2: one
descent finds the minimum at (-pi / 2, 0), the other leaves for the next one.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import nbgrad
from nbgrad.experiments.sheet import Sheet

RATE = 0.2
STARTS = (((1.5, -2.4), 34), ((1.8, -2.4), 16))
"""Where the descents begin, and how many steps each takes."""
MINIMUM = (-np.pi / 2, 0.0)
WINDOW = ((-4.2, 4.8), (-2.6, 2.6))


class Descent(NamedTuple):
    """The points of a descent, its start first, and the height at each."""

    x: np.ndarray
    y: np.ndarray
    height: np.ndarray


def surface(x: Any, y: Any) -> Any:
    """g(x, y) = y^2 + sin(x), for plain and for tracked numbers."""
    return y * y + np.sin(x)


def descents_from(rate: float = RATE) -> list[Descent]:
    """Both descents."""
    descents = []
    for start, niters in STARTS:
        paths = nbgrad.minimize(surface, *start, niters=niters, lr=rate)
        x, y = (np.r_[first, path] for first, path in zip(start, paths, strict=True))
        descents.append(Descent(x, y, surface(x, y)))
    return descents


def run(sheet: Sheet) -> None:
    """Go down a hilly surface from two neighbouring points.

    Shows nbgrad.minimize on y^2 + sin(x): one descent finds the minimum at
    (-pi / 2, 0), the other leaves for the next valley. Draws both as an
    animation, and its last picture.

    [bold]nbgrad run descend[/]
    """
    x, y = nbgrad.descend(surface, RATE, 1.0, 1.0)
    sheet.figure("x after a step from (1, 1)", x)
    sheet.figure("y after a step from (1, 1)", y)
    sheet.figure("height there", surface(x, y))
    descents = descents_from()
    sheet.table(
        "descents",
        f"Descents on y^2 + sin(x), learning rate {RATE:g}",
        {"from x": "g", "from y": "g", "steps": "d", "to x": ".4f", "to y": ".1e", "height": ".4f"},
        [(d.x[0], d.y[0], len(d.x) - 1, d.x[-1], d.y[-1], d.height[-1]) for d in descents],
    )
    sheet.csv(
        "paths",
        ("path", "step", "x", "y", "height"),
        [
            (path, step, *point)
            for path, descent in enumerate(descents)
            for step, point in enumerate(zip(*descent, strict=True))
        ],
    )
    sheet.figure("first path's distance from -pi / 2", abs(descents[0].x[-1] + np.pi / 2))
    sheet.figure("steps of the first path", len(descents[0].x) - 1)
    sheet.figure("steps of the second path", len(descents[1].x) - 1)
    sheet.say("the lab prints y = 0.8: its dictionary keeps one of the two edges of y * y")
    if sheet.plots:
        draw(descents, sheet.out)


def draw(descents: list[Descent], out: Path) -> None:
    """Write ``descend.gif``, step by step, and ``descend.png``, all at once."""
    from nbgrad.experiments.animation import grab, write_gif
    from nbgrad.experiments.style import INK, new_figure, tidy

    figure = new_figure(8, 4.4, dpi=100)
    axes = figure.subplots()
    across, up = np.linspace(*WINDOW[0], 161), np.linspace(*WINDOW[1], 101)
    heights = surface(*np.meshgrid(across, up))
    filled = axes.contourf(across, up, heights, levels=16, cmap="RdYlBu_r")
    axes.contour(across, up, heights, levels=16, colors="white", linewidths=0.4, alpha=0.6)
    ways = [
        axes.plot([], [], "o-", color="black", markersize=4, linewidth=1.4, label=label)[0]
        for label, _ in zip(["descent", None], descents, strict=True)
    ]
    axes.plot(
        [descent.x[0] for descent in descents], [descent.y[0] for descent in descents],
        "*", color="white", markeredgecolor="black", markersize=13, label="start", zorder=4,
    )  # fmt: skip
    axes.plot(
        *[[coordinate] for coordinate in MINIMUM],
        "*", color="red", markeredgecolor="black", markersize=15, label="minimum", zorder=4,
    )  # fmt: skip
    axes.set(xlim=WINDOW[0], ylim=WINDOW[1], xlabel="x", ylabel="y")
    tidy(axes)
    bar = figure.colorbar(filled, ax=axes, label="$y^2 + \\sin x$", pad=0.02)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    figure.legend(loc="outside right upper", frameon=False, labelcolor=INK)
    title = axes.set_title(" ", color=INK, fontsize=13)
    canvas: Any = figure.canvas
    canvas.draw()  # what stands still is drawn once, and copied under each frame
    ground = canvas.copy_from_bbox(figure.bbox)

    def frame(step: int) -> Any:
        canvas.restore_region(ground)
        taken = (f"{min(step, len(d.x) - 1)} of {len(d.x) - 1}" for d in descents)
        title.set_text(f"Gradient descent: {' steps, and '.join(taken)} steps")
        for way, descent in zip(ways, descents, strict=True):
            way.set_data(descent.x[: step + 1], descent.y[: step + 1])
        for artist in (*ways, title):
            axes.draw_artist(artist)
        return grab(figure)

    steps = range(max(len(descent.x) for descent in descents))
    write_gif(out / "descend.gif", map(frame, steps), milliseconds=160)
    figure.savefig(out / "descend.png", dpi=150)
