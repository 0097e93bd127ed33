"""`Page`, the result of `nbgrad.show`: a compiled program as HTML and as text."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from ..trace.program import Program
from .report import HEADER, NUMBERS, Buffer, Plan, in_bytes

COLOURS = {"input": "#2166ac", "scratch": "#999999", "result": "#d6604d"}
"""Colours of the kinds of buffers."""
_BAR = 14  # height of the bar of a buffer
_STYLE = """
.nbgrad-page {font-family: system-ui, sans-serif; font-size: 13px; line-height: 1.4}
.nbgrad-page table {border-collapse: collapse; font-variant-numeric: tabular-nums}
.nbgrad-page td, .nbgrad-page th {padding: 2px 10px; text-align: left; white-space: nowrap}
.nbgrad-page .number {text-align: right}
.nbgrad-page th {border-bottom: 1px solid #999}
.nbgrad-page pre {overflow-x: auto; font-size: 12px}
.nbgrad-page summary {font-weight: bold; cursor: pointer; padding: 4px 0}
.nbgrad-page svg text {font-size: 10px; fill: currentColor}
.nbgrad-page .key {font-weight: bold}"""


class Page:
    """The result of `nbgrad.show`: a compiled program as text and as HTML."""

    def __init__(self, program: Program, plan: Plan, source: str):
        self.program, self.plan, self.source = program, plan, source

    def __str__(self) -> str:
        return f"{self.program}\n\n{self.plan}\n\n{self.source}"

    __repr__ = __str__

    def html(self) -> str:
        """Return the page as self-contained HTML, which can be embedded in another page."""
        plan = self.plan
        title = escape(plan.summary)
        parts = [
            _section("Recorded program", _pre(str(self.program)), is_open=False),
            _section("Plan", _table(plan.rows()), is_open=True),
            _section("Buffers over the steps", _bars(plan), is_open=True),
            _section("Emitted code", _pre(self.source), is_open=False),
        ]
        return (
            f'<div class="nbgrad-page"><style>{_STYLE}</style><p>{title}</p>{"".join(parts)}</div>'
        )

    _repr_html_ = html

    def save(self, path: str | Path) -> None:
        """Write the page to an HTML file."""
        name = escape(self.plan.name)
        head = f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        text = f"{head}</head><body>{self.html()}</body></html>\n"
        Path(path).write_text(text, encoding="utf-8")


def _section(title: str, body: str, is_open: bool) -> str:
    return f"<details{' open' * is_open}><summary>{title}</summary>{body}</details>"


def _pre(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def _table(rows: Iterable[Sequence[str]]) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        kinds = [' class="number"' if number else "" for number in NUMBERS]
        return "".join(
            f"<{tag}{kind}>{escape(cell)}</{tag}>" for cell, kind in zip(row, kinds, strict=True)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><tr>{cells('th', HEADER)}</tr>{body}</table>"


def _bars(plan: Plan) -> str:
    """Return an SVG with a bar for each buffer, from its first step to its last, and a legend."""
    if not plan.buffers:
        return "<p>No buffers: numbers only.</p>"
    count = len(plan.steps)
    left, width = 260, max(300, min(900, 24 * count))
    unit, height = width / count, _BAR * (len(plan.buffers) + 2)
    drawn = [
        f'<line x1="{left + i * unit:g}" x2="{left + i * unit:g}" y1="0" y2="{height - _BAR}" '
        'stroke="#999" stroke-opacity="0.25"/>'
        for i in range(count + 1)
    ]
    every = max(1, count * 18 // width)
    drawn += [
        f'<text x="{left + (i + 0.5) * unit:g}" y="{height - 3}" text-anchor="middle">{i}</text>'
        for i in range(0, count, every)
    ]
    drawn += [_bar(buffer, row, left, unit) for row, buffer in enumerate(plan.buffers)]
    keys = " ".join(
        f'<span class="key" style="color: {colour}">{kind}</span>'
        for kind, colour in COLOURS.items()
    )
    size = f'width="{left + width + 8}" height="{height}"'
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(drawn)}</svg>'
    return f'<p>{keys}</p><div style="overflow-x: auto">{picture}</div>'


def _bar(buffer: Buffer, row: int, left: float, unit: float) -> str:
    top = row * _BAR
    start, length = left + buffer.first * unit, (buffer.last - buffer.first + 1) * unit
    told = escape(f"{buffer.name}  {buffer.what}  {in_bytes(buffer.size)}")
    return (
        f'<text x="{left - 8}" y="{top + _BAR - 3}" text-anchor="end">{told}</text>'
        f'<rect x="{start:g}" y="{top + 2}" width="{length:g}" height="{_BAR - 4}" rx="2" '
        f'fill="{COLOURS[buffer.kind]}"><title>{told}, steps {buffer.first} to {buffer.last}'
        "</title></rect>"
    )
