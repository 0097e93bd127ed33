"""Which digits a network takes for which: the confusion matrix, and a sheet of the misread ones."""

from pathlib import Path

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from nbgrad.experiments.history import History
from nbgrad.experiments.style import BLUE, INK, ORANGE, new_figure

COLUMNS, ROWS = 10, 6
"""At most this many misread digits are shown."""
_RIGHT = LinearSegmentedColormap.from_list("right", ["#d1e5f0", BLUE])
_WRONG = LinearSegmentedColormap.from_list("wrong", ["#fddbc7", ORANGE])


def confusion(labels: np.ndarray, read: np.ndarray) -> np.ndarray:
    """How often the digit of a row was read as that of a column: a 10 x 10 table of counts."""
    counts = np.zeros((10, 10), dtype=int)
    np.add.at(counts, (labels, read), 1)
    return counts


def plot_confusion(labels: np.ndarray, read: np.ndarray, path: Path, title: str) -> None:
    """Draw the confusion matrix, right ones blue and wrong ones orange, and write it as a PNG."""
    counts = confusion(labels, read)
    totals = counts.sum(axis=1)
    figure = new_figure(7, 6.4)
    axes = figure.subplots()
    right = np.eye(10, dtype=bool)
    shares = counts / np.maximum(totals, 1)[:, None]
    axes.imshow(np.where(right & (counts > 0), shares, np.nan), cmap=_RIGHT, vmin=0.5, vmax=1)
    # A single mistake is what one looks for, so it has colour enough to be seen.
    most = max(counts[~right].max(), 4)
    axes.imshow(np.where(~right & (counts > 0), counts, np.nan), cmap=_WRONG, vmin=0, vmax=most)
    for (i, j), count in np.ndenumerate(counts):
        if count:
            strong = shares[i, j] > 0.7 if i == j else count > most / 2
            axes.text(j, i, str(count), ha="center", va="center", color="white" if strong else INK)
    for i, total in enumerate(totals):
        share = f"{100 * shares[i, i]:.0f} %" if total else "none"
        axes.text(9.75, i, share, va="center", color=INK, fontsize=9)
    axes.text(9.75, -0.85, "right", color=INK, fontsize=9)
    axes.set_xticks(range(10))
    axes.set_yticks(range(10))
    axes.set_xticks(np.arange(-0.5, 10), minor=True)
    axes.set_yticks(np.arange(-0.5, 10), minor=True)
    axes.grid(which="minor", color="#e4e4e4", linewidth=0.8)
    axes.tick_params(which="both", length=0, colors=INK)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("what the network reads")
    axes.set_ylabel("what it is")
    axes.set_title(title, color=INK, fontsize=13, pad=18)
    figure.savefig(path)


def plot_misread(history: History, path: Path) -> None:
    """Draw the misread digits, each with what was read and what it is, and write them as a PNG."""
    read = history.network.predict(history.x)
    wrong = np.flatnonzero(read != history.labels)
    wrong = wrong[np.lexsort((read[wrong], history.labels[wrong]))]
    shown = _spread(wrong, COLUMNS * ROWS)
    columns = min(max(len(shown), 4), COLUMNS)
    rows = max(-(-len(shown) // columns), 1)
    figure = new_figure(1.15 * columns + 0.4, 1.37 * rows + 0.45)
    figure.suptitle(_summary(len(wrong), len(shown), len(read)), color=INK, fontsize=12)
    for i, axes in enumerate(figure.subplots(rows, columns, squeeze=False).flat):
        axes.set_axis_off()
        if i < len(shown):
            sample = shown[i]
            image = history.x[sample].reshape(8, 8)
            axes.imshow(image, cmap="gray_r", vmin=0, vmax=1)
            told = f"read {read[sample]}, is {history.labels[sample]}"
            axes.set_title(told, fontsize=9, color=INK, pad=3)
            axes.add_patch(_frame())
    figure.savefig(path)


def _spread(samples: np.ndarray, most: int) -> np.ndarray:
    """At most that many, evenly from beginning to end."""
    if len(samples) <= most:
        return samples
    return samples[np.linspace(0, len(samples) - 1, most).round().astype(int)]


def _summary(wrong: int, shown: int, total: int) -> str:
    if wrong == 0:
        return f"No misread digits:\nall {total} were read right"
    count = f"{wrong} misread digit{'s' * (wrong > 1)} of {total}"
    return count if shown == wrong else f"{count}, {shown} of them shown"


def _frame():
    from matplotlib.patches import Rectangle

    return Rectangle((-0.5, -0.5), 8, 8, fill=False, edgecolor="#bbbbbb", linewidth=0.8)
