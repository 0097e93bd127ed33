"""The flame graph of a profile: all time, below it lines, their ops, and forward, backward and
compiling, each as wide as its time."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from .breakdown import Breakdown, Row
from .units import in_seconds

__all__ = ["flame"]

_HEIGHT = 24
_LEAST = 0.0015
"""The share of the time below which nothing is drawn."""


@dataclass
class _Box:
    """Something with a time, and what it consists of."""

    name: str
    kind: str
    told: str = ""
    seconds: float = 0.0
    parts: dict[str, "_Box"] = field(default_factory=dict)

    def part(self, name: str, kind: str, seconds: float, told: str = "") -> "_Box":
        found = self.parts.setdefault(name, _Box(name, kind, told))
        found.seconds += seconds
        return found


def flame(b: Breakdown) -> str:
    """The graph as SVG, whose boxes have widths in per cent and letters of a fixed size."""
    root = _Box("all", "all", seconds=b.all_seconds)
    for row in b.rows:
        for directed, phase in _phases(row):
            line = str(row.where) if row.where.file else "outside of any line"
            box = root.part(line, "line", directed, row.where.text)
            box.part(row.op, "op", directed).part(phase, phase.split()[0], directed)
    if not root.seconds:
        return ""
    drawn = [_drawn(box, x, depth, root.seconds) for box, x, depth in _placed(root, 0.0, 0)]
    return f'<svg class="flame" width="100%" height="{4 * _HEIGHT}">{"".join(drawn)}</svg>'


def _phases(row: Row) -> Iterator[tuple[float, str]]:
    """The seconds of a row by what they were spent on."""
    if row.back_seconds > 0.0:
        yield row.back_seconds, "backward"
    if row.seconds > 0.0:
        if row.kind == "compile":
            yield row.seconds, f"compile ({row.kernel})"
        else:
            yield row.seconds, "python" if row.kind == "python" else "forward"


def _placed(box: _Box, x: float, depth: int) -> Iterator[tuple[_Box, float, int]]:
    """The boxes, with where they begin and how far down they are."""
    yield box, x, depth
    for part in sorted(box.parts.values(), key=lambda each: -each.seconds):
        yield from _placed(part, x, depth + 1)
        x += part.seconds


def _drawn(box: _Box, x: float, depth: int, every: float) -> str:
    share = box.seconds / every
    if share < _LEAST:
        return ""
    percent = f"{100 * share:.1f} %"
    name = f"{in_seconds(every)}" if box.kind == "all" else box.name
    told = f"{name}: {in_seconds(box.seconds)}, {percent}" + (f"\n{box.told}" if box.told else "")
    letters = f"{name}  {percent}" if box.kind != "all" else name
    return (
        f'<svg x="{100 * x / every:.3f}%" y="{depth * _HEIGHT}" width="{100 * share:.3f}%" '
        f'height="{_HEIGHT}" class="{box.kind}"><title>{escape(told)}</title>'
        f'<rect width="100%" height="{_HEIGHT - 1}"/>'
        f'<text x="5" y="{_HEIGHT - 8}">{escape(letters)}</text></svg>'
    )
