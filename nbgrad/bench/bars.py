"""The board in one look: a panel of bars for each workload."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill

from nbgrad.experiments.style import BLUE, INK, new_figure, tidy

from .contestants import COMPILED, EAGER, NUMBA

SHOWN = {
    COMPILED: BLUE, EAGER: "#92c5de", NUMBA: INK, "JAX": "#999999", "PyTorch": "#999999",
    "autograd": "#999999",
}  # fmt: skip
"""Those with a bar, in order, and their colours."""
_COLUMNS = 4


def draw_bars(times: Mapping[str, Mapping[str, float]], path: Path) -> None:
    """Write a PNG with seconds a call, by title of the workload and contestant.

    Each panel has a scale of its own, which ends at eight times the fastest; longer bars are cut
    and say how long they are.
    """
    rows = -(-len(times) // _COLUMNS)
    figure = new_figure(13, 0.4 + 2.1 * rows)
    panels = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
    for axes in panels[len(times) :]:
        axes.set_axis_off()
    for axes, (title, row) in zip(panels, times.items(), strict=False):
        names = [name for name in SHOWN if name in row]
        end = 8 * min(row[name] for name in names)
        for k, name in enumerate(names):
            seconds = row[name]
            axes.barh(k, min(seconds, end), color=SHOWN[name], height=0.72)
            inside = seconds > 0.6 * end
            axes.annotate(
                _spelled(seconds) + (" →" if seconds > end else ""), (min(seconds, end), k),
                xytext=(-4 if inside else 4, 0), textcoords="offset points", va="center",
                ha="right" if inside else "left", color="white" if inside else INK, fontsize=9,
            )  # fmt: skip
        axes.set_yticks(range(len(names)), [n + " eager" * (n == EAGER) for n in names])
        axes.invert_yaxis()
        axes.set_xlim(0, end)
        axes.set_xticks([])
        axes.set_title(fill(title, 32), color=INK, loc="left", fontsize=10)
        tidy(axes)
        axes.spines["bottom"].set_visible(False)
    figure.suptitle("Value and all gradients, time of one call, one thread", color=INK)
    figure.savefig(path)


def _spelled(seconds: float) -> str:
    scale, unit = (1.0, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "µs")
    value = seconds * scale
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.2g} {unit}"
