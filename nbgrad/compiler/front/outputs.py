"""Calls of NumPy with an array for their result: `np.exp(x, out=y)`, `np.add(x, y, z)`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .arrays import in_memory, is_array, is_safe, lazy
from .elements import set_element
from .elementwise import dtype_of_elements
from .emit import FunctionBuilder
from .syntax import Unsupported
from .values import Array, Known, Value

__all__ = ["output_of", "with_output"]

_PLACES = {np.dot: 2}  # of functions other than ufuncs whose output may be passed by position


def output_of(
    function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> tuple[Value, list[Value], dict[str, Value]] | None:
    """The array for the result of a call of NumPy, and the other arguments; None without one."""
    is_ufunc = isinstance(function, np.ufunc)
    if not is_ufunc and not str(getattr(function, "__module__", "")).startswith("numpy"):
        return None
    rest = {name: x for name, x in named.items() if name != "out"}
    place = function.nin if is_ufunc else _PLACES.get(function, len(operands))
    given = [*operands[place:], *([named["out"]] if "out" in named else [])]
    given = [each for x in given for each in (x if isinstance(x, tuple) else (x,))]
    if not given:
        return None
    if len(given) > 1:
        raise Unsupported(f"np.{function.__name__} with several outputs")
    if isinstance(given[0], Known) and given[0].value is None:
        return (given[0], list(operands[:place]), rest) if "out" in named else None
    if not is_array(given[0]):
        raise Unsupported(f"an output of np.{function.__name__} that is not an array")
    return given[0], list(operands[:place]), rest


def with_output(
    emit: FunctionBuilder, function: Any, out: Value, made: Callable, is_named: bool
) -> Value:
    """Write what `made()` gives to an array, as if it was computed before; the array."""
    result = made()
    if isinstance(out, Known):
        return result
    out = in_memory(emit, out)
    if not is_named and isinstance(out, Array) and not is_safe(out, lazy(emit, result)):
        raise Unsupported(
            f"np.{function.__name__}, whose output overlaps an argument: Numba gives other numbers "
            "than NumPy; write x[...] = ... instead"
        )
    found, wanted = dtype_of_elements(emit, result), dtype_of_elements(emit, out)
    if not np.can_cast(found, wanted, "same_kind"):
        raise Unsupported(f"an output of np.{function.__name__} of {wanted}, to which {found} are "
                          "not cast")  # fmt: skip
    set_element(emit, out, Known(...), result)
    return out
