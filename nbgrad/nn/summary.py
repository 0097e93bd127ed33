"""What a model holds: layer by layer, with shapes, parameters and bytes."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..core.primitive import shape_of
from ..transforms import trees
from .layers import Chain


@dataclass(frozen=True)
class Row:
    """One layer: its place, its class, the shapes of its arrays, numbers and bytes."""

    place: str
    name: str
    shapes: str
    parameters: int
    size: int


@dataclass(frozen=True)
class Summary:
    """The rows of a model; its text is a table, and `show()` prints one for the terminal."""

    rows: list[Row]

    @property
    def parameters(self) -> int:
        """How many floats the model holds, running statistics among them."""
        return sum(row.parameters for row in self.rows)

    @property
    def size(self) -> int:
        """The bytes of all its arrays."""
        return sum(row.size for row in self.rows)

    def _cells(self) -> list[tuple[str, ...]]:
        rows = [(r.place, r.name, r.shapes, f"{r.parameters:,}", f"{r.size:,}") for r in self.rows]
        return [*rows, ("", "total", "", f"{self.parameters:,}", f"{self.size:,}")]

    def __str__(self) -> str:
        cells = [_HEAD, *self._cells()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(
                cell.rjust(width) if i > 2 else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in cells
        ]
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__

    def show(self) -> None:
        """Print it, as a table with lines where rich is installed and this is a terminal."""
        if sys.stdout.isatty():
            try:
                from rich.console import Console
                from rich.table import Table
            except ImportError:
                pass
            else:
                table = Table()
                for i, head in enumerate(_HEAD):
                    table.add_column(head, justify="right" if i > 2 else "left")
                for row in self._cells():
                    table.add_row(*row)
                Console().print(table)
                return
        print(self)


_HEAD = ("layer", "kind", "shapes", "parameters", "bytes")


def summary(model: Any) -> Summary:
    """The layers of a model with their shapes, parameters and bytes.

    Chains are listed layer by layer; any other model is one row.

    >>> nbgrad.nn.summary(nbgrad.nn.Chain(nbgrad.nn.Dense.random(0, 2, 3), np.tanh))
    layer  kind   shapes        parameters  bytes
    0      Dense  (2, 3), (3,)           9     72
    1      tanh                          0      0
           total                         9     72
    """
    return Summary([_row(place, layer) for place, layer in _layers(model, "")])


def _layers(model: Any, place: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(model, Chain):
        yield place, model
        return
    for i, layer in enumerate(model.layers):
        yield from _layers(layer, f"{place}.{i}" if place else str(i))


def _row(place: str, layer: Any) -> Row:
    leaves = [x for x in trees.flatten(layer)[0] if hasattr(x, "dtype") or isinstance(x, float)]
    floats = [x for x in leaves if trees.is_differentiable(x)]
    sizes = [int(getattr(x, "size", 1)) for x in leaves]
    return Row(
        place,
        getattr(layer, "__name__", type(layer).__name__),
        ", ".join(str(shape_of(x)) for x in leaves),
        sum(int(getattr(x, "size", 1)) for x in floats),
        sum(n * getattr(getattr(x, "dtype", None), "itemsize", 8) for n, x in zip(sizes, leaves)),  # noqa: B905
    )
