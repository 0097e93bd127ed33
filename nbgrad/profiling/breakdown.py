"""`Breakdown`: the time between two moments, as rows."""

import linecache
import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from time import process_time
from types import CodeType
from typing import Any

from .kept_values import Held
from .tally import Compilation, Tally, clock, codes, own, tallies

__all__ = ["SORTS", "Breakdown", "Row", "Start", "Where", "total"]


@dataclass(frozen=True)
class Where:
    """A line of the user's program, and its function; `file` is "" for what has none."""

    file: str = ""
    line: int = 0
    function: str = ""

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}" if self.file else "-"

    @property
    def text(self) -> str:
        """The line without its indentation; "" if the file is not found."""
        return linecache.getline(self.file, self.line).strip()


@dataclass
class Row:
    """The time of one op at one line: `seconds` forward, and `back_seconds` in backward passes.

    `kind` is "op", "call", "pass", "compile" or "python"; `kernel` has shape and dtype of the
    argument of an op with one, else of the result, and the reason of a compilation.
    """

    where: Where
    kind: str
    op: str
    kernel: str
    calls: int = 0
    seconds: float = 0.0
    back_calls: int = 0
    back_seconds: float = 0.0
    bytes: int = 0
    held: int = 0
    note: str = ""
    elements: int | None = None

    @property
    def time(self) -> float:
        """The seconds of both directions."""
        return self.seconds + self.back_seconds


def total(rows: Iterable[Row], where: Where, kind: str = "", op: str = "", kernel: str = "") -> Row:
    """The sum of rows."""
    out = Row(where, kind, op, kernel)
    for row in rows:
        out.calls += row.calls
        out.seconds += row.seconds
        out.back_calls += row.back_calls
        out.back_seconds += row.back_seconds
        out.held += row.held
        out.bytes = max(out.bytes, row.bytes)
    return out


class Start:
    """The counts of all threads at a moment."""

    def __init__(self) -> None:
        self.thread = own()
        self.cells = {
            cell: cell.numbers() for tally in _all() for cell in list(tally.cells.values())
        }
        self.compilations = {tally: len(tally.compilations) for tally in _all()}
        self.fallbacks = {tally: len(tally.fallbacks) for tally in _all()}
        self.aside = {tally: tally.aside for tally in _all()}
        self.samples = {tally: dict(tally.samples) for tally in _all()}
        self.computed = process_time()
        self.clock = clock()


def _all() -> list[Tally]:
    """The counts of all threads, with the time of all backward passes divided."""
    for tally in list(tallies.values()):
        for walk in list(tally.walks.values()):
            walk.divide()
    return list(tallies.values())


class Breakdown:
    """The time since a start: `rows` of all threads, and `seconds` of the thread that measures.

    `outside` are its seconds outside of events, which samples divide among the lines. `measuring`
    are those that the measurement took: `cost` for each op. `peak` are the most bytes that a graph
    held for its backward pass, and `held` those by op. `computed` are the seconds that the cores
    worked for the process.
    """

    def __init__(self, start: Start, cost: float, peak: int, held: Held):
        self.seconds = clock() - start.clock
        self.computed = process_time() - start.computed
        self.peak = peak
        self.threads = 0
        self.rows: list[Row] = []
        self.compilations: list[tuple[Where, Compilation]] = []
        self.fallbacks: list[tuple[Where, str, str]] = []
        for tally in _all():
            count = len(self.rows)
            self._add_cells(tally, start, held)
            self._add_compilations(tally, start)
            mine = self.rows[count:]
            self.threads += bool(mine) or tally is start.thread
            for place, name, told in tally.fallbacks[start.fallbacks.get(tally, 0) :]:
                self.fallbacks.append((_where(*place), name, told))
            if tally is start.thread:
                outside = max(self.seconds - sum(row.time for row in mine), 0.0)
                calls = sum(row.calls for row in mine if row.kind == "op")
                aside = tally.aside - start.aside.get(tally, 0.0)
                self.measuring = min(aside + calls * cost, outside)
                self.outside = outside - self.measuring
                self._add_samples(tally, start)
        self.passes = sum(row.back_calls for row in self.rows if row.kind == "pass")

    def _add_cells(self, tally: Tally, start: Start, held: Held) -> None:
        for (code, offset, op, kernel), cell in list(tally.cells.items()):
            now, before = cell.numbers(), start.cells.get(cell, (0, 0.0, 0, 0.0))
            if now == before:
                continue
            numbers: Any = [a - b for a, b in zip(now, before, strict=True)]
            kind = "op"
            if isinstance(op, str):
                kind = "pass" if op == "backward pass" else "op" if op == "x[...]" else "call"
            name = op if isinstance(op, str) else op.name
            self.rows.append(
                Row(
                    _where(code, offset), kind, name, "" if kernel is None else str(kernel),
                    *numbers, bytes=cell.bytes, held=held.get(cell, 0), note=cell.note,
                    elements=getattr(kernel, "size", None),
                )
            )  # fmt: skip

    def _add_compilations(self, tally: Tally, start: Start) -> None:
        for each in tally.compilations[start.compilations.get(tally, 0) :]:
            where = _where(*each.place)
            self.compilations.append((where, each))
            self.rows.append(
                Row(where, "compile", each.name, each.why, not each.is_part, each.seconds)
            )

    def _add_samples(self, tally: Tally, start: Start) -> None:
        before = start.samples.get(tally, {})
        samples = {
            key: count - before.get(key, 0)
            for key, count in list(tally.samples.items())
            if count > before.get(key, 0)
        }
        count = sum(samples.values())
        if not count:
            self.rows.append(Row(Where(), "python", "Python", "", 0, self.outside))
        for (code, offset, is_inner), part in samples.items():
            name = "between ops" if is_inner else "Python"
            seconds = self.outside * part / count
            self.rows.append(Row(_where(code, offset), "python", name, "", 0, seconds))

    @property
    def all_seconds(self) -> float:
        """The seconds of all threads."""
        return sum(row.time for row in self.rows)

    def grouped(self, key: Callable[[Row], Any]) -> list[list[Row]]:
        """Rows with equal keys."""
        groups: dict[Any, list[Row]] = defaultdict(list)
        for row in self.rows:
            groups[key(row)].append(row)
        return list(groups.values())

    def merged(self) -> list[Row]:
        """Rows of one line, op and kernel as one."""
        groups = self.grouped(lambda row: (row.where, row.kind, row.op, row.kernel))
        return [
            replace(total(rows, rows[0].where, rows[0].kind, rows[0].op, rows[0].kernel),
                    note=rows[0].note, elements=rows[0].elements)
            for rows in groups
        ]  # fmt: skip

    def sorted(self, sort: str) -> list[Row]:
        """The merged rows, the largest first."""
        return ordered(self.merged(), sort)

    def by_line(self, sort: str) -> list[Row]:
        return ordered([total(g, g[0].where) for g in self.grouped(lambda x: x.where)], sort)

    def by_op(self, sort: str) -> list[Row]:
        groups = self.grouped(lambda row: (row.kind, row.op))
        return ordered([total(g, Where(), g[0].kind, g[0].op) for g in groups], sort)

    def by_kernel(self, sort: str) -> list[Row]:
        groups = self.grouped(lambda row: (row.kind, row.op, row.kernel))
        rows = [total(g, Where(), g[0].kind, g[0].op, g[0].kernel) for g in groups]
        return ordered([row for row in rows if row.kind in ("op", "call")], sort)

    def part(self, *kinds: str) -> float:
        """The seconds of rows of these kinds."""
        return sum(row.time for row in self.rows if row.kind in kinds)


SORTS: dict[str, Callable[[Row], float]] = {
    "time": lambda row: row.time,
    "calls": lambda row: row.calls + row.back_calls,
    "forward": lambda row: row.seconds,
    "backward": lambda row: row.back_seconds,
}


def ordered(rows: Iterable[Row], sort: str) -> list[Row]:
    """The rows, the largest first."""
    return sorted(rows, key=SORTS[sort], reverse=True)


def _where(code: int, offset: int) -> Where:
    found = codes.get(code)
    return Where() if found is None else _line(found, offset)


@cache
def _line(code: CodeType, offset: int) -> Where:
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return Where(code.co_filename, line, code.co_name)
    return Where(code.co_filename, code.co_firstlineno, code.co_name)
