"""A profile as a page: one file, which loads nothing."""

import re
from html import escape

from .breakdown import Breakdown
from .findings import findings
from .flame import flame
from .sections import Section, sections, summary

__all__ = ["fragment", "page"]

_STYLE = """
.nbgrad-profile {--ink: #1c1e21; --soft: #5c6470; --paper: #fff; --line: #d9dde3; --note: #f2f5f9;
  --all: #e7eaef; --file: #d5dae2; --op: #e7eaef; --forward: #7fb3e6; --backward: #f0a37a;
  --compile: #c9a6e8; --python: #9ccf9c; color: var(--ink); background: var(--paper);
  font: 14px/1.45 system-ui, sans-serif}
.nbgrad-profile h2 {font-size: 15px; margin: 22px 0 6px}
.nbgrad-profile p {margin: 6px 0}
.nbgrad-profile .summary {font-size: 15px}
.nbgrad-profile ul {margin: 10px 0; padding: 10px 12px 10px 28px; background: var(--note);
  border-left: 4px solid var(--backward)}
.nbgrad-profile li {margin: 4px 0; overflow-wrap: anywhere}
.nbgrad-profile code {font: 12.5px ui-monospace, monospace}
.nbgrad-profile .wide {overflow-x: auto}
.nbgrad-profile table {border-collapse: collapse; font-variant-numeric: tabular-nums}
.nbgrad-profile td, .nbgrad-profile th {padding: 2px 12px 2px 0; text-align: left;
  white-space: nowrap; border: 0; background: none; color: inherit}
.nbgrad-profile th {color: var(--soft); font-weight: 600; border-bottom: 1px solid var(--line)}
.nbgrad-profile .number {text-align: right}
.nbgrad-profile .soft {color: var(--soft)}
.nbgrad-profile .flame text {font: 12px system-ui, sans-serif; fill: var(--ink)}
.nbgrad-profile .flame rect {stroke: var(--paper); stroke-width: 1}
.nbgrad-profile .all rect {fill: var(--all)} .nbgrad-profile .line rect {fill: var(--file)}
.nbgrad-profile .op rect {fill: var(--op)}
.nbgrad-profile .forward rect, .nbgrad-profile .key.forward {fill: var(--forward);
  background: var(--forward)}
.nbgrad-profile .backward rect, .nbgrad-profile .key.backward {fill: var(--backward);
  background: var(--backward)}
.nbgrad-profile .compile rect, .nbgrad-profile .key.compile {fill: var(--compile);
  background: var(--compile)}
.nbgrad-profile .python rect, .nbgrad-profile .key.python {fill: var(--python);
  background: var(--python)}
.nbgrad-profile .key {display: inline-block; width: 11px; height: 11px; margin: 0 5px 0 0}
.nbgrad-profile .name {white-space: nowrap; margin-right: 12px}
@media (prefers-color-scheme: dark) {.nbgrad-profile {--ink: #e6e8eb; --soft: #9aa3af;
  --paper: #16181c; --line: #3a4049; --note: #20242b; --all: #2a2f37; --file: #363c46;
  --op: #2a2f37; --forward: #2f6299; --backward: #9a5630; --compile: #6d4a92; --python: #3d7040}}"""
_BODY = """
body {margin: 0} .nbgrad-profile {padding: 16px; max-width: 1240px; margin: auto}
@media (prefers-color-scheme: dark) {body {background: #16181c}}"""
_KEYS = "".join(
    f'<span class="name"><span class="key {kind}"></span>{kind}</span> '
    for kind in ("forward", "backward", "compile", "python")
)


def page(b: Breakdown, top: int, sort: str) -> str:
    """The whole page."""
    head = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
    head += '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head += '<meta name="color-scheme" content="light dark">'
    return (
        f"{head}<title>Profile</title><style>{_BODY}</style></head><body>"
        f"{fragment(b, top, sort)}</body></html>\n"
    )


def fragment(b: Breakdown, top: int, sort: str) -> str:
    """The profile as a part of another page."""
    sentences = "".join(f"<li>{_with_code(sentence)}</li>" for sentence in findings(b))
    parts = [
        f'<p class="summary"><b>{escape(summary(b))}</b></p>',
        f"<ul>{sentences}</ul>" if sentences else "<p>Nothing stands out.</p>",
        f'<h2>By line, op and direction</h2><p class="soft">{_KEYS}</p>{flame(b)}',
        *map(_table, sections(b, top, sort)),
    ]
    return f'<div class="nbgrad-profile"><style>{_STYLE}</style>{"".join(parts)}</div>'


def _with_code(sentence: str) -> str:
    """A sentence as HTML, in which names of nbgrad and lines of files are code."""
    pattern = r"(@?nbgrad(?:\.\w+)+(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?|[\w.<>-]+\.py:\d+)"
    parts = re.split(pattern, sentence)
    return "".join(
        f"<code>{escape(part)}</code>" if i % 2 else escape(part) for i, part in enumerate(parts)
    )


def _table(section: Section) -> str:
    head = [f"<th{kind}>{escape(name)}</th>" for name, kind in _columns(section)]
    body = ["".join(_cell(*each) for each in zip(_columns(section), row, strict=True))
            for row in section.rows]  # fmt: skip
    rows = "".join(f"<tr>{row}</tr>" for row in ["".join(head), *body])
    more = f'<p class="soft">and {section.hidden:,} more</p>' if section.hidden else ""
    return f'<h2>{escape(section.title)}</h2><div class="wide"><table>{rows}</table></div>{more}'


def _columns(section: Section) -> list[tuple[str, str]]:
    """The names of the columns, and the class of each as an attribute."""
    kinds = [' class="number"' if number else "" for number in section.numbers]
    return list(zip(section.columns, kinds, strict=True))


def _cell(column: tuple[str, str], text: str) -> str:
    name, kind = column
    text = escape(text)
    return f"<td{kind}>{f'<code>{text}</code>' if name == 'code' else text}</td>"
