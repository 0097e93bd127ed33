"""Computational graphs as pictures."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from nbgrad.experiments.style import BLUE, INK


class Box(NamedTuple):
    """A vertex: what stands in it, where, and whether it is an input or an output."""

    name: str
    x: float
    y: float
    end: bool = False


def draw_graph(
    axes: Any, boxes: Mapping[int, Box], edges: Mapping[tuple[int, int], str], size: float = 11
) -> None:
    """Draw boxes, and between them arrows with their labels."""
    drawn = {
        i: axes.text(
            box.x, box.y, box.name, color=INK, fontsize=size, ha="center", va="center",
            bbox={
                "boxstyle": "round,pad=0.45", "facecolor": "#dbe9f6" if box.end else "white",
                "edgecolor": INK,
            },
        )
        for i, box in boxes.items()
    }  # fmt: skip
    for (i, j), label in edges.items():
        start, end = boxes[i], boxes[j]
        axes.annotate(
            "", (end.x, end.y), (start.x, start.y), zorder=4,
            arrowprops={
                "arrowstyle": "-|>", "color": "#777777", "shrinkA": 1, "shrinkB": 1,
                "patchA": drawn[i].get_bbox_patch(), "patchB": drawn[j].get_bbox_patch(),
            },
        )  # fmt: skip
        if label:
            axes.text(
                (start.x + end.x) / 2, (start.y + end.y) / 2, label, color=BLUE, fontsize=size,
                ha="center", va="center", zorder=5,
                bbox={"facecolor": "white", "edgecolor": "none"},
            )  # fmt: skip
    across, up = [box.x for box in boxes.values()], [box.y for box in boxes.values()]
    axes.set(xlim=(min(across) - 0.6, max(across) + 0.6), ylim=(min(up) - 0.5, max(up) + 0.5))
    axes.set_axis_off()
