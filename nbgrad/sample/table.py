"""`Summary`: a table of parameters that prints itself."""

from collections.abc import Callable, Iterator, Mapping
from html import escape

import numpy as np

from ..runtime import markup

_MOST = 60
"""Rows that are printed; the table has all of them."""
_COUNTS = ("ess_bulk", "ess_tail")


class Summary:
    """A table with a row for each number of the parameters. `names` are those of the rows, and
    `columns` arrays by their name; `table["mean"]` is a column, `table.row("a")` a row as a dict.

    >>> found = nbgrad.sample.nuts(lambda p: -0.5 * p["a"] ** 2, {"a": 0.0}, draws=100)
    >>> table = found.summary()
    >>> table.names, bool(abs(table.row("a")["mean"]) < 0.5)
    (['a'], True)
    """

    def __init__(
        self, names: list[str], columns: Mapping[str, np.ndarray], title: str, divergences: int
    ):
        self.names, self.columns = names, dict(columns)
        self._title, self._divergences = title, divergences

    def __getitem__(self, column: str) -> np.ndarray:
        return self.columns[column]

    def __len__(self) -> int:
        return len(self.names)

    def row(self, name: str) -> dict[str, float]:
        """Return the row of a parameter by its name."""
        at = self.names.index(name)
        return {column: float(values[at]) for column, values in self.columns.items()}

    def _notes(self) -> list[str]:
        notes = []
        if self._divergences:
            notes.append(f"{self._divergences:,} divergent transitions")
        with np.errstate(invalid="ignore"):
            worst = np.nanmax(self.columns["rhat"], initial=0.0)
        if worst > 1.01:
            notes.append(f"R-hat up to {worst:.3g}: the chains have not mixed; draw more")
        return notes

    def _rows(self) -> Iterator[list[str]]:
        forms = [self._form(name) for name in self.columns]
        for i, name in enumerate(self.names[:_MOST]):
            values = (column[i] for column in self.columns.values())
            yield [name, *(form(x) for form, x in zip(forms, values, strict=True))]

    def _form(self, column: str) -> Callable[[float], str]:
        if column in _COUNTS:
            return lambda x: f"{x:,.0f}"
        if column == "rhat":
            return lambda x: f"{x:.3f}"
        if column == "error":
            return lambda x: f"{x:.2g}"
        return _number

    def __repr__(self) -> str:
        rows = [["", *self.columns], *self._rows()]
        widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        lines = [self._title, ""]
        for name, *cells in rows:
            numbers = (x.rjust(width) for x, width in zip(cells, widths[1:], strict=True))
            lines.append("  ".join([name.ljust(widths[0]), *numbers]))
        if len(self.names) > _MOST:
            lines.append(f"... and {len(self.names) - _MOST:,} more")
        return "\n".join(lines + [f"\n{note}" for note in self._notes()])

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{escape(x)}</th>" for x in ["", *self.columns])
        body = "".join(
            f"<tr><td>{escape(name)}</td>"
            + "".join(f'<td style="text-align: right">{escape(x)}</td>' for x in cells)
            + "</tr>"
            for name, *cells in self._rows()
        )
        more = len(self.names) - _MOST
        notes = [*([f"and {more:,} more"] if more > 0 else []), *self._notes()]
        text = "".join(f"<p>{escape(note)}</p>" for note in notes)
        table = f"<table><tr>{heads}</tr>{body}</table>"
        return markup.framed(f"<p>{escape(self._title)}</p>{table}{text}")


def _number(x: float) -> str:
    """Four digits, without an exponent for usual sizes."""
    if x == 0.0 or not np.isfinite(x):
        return f"{x:g}"
    digits = 3 - int(np.floor(np.log10(abs(x))))
    return f"{x:.{min(max(digits, 0), 4)}f}" if 1e-3 <= abs(x) < 1e6 else f"{x:.3g}"
