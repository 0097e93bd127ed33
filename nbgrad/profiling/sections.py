"""The tables of a profile, for the terminal and for the page."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ..static.inspect.report import in_bytes
from .breakdown import Breakdown, Row, ordered, total
from .findings import findings
from .units import in_percent, in_seconds

__all__ = ["Section", "sections", "summary", "text"]


class Section(NamedTuple):
    """A table: which of its columns are numbers, and how many rows it leaves out."""

    title: str
    columns: Sequence[str]
    rows: list[list[str]]
    numbers: Sequence[bool]
    hidden: int = 0


def summary(b: Breakdown) -> str:
    """The time and its parts, in one sentence."""
    every = b.all_seconds or 1.0
    forward = sum(row.seconds for row in b.rows if row.kind == "op")
    calls = sum(row.seconds for row in b.rows if row.kind == "call")
    backward = sum(row.back_seconds for row in b.rows)
    own = [row for row in b.rows if row.kind == "python"]
    parts = {
        "ops forward": forward,
        "backward": backward,
        "compiled functions": calls,
        "compiling": b.part("compile"),
        "between ops": sum(row.time for row in own if row.op == "between ops"),
        "Python outside": sum(row.time for row in own if row.op != "between ops"),
    }
    told = [
        f"{in_percent(seconds / every)} {name}"
        for name, seconds in sorted(parts.items(), key=lambda each: -each[1])
        if seconds >= 0.005 * every
    ]
    threads = f" in {b.threads} threads, {in_seconds(every)} in all" if b.threads > 1 else ""
    note = f" (and {in_seconds(b.measuring)} of measuring)" if b.measuring > 0.01 * every else ""
    return f"{in_seconds(b.seconds - b.measuring)}{threads}{note}: {', '.join(told)}"


def sections(b: Breakdown, top: int, sort: str) -> list[Section]:
    """The tables that have rows."""
    every = [_lines(b, sort), _ops(b, sort), _calls(b, sort), _kernels(b, sort)]
    every += [_compilations(b), _memory(b)]
    return [
        each._replace(rows=each.rows[:top], hidden=max(0, len(each.rows) - top))
        for each in every
        if each.rows
    ]


def _share(b: Breakdown, row: Row) -> str:
    return f"{100 * row.time / b.all_seconds:.1f} %" if b.all_seconds else ""


def _lines(b: Breakdown, sort: str) -> Section:
    kinds = (("op", "call"), ("compile",), ("python",))
    rows = []
    for line in b.by_line(sort):
        mine = [row for row in b.rows if row.where == line.where]
        parts = [sum(row.seconds for row in mine if row.kind in kind) for kind in kinds]
        seconds = [parts[0], line.back_seconds, *parts[1:]]
        cells = ["" if x < 1e-9 else in_seconds(x) for x in (line.time, *seconds)]
        rows.append([str(line.where), _share(b, line), *cells, _cut(line.where.text)])
    columns = "line", "share", "time", "forward", "backward", "compile", "Python", "code"
    return Section("By line", columns, rows, [False, *[True] * 6, False])


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _each(seconds: float, calls: int) -> str:
    return in_seconds(seconds / calls) if calls else ""


def _cells(b: Breakdown, row: Row, with_kernel: bool) -> list[str]:
    names = [row.op, row.kernel] if with_kernel else [row.op]
    return [
        *names, _share(b, row), in_seconds(row.time), f"{row.calls:,}",
        _each(row.seconds, row.calls), f"{row.back_calls:,}" if row.back_calls else "",
        _each(row.back_seconds, row.back_calls),
    ]  # fmt: skip


_COUNTS = "share", "time", "calls", "each", "backward", "each"


def _ops(b: Breakdown, sort: str) -> Section:
    rows = [_cells(b, row, False) for row in b.by_op(sort) if row.kind in ("op", "pass")]
    return Section("By op", ("op", *_COUNTS), rows, [False, *[True] * 6])


def _calls(b: Breakdown, sort: str) -> Section:
    rows = [
        [*_cells(b, row, False), in_bytes(row.bytes) if row.bytes else ""]
        for row in b.by_op(sort) if row.kind == "call"
    ]  # fmt: skip
    columns = "function", *_COUNTS, "recorded"
    return Section("Compiled functions", columns, rows, [False, *[True] * 7])


def _kernels(b: Breakdown, sort: str) -> Section:
    rows = [_cells(b, row, True) for row in b.by_kernel(sort) if row.kind == "op"]
    return Section("By kernel", ("op", "array", *_COUNTS), rows, [False, False, *[True] * 6])


def _compilations(b: Breakdown) -> Section:
    compiled: Counter[tuple[str, str]] = Counter()
    loaded: Counter[tuple[str, str]] = Counter()
    for _, each in b.compilations:
        compiled[each.name, each.why] += each.compiled
        loaded[each.name, each.why] += each.loaded
    groups = b.grouped(lambda row: (row.kind == "compile", row.op, row.kernel))
    rows = []
    for row in ordered(
        (total(g, g[0].where, "", g[0].op, g[0].kernel) for g in groups if g[0].kind == "compile"),
        "time",
    ):
        key = row.op, row.kernel
        numbers = [f"{n[key]}" if n[key] else "" for n in (compiled, loaded)]
        cells = [str(row.where), f"{row.calls}", in_seconds(row.time), *numbers]
        rows.append([row.op, row.kernel, *cells])
    columns = "what", "why", "first at", "times", "time", "compiled", "loaded"
    return Section("Compilations", columns, rows, [False, False, False, *[True] * 4])


def _memory(b: Breakdown) -> Section:
    rows = [
        [row.op, str(row.where), in_bytes(row.held), _cut(row.where.text)]
        for row in sorted(b.merged(), key=lambda row: -row.held)
        if row.held
    ]
    title = f"Memory that a graph holds for its backward pass: {in_bytes(b.peak)} at most"
    return Section(title, ("op", "line", "bytes", "code"), rows, [False, False, True, False])


def text(b: Breakdown, top: int, sort: str) -> str:
    """The whole profile as text."""
    parts = [summary(b), *(f"* {sentence}" for sentence in findings(b))]
    for section in sections(b, top, sort):
        parts += ["", section.title, *_aligned(section)]
    return "\n".join(parts)


def _aligned(section: Section) -> list[str]:
    rows = [list(section.columns), *section.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(section.columns))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, section.numbers, strict=True)
        ]
        lines.append(f"  {'  '.join(cells)}".rstrip())
    lines.insert(1, "  " + "-" * (sum(widths) + 2 * len(widths) - 2))
    if section.hidden:
        lines.append(f"  and {section.hidden:,} more")
    return lines
