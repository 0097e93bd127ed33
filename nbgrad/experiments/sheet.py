"""What an experiment leaves behind: figures, tables, pictures, and what it says on the screen.

An experiment's ``run`` gets a `Sheet` and puts on it what it finds. The command that ran it shows
the sheet, and writes every table and all figures as CSV beside the pictures.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

FIGURES = "figures.csv"


class Figure(NamedTuple):
    """A number that an experiment comes out with, and what its source says that it should be.

    ``within`` are the bounds that a run with default options keeps, ``short`` those of the short
    form, where they differ.
    """

    name: str
    source: str
    within: tuple[float, float]
    form: str = ".4g"
    short: tuple[float, float] | None = None

    def shown(self, value: float) -> str:
        """The number as text."""
        return format(value, self.form).replace("%", " %")

    def holds(self, value: float, short: bool = False) -> bool:
        """Whether the number is what it should be."""
        low, high = self.short if short and self.short is not None else self.within
        return low <= value <= high


class Table(NamedTuple):
    """A table of raw values, and the format of each column."""

    title: str
    columns: Mapping[str, str]
    rows: list[Sequence[Any]]


@dataclass
class Sheet:
    """The sheet of one run: its folder, whether pictures are wanted, and what was put on it."""

    name: str
    out: Path
    plots: bool
    figures: Sequence[Figure] = ()
    found: dict[str, float] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)

    def figure(self, name: str, value: float) -> None:
        """Put a number on the sheet; it is one of the experiment's `figures`."""
        if name not in {figure.name for figure in self.figures}:
            raise ValueError(f"{self.name} has no figure {name!r} in the catalogue")
        self.found[name] = float(value)

    def say(self, line: str) -> None:
        """A line to show."""
        self.lines.append(line)

    def table(
        self, file: str, title: str, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]
    ) -> None:
        """Show rows of raw values, by the format of each column, and write them as ``file``.csv."""
        kept = list(rows)
        self.tables.append(Table(title, columns, kept))
        self.csv(file, list(columns), kept)

    def csv(self, file: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Write comma-separated values as ``file``.csv, without showing them."""
        write_csv(self.out / f"{file}.csv", columns, rows)

    def close(self) -> None:
        """Show all there is, and write the figures."""
        from nbgrad.experiments.screen import print_table

        for title, columns, rows in self.tables:
            print_table(title, list(columns), [_cells(columns.values(), row) for row in rows])
        known = {figure.name: figure for figure in self.figures}
        found = [(known[name], value) for name, value in self.found.items()]
        if found:
            header = ("name", "value", "source")
            rows = [(figure.name, value, figure.source) for figure, value in found]
            write_csv(self.out / FIGURES, header, rows)
            print_table(
                "Figures",
                ("", "here", "as it should be"),
                [(figure.name, figure.shown(value), figure.source) for figure, value in found],
                (False, True, False),
            )
        for line in self.lines:
            print(line)
        print(f"kept in {self.out}")


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a header and rows as comma-separated values."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def _cells(forms: Iterable[str], row: Sequence[Any]) -> list[str]:
    cells = zip(forms, row, strict=True)
    return ["" if value is None else format(value, form) for form, value in cells]
