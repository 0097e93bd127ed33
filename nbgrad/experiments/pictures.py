"""Pictures that several experiments draw: curves, losses, points by class, decision regions."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from nbgrad.experiments.plots import smooth
from nbgrad.experiments.style import GRID, INK, PALETTE, new_figure, tidy

Points = Sequence[float] | np.ndarray


def finish(axes: Axes, title: str, xlabel: str, ylabel: str, legend: bool = True) -> None:
    """Title, labels, grid and a legend."""
    axes.set_title(title, color=INK, fontsize=12)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.grid(color=GRID, linewidth=0.8)
    tidy(axes)
    if legend:
        axes.legend(frameon=False, labelcolor=INK)


def curves(
    path: Path,
    title: str,
    lines: Mapping[str, tuple[Points, Points]],
    xlabel: str,
    ylabel: str,
    **scales: Any,
) -> None:
    """Draw lines with a legend, and write them as a PNG; ``scales`` are settings of the axes."""
    figure = new_figure(7.4, 4.6)
    axes = figure.subplots()
    for i, ((label, (x, y)), color) in enumerate(zip(lines.items(), PALETTE * 3, strict=False)):
        axes.plot(x, y, color=color, linewidth=_width(i, len(lines)), label=label)
    axes.set(**scales)
    finish(axes, title, xlabel, ylabel, legend=len(lines) > 1)
    figure.savefig(path)


def _width(i: int, count: int) -> float:
    """Of lines that may coincide the first are wider, and show under the later ones."""
    return 1.8 + 1.2 * (count - 1 - i)


def losses(
    path: Path,
    title: str,
    histories: Mapping[str, Points],
    seen: Mapping[str, tuple[Points, Points]] | None = None,
    ylabel: str = "loss",
    yscale: str = "log",
) -> None:
    """Draw losses of every step, each raw and, where it is noisy, smoothed, and what was ``seen``
    at some steps, and write a PNG."""
    figure = new_figure(7.4, 4.6)
    axes = figure.subplots()
    colors = iter(PALETTE * 3)
    for i, (label, history) in enumerate(histories.items()):
        color, values = next(colors), np.asarray(history, dtype=float)
        steps = np.arange(1, len(values) + 1)
        line = _width(i, len(histories))
        width = max(1, len(values) // 50) if len(values) >= 300 else 1
        noisy = width > 1 and bool(np.any(np.diff(values) > 0))
        raw = f"{label}, each step" if noisy else label
        thin: dict[str, Any] = {"alpha": 0.3, "linewidth": 0.7} if noisy else {"linewidth": line}
        axes.plot(steps, values, color=color, label=raw, **thin)
        if noisy:
            mean = f"{label}, mean of {width} steps"
            axes.plot(steps, smooth(values, width), color=color, linewidth=line, label=mean)
    for label, points in (seen or {}).items():
        axes.plot(*points, color=next(colors), linewidth=1.8, label=label)
    axes.set_yscale(yscale)
    finish(axes, title, "step", ylabel)
    figure.savefig(path)


def classes(path: Path, title: str, x: np.ndarray, labels: np.ndarray, found: np.ndarray) -> None:
    """Draw points with a marker for each class, ringed where ``found`` is another, as a PNG."""
    figure = new_figure(6.6, 6.4)
    axes = figure.subplots()
    draw_points(axes, x, labels)
    wrong = labels != found
    axes.plot(
        *x[wrong].T, "o", markersize=12, fillstyle="none", color="#b2182b",
        label=f"taken for another: {wrong.sum()} of {len(x)}",
    )  # fmt: skip
    axes.set_aspect("equal")
    finish(axes, title, "$x_1$", "$x_2$", legend=False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, labelcolor=INK)
    figure.savefig(path)


def draw_points(axes: Axes, x: np.ndarray, labels: np.ndarray, size: float = 5) -> None:
    """Points of a plane, a colour and a marker for each class."""
    for label in np.unique(labels):
        axes.plot(
            *x[labels == label].T, "osD^vP*X"[label % 8], color=PALETTE[label % len(PALETTE)],
            markersize=size, markeredgecolor="white", markeredgewidth=0.5, label=f"class {label}",
        )  # fmt: skip


def regions(
    path: Path,
    title: str,
    classify: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Draw what ``classify`` makes of the plane, with the points over it, and write a PNG."""
    from matplotlib.colors import ListedColormap

    margin = 0.06 * np.ptp(x, axis=0).max()
    (left, bottom), (right, top) = x.min(axis=0) - margin, x.max(axis=0) + margin
    across, up = np.linspace(left, right, 401), np.linspace(bottom, top, 301)
    plane = np.stack(np.meshgrid(across, up), axis=-1)
    found = classify(plane.reshape(-1, 2)).reshape(plane.shape[:2])
    figure = new_figure(6.8, 5.6)
    axes = figure.subplots()
    count = int(labels.max()) + 1
    axes.imshow(
        found, extent=(left, right, bottom, top), origin="lower", interpolation="nearest",
        cmap=ListedColormap(PALETTE[:count]), vmin=-0.5, vmax=count - 0.5, alpha=0.3,
    )  # fmt: skip
    draw_points(axes, x, labels, size=4)
    finish(axes, title, "$x_1$", "$x_2$", legend=False)
    handles = [
        Line2D([], [], ls="", marker="osD^vP*X"[i % 8], color=PALETTE[i], label=f"class {i}")
        for i in range(count)
    ]
    figure.legend(handles=handles, loc="outside right upper", frameon=False, labelcolor=INK)
    figure.savefig(path)
