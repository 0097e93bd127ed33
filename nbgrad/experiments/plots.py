"""The pictures of a training: how it went, and what it learnt."""

from pathlib import Path

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import MaxNLocator, PercentFormatter

import nbgrad
from nbgrad.experiments.history import History
from nbgrad.experiments.misreadings import plot_confusion, plot_misread
from nbgrad.experiments.style import BLUE, GRID, INK, ORANGE, new_figure, tidy

SIDES = LinearSegmentedColormap.from_list("sides", [BLUE, "#92c5de", "#f7f7f7", "#f4a582", ORANGE])


def draw(history: History, out: Path, title: str, accuracy_label: str) -> None:
    """Write ``history.png``; of points of a plane also ``boundary.png``, of images of digits
    ``confusion.png`` and ``misread.png``."""
    plot_history(history, out / "history.png", title, accuracy_label)
    if history.x.shape[1] == 2:
        plot_boundary(history, out / "boundary.png", title)
    elif history.x.shape[1] == 64:
        read = history.network.predict(history.x)
        plot_confusion(history.labels, read, out / "confusion.png", title)
        plot_misread(history, out / "misread.png")


def plot_history(history: History, path: Path, title: str, accuracy_label: str) -> None:
    """Draw loss (logarithmic) above accuracy, step by step, and write them as a PNG."""
    steps, losses, accuracies = (np.array(column) for column in zip(*history.steps, strict=True))
    figure = new_figure(7, 5.2)
    above, below = figure.subplots(2, 1, sharex=True)
    figure.suptitle(title, color=INK, fontsize=13)

    width = 1 if len(steps) < 500 else len(steps) // 50
    for axes, values, color in ((above, losses, BLUE), (below, accuracies, ORANGE)):
        if width > 1:
            axes.plot(steps, values, color=color, alpha=0.22, linewidth=0.8, label="each step")
        mean = f"mean of {width} steps"
        axes.plot(steps, smooth(values, width), color=color, linewidth=1.8, label=mean)
        axes.grid(color=GRID, linewidth=0.8)
        tidy(axes)

    above.set_yscale("log")
    above.set_ylabel("training loss")
    if width > 1:
        below.legend(frameon=False, labelcolor=INK, loc="lower right")
    floor = min(accuracies.min(), 0.9)
    margin = 0.04 * (1 - floor)
    below.set_ylim(floor - margin, 1 + margin)
    below.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    below.set_ylabel(accuracy_label)
    below.set_xlabel("step")
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    below.set_xlim(0, max(len(steps), 2))
    figure.align_ylabels()
    figure.savefig(path)


def plot_boundary(history: History, path: Path, title: str) -> None:
    """Draw the probability of class 1 over the plane, with the points, and write it as a PNG."""
    margin = 0.35
    (left, bottom), (right, top) = history.x.min(axis=0) - margin, history.x.max(axis=0) + margin
    across, up = np.linspace(left, right, 361), np.linspace(bottom, top, 241)
    plane = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    probability = nbgrad.softmax(history.network.logits(plane))[:, 1].reshape(241, 361)

    figure = new_figure(8, 5)
    axes = figure.subplots()
    image = axes.imshow(
        probability,
        extent=(left, right, bottom, top),
        origin="lower",
        interpolation="bilinear",
        cmap=SIDES,
        vmin=0,
        vmax=1,
        alpha=0.6,
    )
    if probability.min() < 0.5 < probability.max():
        axes.contour(across, up, probability, levels=[0.5], colors=[INK], linewidths=1.2)
    for label, color in ((0, BLUE), (1, ORANGE)):
        x, y = history.x[history.labels == label].T
        axes.scatter(x, y, s=34, color=color, edgecolors="white", linewidths=0.9, zorder=3)
    axes.set_title(title, color=INK, fontsize=13)
    axes.set_xlabel("$x_1$")
    axes.set_ylabel("$x_2$")
    tidy(axes)
    bar = figure.colorbar(image, ax=axes, shrink=0.85, label="probability of the lower moon")
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    figure.savefig(path)


def smooth(values: np.ndarray, width: int) -> np.ndarray:
    """A centred moving average; at both ends it averages what there is."""
    window = np.ones(width)
    count = np.convolve(np.ones(len(values)), window, mode="same")
    return np.convolve(values, window, mode="same") / count
