"""`summary`: the layers of a model with their shapes, parameters and bytes."""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.primitive import shape_of
from ..runtime.kinds import is_a
from ..transforms import trees
from ..transforms.objects import NUMBERS, attributes
from .layers import Chain


@dataclass(frozen=True)
class Row:
    """A layer: its path, class, shapes of arrays, and numbers of parameters and bytes."""

    place: str
    name: str
    shapes: str
    parameters: int
    size: int


@dataclass(frozen=True)
class Summary:
    """The rows of a model. `str` returns a table, and `show()` prints one to the terminal."""

    rows: list[Row]

    @property
    def parameters(self) -> int:
        """The number of floats, including running statistics."""
        return sum(row.parameters for row in self.rows)

    @property
    def size(self) -> int:
        """The size of all arrays in bytes."""
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
        """Print the table, with rich if it is installed and stdout is a terminal."""
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
    """Return the layers of a model with their shapes, parameters and bytes.

    Chains, and objects whose attributes are callables that hold numbers, are listed by their parts.

    >>> nbgrad.nn.summary(nbgrad.nn.Chain(nbgrad.nn.Dense.random(0, 2, 3), np.tanh))
    layer  kind   shapes        parameters  bytes
    0      Dense  (2, 3), (3,)           9     72
    1      tanh                          0      0
           total                         9     72
    """
    return Summary([_row(place, layer) for place, layer in _parts(model, "")])


def _parts(model: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield the layers of a model with their paths."""
    if isinstance(model, Chain):
        parts = {str(i): layer for i, layer in enumerate(model.layers)}
    elif isinstance(model, (list, tuple)):
        parts = {str(i): part for i, part in enumerate(model)}
    elif isinstance(model, dict):
        parts = {str(key): part for key, part in model.items()}
    else:
        held = {} if isinstance(model, NUMBERS) else attributes(model)
        parts = held if any(map(_has_layers, held.values())) else {}
    if not parts:
        yield place, model
    for name, part in parts.items():
        if isinstance(model, Chain) or _arrays(part):
            yield from _parts(part, f"{place}.{name}" if place else name)


def _has_layers(x: Any) -> bool:
    if isinstance(x, (list, tuple, dict)):
        return any(map(_has_layers, x.values() if isinstance(x, dict) else x))
    return callable(x) and not isinstance(x, NUMBERS) and bool(_arrays(x))


def _arrays(layer: Any) -> list[Any]:
    leaves = trees.flatten(layer)[0]
    return [x for x in leaves if hasattr(x, "dtype") or is_a(x, float)]


def _row(place: str, layer: Any) -> Row:
    arrays = _arrays(layer)
    counts = [math.prod(shape_of(x)) for x in arrays]
    sizes = [getattr(x, "dtype", np.dtype(float)).itemsize for x in arrays]
    return Row(
        place,
        getattr(layer, "__name__", type(layer).__name__),
        ", ".join(str(shape_of(x)) for x in arrays),
        sum(n for n, x in zip(counts, arrays, strict=True) if trees.is_differentiable(x)),
        sum(n * size for n, size in zip(counts, sizes, strict=True)),
    )
