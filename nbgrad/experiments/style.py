"""The look that all pictures share.

Figures are built as objects, without pyplot, so no window opens and no global state changes.
"""

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

BLUE, ORANGE, INK, GRID = "#2166ac", "#d6604d", "#333333", "#e4e4e4"
PALETTE = [BLUE, ORANGE, "#1b9e77", "#e6ab02", "#7570b3", "#a6761d", "#e7298a", "#66a61e"]


def new_figure(width: float, height: float, dpi: int = 150) -> Figure:
    """An empty white figure of that many inches."""
    figure = Figure(figsize=(width, height), dpi=dpi, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def tidy(axes: Axes) -> None:
    """Only the left and the lower edge, and lines behind the data."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(INK)
    axes.tick_params(colors=INK)
    axes.set_axisbelow(True)
