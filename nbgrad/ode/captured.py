"""Functions that close over floats, and methods of objects that have some: these become arguments.

They may be numbers and arrays, tracked ones too, nested containers of them and objects that have
them as attributes; functions that the function calls may close over them as well.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CellType, FunctionType, MethodType
from typing import Any

from ..core.array import Array
from ..transforms import trees

__all__ = ["Lifted", "is_transformed", "lifted"]

Build = Callable[[Iterator[Any]], Any]


def lifted(f: Any, is_value: Callable[[Any], bool] = trees.is_differentiable) -> tuple[Any, tuple]:
    """The function without values that it closes over, and these: trees of which a leaf `is_value`.
    Other functions are returned unchanged."""
    found = _Search(is_value)
    build = found.of(f)
    if build is None:
        return f, ()
    name = getattr(f, "__name__", type(f).__name__)
    return Lifted(name, build, tuple(found.places)), tuple(found.values)


def is_transformed(x: Any) -> bool:
    """Whether a value is a tracked, traced or batched one."""
    return isinstance(x, Array)


class Lifted:
    """A function whose last argument has the values that it closes over, found at `places`.
    `function` has empty tuples in their place."""

    def __init__(self, name: str, build: Build, places: tuple[str, ...]):
        self.__name__, self.places, self._build = name, places, build
        self.function: Any = self.at([()] * len(places))

    def __call__(self, *args: Any) -> Any:
        *own, values = args
        return self.at(values)(*own)

    def at(self, values: Sequence[Any]) -> Any:
        """The function for values."""
        return self._build(iter(values))


class _Search:
    """Looks for values, and for what puts others in their place."""

    def __init__(self, is_value: Callable[[Any], bool]):
        self.values: list[Any] = []
        self.places: list[str] = []
        self._is_value, self._seen, self._path = is_value, set(), []

    def of(self, x: Any) -> Build | None:
        """A function that rebuilds `x` from values; None if `x` holds no values."""
        if any(map(self._is_value, trees.flatten(x)[0])):
            self.values.append(x)
            self.places.append(".".join(map(str, self._path)))
            return next
        if id(x) in self._seen:
            return None
        self._seen.add(id(x))
        if isinstance(x, MethodType):
            holder = self.of(x.__self__)
            return holder and (lambda values: MethodType(x.__func__, holder(values)))
        if not isinstance(x, FunctionType):
            return None
        parts = {name: build for name, part in _captured(x).items()
                 if (build := self._part(name, part)) is not None}  # fmt: skip
        if not parts:
            return None
        return lambda values: _with_captured(x, {i: part(values) for i, part in parts.items()})

    def _part(self, name: Any, x: Any) -> Build | None:
        self._path.append(name)
        found = self.of(x)
        self._path.pop()
        return found


def _captured(f: FunctionType) -> dict[Any, Any]:
    """The values that a function closes over, by cell number, and its defaults, by name."""
    found: dict[Any, Any] = {}
    for i, cell in enumerate(f.__closure__ or ()):
        try:
            found[i] = cell.cell_contents
        except ValueError:  # it is empty
            continue
    defaults = f.__defaults__ or ()
    names = f.__code__.co_varnames[: f.__code__.co_argcount]
    return found | dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))


def _with_captured(f: FunctionType, values: Mapping[Any, Any]) -> FunctionType:
    own = _captured(f) | dict(values)
    cells = list(f.__closure__ or ())
    for i in range(len(cells)):
        if i in values:
            cells[i] = CellType(values[i])
    defaults = tuple(x for name, x in own.items() if isinstance(name, str))
    made = FunctionType(f.__code__, f.__globals__, f.__name__, defaults or None, tuple(cells))
    made.__kwdefaults__ = f.__kwdefaults__
    made.__module__, made.__qualname__ = f.__module__, f.__qualname__
    return made
