"""Functions that close over arrays of transformations: these become arguments."""

from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

from ..core.array import Array
from ..transforms import trees

__all__ = ["Lifted", "lifted"]


def lifted(f: Any) -> tuple[Any, dict[int, Any]]:
    """The function without the tracked, traced and batched values that it closes over, and these by
    the numbers of their cells. Other functions are returned unchanged."""
    if not isinstance(f, FunctionType) or not f.__closure__:
        return f, {}
    found = {i: cell.cell_contents for i, cell in enumerate(f.__closure__) if _is_lifted(cell)}
    return (Lifted(f, found), found) if found else (f, {})


def _is_lifted(cell: CellType) -> bool:
    try:
        leaves = trees.flatten(cell.cell_contents)[0]
    except ValueError:  # an empty cell
        return False
    return any(isinstance(x, Array) for x in leaves)


class Lifted:
    """A function whose last argument has the values of some cells of its closure. `function` has
    None in these cells."""

    def __init__(self, f: FunctionType, values: dict[int, Any]):
        self.__name__, self.places = f.__name__, tuple(values)
        self.function = _with_cells(f, dict.fromkeys(values))

    def __call__(self, *args: Any) -> Any:
        *own, values = args
        return _with_cells(self.function, dict(zip(self.places, values, strict=True)))(*own)


def _with_cells(f: FunctionType, values: dict[int, Any]) -> Callable:
    cells = list(f.__closure__ or ())
    for i, value in values.items():
        cells[i] = CellType(value)
    made = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(cells))
    made.__kwdefaults__ = f.__kwdefaults__
    made.__module__, made.__qualname__ = f.__module__, f.__qualname__
    return made
