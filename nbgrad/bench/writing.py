"""The board as tables: Markdown, CSV, and one page of HTML with the picture."""

import csv
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from types import MappingProxyType

from nbgrad.experiments.report import STYLE

from .board import Board
from .workloads import workloads

PICTURE, BARS, PAGE, TEXT, TABLE = (
    "board.png", "speed.png", "board.html", "board.md", "board.csv"
)  # fmt: skip
Grid = tuple[str, Sequence[str], list[list[str]]]
"""A title, a header, and rows of cells."""


def write(board: Board, out: Path, picture: bool) -> None:
    """Write the tables, and the page with the picture where there is one."""
    grids = list(_grids(board))
    write_csv(board, out / TABLE)
    (out / TEXT).write_text(markdown(board, grids, picture), encoding="utf-8")
    image = (out / PICTURE).read_bytes() if picture else None
    (out / PAGE).write_text(page(board, grids, image), encoding="utf-8")


def _grids(board: Board) -> Iterable[Grid]:
    who = board.contestants
    told = board.gave_up
    yield _grid("Microseconds a call, value and gradients", board.times, who, 1e6, told)
    if board.first:
        timed = [name for name in who if any(name in row for row in board.first.values())]
        yield _grid("Seconds of the first call, empty cache", board.first, timed, 1.0, told)
        yield _grid("Megabytes of it at the peak", board.memory, timed, 1.0)
    for curve, lines in board.curves.items():
        sizes = sorted({n for line in lines.values() for n in line})
        rows = {f"{n:,}": {who: line[n] for who, line in lines.items() if n in line} for n in sizes}
        title = f"Microseconds a gradient by size, {curve}"
        lost = {
            f"{n:,}": board.gave_up[key] for n in sizes if (key := f"{curve} {n}") in board.gave_up
        }
        yield _grid(title, rows, [name for name in who if name in lines], 1e6, lost)


def _grid(
    title: str,
    rows: Mapping[str, Mapping[str, float]],
    who: Sequence[str],
    scale: float,
    gave_up: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> Grid:
    def cell(name: str, one: str) -> str:
        if one in rows[name]:
            return f"{rows[name][one] * scale:.3g}"
        seconds = gave_up.get(name, {}).get(one)
        return "" if seconds is None else f"gave up after {seconds:g} s"

    cells = [[_label(name), *(cell(name, one) for one in who)] for name in rows]
    return title, ["", *who], cells


def _label(name: str) -> str:
    return f"{name}: {workloads[name].what}" if name in workloads else name


def write_csv(board: Board, path: Path) -> None:
    """Every figure on a line of its own: what, where, who, value."""
    rows = [("seconds a call", w, who, v) for w, r in board.times.items() for who, v in r.items()]
    rows += [("first call", w, who, v) for w, r in board.first.items() for who, v in r.items()]
    rows += [("gave up after", w, who, v) for w, r in board.gave_up.items() for who, v in r.items()]
    rows += [("megabytes", w, who, v) for w, r in board.memory.items() for who, v in r.items()]
    rows += [
        ("seconds a call", f"{curve} {n}", who, seconds)
        for curve, lines in board.curves.items()
        for who, line in lines.items()
        for n, seconds in line.items()
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("what", "workload", "contestant", "value"))
        writer.writerows(rows)


def markdown(board: Board, grids: Iterable[Grid], picture: bool) -> str:
    """The tables as Markdown."""
    parts = ["# The board", *([f"![all workloads and contestants]({PICTURE})"] * picture)]
    parts.append("\n".join(f"* {name}: {told}" for name, told in board.facts.items()))
    for title, header, rows in grids:
        lines = [" | ".join(header), "|".join(["---", *["--:"] * (len(header) - 1)])]
        lines += [" | ".join(row) for row in rows]
        parts += [f"## {title}", "\n".join(f"| {line} |" for line in lines)]
    parts += ["## Where nbgrad loses", _listed(board.losses())]
    if board.wrong:
        parts += ["## Wrong gradients, not timed", _listed(board.wrong)]
    return "\n\n".join(parts) + "\n"


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"* {line}" for line in lines) if lines else "Nowhere in this run."


def page(board: Board, grids: Iterable[Grid], picture: bytes | None) -> str:
    """One HTML file that needs no other."""
    facts = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(told)}</td></tr>"
        for name, told in board.facts.items()
    )
    parts = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>nbgrad: the board',
        f"</title><style>{STYLE}</style></head><body><h1>The board</h1><table>{facts}</table>",
    ]
    if picture is not None:
        data = b64encode(picture).decode()
        parts.append(f'<p><img alt="the board" src="data:image/png;base64,{data}"></p>')
    for title, header, rows in grids:
        heads = "".join(f"<th>{escape(cell)}</th>" for cell in header)
        lines = "".join(
            f"<tr><td>{escape(row[0])}</td>"
            + "".join(f'<td class="number">{escape(cell)}</td>' for cell in row[1:])
            + "</tr>"
            for row in rows
        )
        parts.append(f"<h2>{escape(title)}</h2><table><tr>{heads}</tr>{lines}</table>")
    for title, lines in (("Where nbgrad loses", board.losses()), ("Wrong", board.wrong)):
        if lines:
            items = "".join(f"<li>{escape(line)}</li>" for line in lines)
            parts.append(f"<h2>{title}</h2><ul>{items}</ul>")
    return "".join(parts) + "</body></html>\n"
