"""The board as one picture: all workloads, time against size, first calls, memory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from nbgrad.experiments.style import BLUE, GRID, INK, ORANGE, PALETTE, new_figure, tidy

from .board import Board
from .contestants import COMPILED, EAGER, NUMBA, NUMPY
from .sweep import BYTES, flops_of

OURS = {COMPILED: (BLUE, "o"), EAGER: (ORANGE, "o"), NUMPY: (INK, "|"), NUMBA: (INK, "x")}
"""Colour and mark of nbgrad's tiers and of what is written by hand."""


def draw(board: Board, path: Path) -> None:
    """Write the picture as a PNG."""
    figure = new_figure(13, 10)
    (times, first), (rosenbrock, product) = figure.subplots(2, 2)
    looks = _looks(board)
    _dots(times, {w: _scaled(row, 1e6) for w, row in board.times.items()}, looks)
    times.set_title("Value and gradients, microseconds a call", color=INK, loc="left")
    first_rows = {f"{w}  {m}": v for w in board.first for m, v in _costs(board, w).items()}
    _dots(first, first_rows, looks)
    first.set_title(
        "First call, empty cache: seconds (s) and megabytes (MB)", color=INK, loc="left"
    )
    for axes, curve, title in (
        (rosenbrock, "rosenbrock", "Rosenbrock's function of n numbers, by slices"),
        (product, "product", "Product of two matrices of n numbers each"),
    ):
        _curves(axes, board, curve, looks)
        axes.set_title(f"{title}: seconds a gradient", color=INK, loc="left")
    handles, labels = times.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(len(labels), 6), frameon=False,
        labelcolor=INK,
    )  # fmt: skip
    processor = board.facts.get("processor", "")
    figure.suptitle(f"nbgrad beside the hand and its peers: {processor}, one thread", color=INK)
    figure.savefig(path)


def _looks(board: Board) -> dict[str, tuple[str, str]]:
    others = [name for name in board.contestants if name not in OURS]
    free = [color for color in PALETTE if color not in (BLUE, ORANGE)] + ["#999999", "#5e3c99"]
    return OURS | {name: (free[k % len(free)], "D") for k, name in enumerate(others)}


def _scaled(row: Mapping[str, float], scale: float) -> dict[str, float]:
    return {name: value * scale for name, value in row.items()}


def _costs(board: Board, workload: str) -> dict[str, dict[str, float]]:
    """Seconds and megabytes of a first call; a megabyte at least, which is what can be told."""
    memory = {name: max(size, 1.0) for name, size in board.memory[workload].items()}
    return {"s": board.first[workload], "MB": memory}


def _dots(axes: Axes, rows: Mapping[str, Mapping[str, float]], looks: Mapping) -> None:
    """A line for each row and a mark for each contestant."""
    for name, (color, mark) in looks.items():
        points = [(row[name], k) for k, row in enumerate(rows.values()) if name in row]
        if points:
            x, y = zip(*points, strict=True)
            size = 90 if mark in "|x" else 42 if mark == "o" else 26
            axes.scatter(x, y, s=size, color=color, marker=mark, label=name, zorder=3, alpha=0.9)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), list(rows))
    axes.invert_yaxis()
    axes.grid(color=GRID, linewidth=0.8)
    tidy(axes)


def _curves(axes: Axes, board: Board, curve: str, looks: Mapping) -> None:
    """Time against size, and the least that the machine allows."""
    lines = board.curves.get(curve, {})
    for name, line in lines.items():
        color, mark = looks[name]
        axes.plot(
            list(line), list(line.values()), color=color, marker=mark, markersize=4, linewidth=1.3,
            alpha=0.9,
        )  # fmt: skip
    seen = [n for line in lines.values() for n in line]
    if seen:
        n: Any = np.geomspace(min(seen), max(seen), 50)
        if curve == "rosenbrock":
            limit, told = BYTES * n / board.bandwidth, f"memory, {board.bandwidth / 1e9:.0f} GB/s"
        else:
            limit, told = flops_of(n) / board.flops, f"BLAS, {board.flops / 1e9:.0f} GFLOP/s"
        axes.plot(n, limit, color=INK, linestyle=":", linewidth=1.4)
        axes.annotate(
            f"limit of {told}", (n[12], limit[12]), color=INK, fontsize=9,
            xytext=(8, -8), textcoords="offset points",
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("n")
    axes.grid(color=GRID, linewidth=0.8)
    tidy(axes)
