"""Small pieces of HTML that objects show in notebooks. They take their colours from the page."""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

STYLE = """
.nbgrad {font-family: system-ui, sans-serif; font-size: 13px; line-height: 1.4}
.nbgrad table {border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 4px 0}
.nbgrad td, .nbgrad th {padding: 2px 10px; text-align: left; vertical-align: top}
.nbgrad th {border-bottom: 1px solid #999; font-weight: 600}
.nbgrad pre {margin: 0; overflow-x: auto; font-size: 12px; background: none; color: inherit}
.nbgrad summary {cursor: pointer; padding: 2px 0}
.nbgrad svg {max-width: 100%; height: auto}
.nbgrad svg text {font-size: 11px; fill: currentColor}"""


def framed(body: str) -> str:
    """Return the pieces of an object with their style."""
    return f'<div class="nbgrad"><style>{STYLE}</style>{body}</div>'


def table(header: Sequence[str], row: Sequence[str]) -> str:
    """Return a table of one row whose cells keep their spaces and lines."""
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    cells = "".join(f"<td><pre>{escape(cell)}</pre></td>" for cell in row)
    return f"<table><tr>{heads}</tr><tr>{cells}</tr></table>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a line of names and values."""
    return " &middot; ".join(f"{escape(name)} <b>{escape(value)}</b>" for name, value in pairs)


def fold(title: str, text: str, is_open: bool = False) -> str:
    """Return a section of text that a click opens."""
    opened = " open" * is_open
    return f"<details{opened}><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"


def curve(values: np.ndarray, title: str, log: bool = False) -> str:
    """Return a picture of a curve, with its first and last finite value; nothing without two."""
    values = np.asarray(values, float)
    if log and np.all(values > 0):
        heights = np.log(values)
    else:
        heights, title = values, title.removesuffix(", logarithmic")
    finite = np.flatnonzero(np.isfinite(heights))
    if len(finite) < 2:
        return ""
    shown = finite[np.unique(np.linspace(0, len(finite) - 1, 300).astype(int))]
    low, high = heights[shown].min(), heights[shown].max()
    x = 400 * shown / max(len(values) - 1, 1)
    y = 90 - 80 * (heights[shown] - low) / (high - low or 1.0)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return (
        f'<p>{escape(title)}</p><svg viewBox="0 0 480 100" width="480" role="img">'
        f'<polyline points="{points}" fill="none" stroke="#2166ac" stroke-width="1.5"/>'
        f'<text x="408" y="{y[-1] + 4:.0f}">{values[shown[-1]]:.4g}</text></svg>'
    )
