"""Tables on the screen."""

import sys
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Sequence[bool] | None = None,
) -> None:
    """Print a table. Its first column is text and the others are numbers, unless `numbers` says so
    of each column."""
    numbers = numbers or [bool(i) for i in range(len(columns))]
    table = Table(box=SIMPLE_HEAD)
    rows = list(rows)
    for i, (column, number) in enumerate(zip(columns, numbers, strict=True)):
        # On a narrow terminal text is cut, numbers are not.
        width = max(len(row[i]) for row in [columns, *rows]) if number else None
        justify = "right" if number else "left"
        table.add_column(column, justify=justify, no_wrap=True, min_width=width)
    for row in rows:
        table.add_row(*row)
    # Into a file or a pipe a table goes as plain text of its own width.
    plain = not sys.stdout.isatty()
    console = Console(width=1000 if plain else None, color_system=None if plain else "auto")
    console.print(Text(title, style="bold"), table, sep="")
