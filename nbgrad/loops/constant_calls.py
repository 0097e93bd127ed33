"""Calls of functions of NumPy and SciPy with constants, such as `np.hanning(8)`, in functions with
loops: what they give is a constant, too."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ..compiler.front.array_table import FUNCTIONS, known_of
from ..compiler.front.arrays import assign, fresh, shape_of
from ..compiler.front.calls import not_read, record_arrays
from ..compiler.front.captured import outer_value
from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.scalars import SCALARS
from ..compiler.front.syntax import Unsupported
from ..compiler.front.values import Array, Known, Value
from ..runtime.kinds import is_a

__all__: list[str] = []

_HOMES = "numpy.", "scipy."
_OTHERS = "numpy.random.", "scipy.stats.", "scipy.special."  # drawn, or of numbers


def _row(function: Any, operands: Sequence[Value], named: Mapping[str, Value]) -> Callable | None:
    home = f"{getattr(function, '__module__', '')}."
    every = [*operands, *named.values()]
    if not home.startswith(_HOMES) or home.startswith(_OTHERS) or not every:
        return None
    if not isinstance(function, Hashable) or isinstance(function, (np.ufunc, type)):
        return None
    is_ours = function in FUNCTIONS or function in SCALARS or not all(map(_is_known, every))
    return None if is_ours else _called


def _is_known(value: Value) -> bool:
    return isinstance(value, Known) or (isinstance(value, tuple) and all(map(_is_known, value)))


@not_read
def _called(
    emit: FunctionBuilder, function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    name = getattr(function, "__name__", type(function).__name__)
    given = [known_of(x, "a constant") for x in operands]
    options = {key: known_of(x, "a constant") for key, x in named.items()}
    try:
        found = function(*given, **options)
    except Exception as error:
        raise Unsupported(f"a call of {name}: {type(error).__name__}: {error}") from error
    return _constant(emit, name, found)


def _constant(emit: FunctionBuilder, name: str, found: Any) -> Value:
    if isinstance(found, tuple) and not hasattr(found, "_fields"):
        return tuple(_constant(emit, name, x) for x in found)
    if is_a(found, (bool, int, float, complex, np.number, np.bool_)):
        return Known(found.item() if is_a(found, np.generic) else found)
    if type(found) is not np.ndarray or not found.ndim:
        raise Unsupported(f"a call of {name}, which gives no array and no number")
    source = outer_value(emit, np.ascontiguousarray(found))
    assert isinstance(source, Array)
    made = fresh(emit, shape_of(source), source.place.dtype)
    assign(emit, made, source)
    return made


record_arrays(_row)
