"""Functions of arrays that have a static form, in functions with loops.

A call of a function of NumPy or nbgrad is recorded on symbols whose lengths are named sizes, and
lowered as in a compiled program. Lengths that the call needs to be equal are found by trying.
"""

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..compiler.front.array_table import shape_from
from ..compiler.front.arrays import assign, is_array, number, require
from ..compiler.front.calls import not_read, record_arrays
from ..compiler.front.complex_calls import has_complex
from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.syntax import Unsupported
from ..compiler.front.values import DOUBLE, INT, Array, Known, Method, Number, Value, rebuilt
from ..complex.calls import rules
from ..complex.pair import ComplexArray
from ..core.array import functions
from .given import Given

__all__ = ["call_recorded", "has_array"]

_HOMES = ("nbgrad.rules.", "nbgrad.special.", "nbgrad.stats.", "nbgrad.nn.", "nbgrad.linalg.")
_WRITING = {np.put, np.place, np.putmask, np.copyto, np.fill_diagonal, np.put_along_axis}
_MOST_LENGTHS = 5


def _row(function: Any, operands: Sequence[Value], named: Mapping[str, Value]) -> Callable | None:
    """The writer of calls of a function that can be recorded; None for others."""
    if function is np.reshape or getattr(function, "name", "") == "reshape":
        return None  # whether it copies depends on the memory
    if isinstance(function, Method):
        if any(map(has_complex, (function.holder, *operands))):
            return call_recorded if hasattr(ComplexArray, function.name) else None
        return call_recorded if is_array(function.holder) else None
    every = [*operands, *named.values()]
    if not any(map(has_array, every)):
        return None
    if any(map(has_complex, every)):
        return call_recorded if function in rules else None
    own = getattr(function, "own", function)  # in place of a function of SciPy
    home = str(getattr(own, "__module__", None) or "")
    if f"{home}.".startswith("nbgrad.random."):
        return _drawn
    whole = getattr(function, "__self__", None)
    try:
        known = function in functions or isinstance(whole, np.ufunc) or function in _WRITING
    except TypeError:  # not hashable
        return None
    return call_recorded if known or f"{home}.".startswith(_HOMES) else None


def has_array(value: Value) -> bool:
    """Whether a value is an array, or a tuple that holds one."""
    return is_array(value) or (isinstance(value, tuple) and any(map(has_array, value)))


def call_recorded(
    emit: FunctionBuilder, function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    """A call that is recorded."""
    # Here, as the stages of the static tier load with the first program.
    from .variant_calls import chosen
    from .variants import variants_of

    same: Any = function
    if isinstance(function, Method):
        same = name = function.name
        operands = [function.holder, *operands]
        function = lambda x, *rest, **options: getattr(x, name)(*rest, **options)  # noqa: E731
        function.__name__ = name
    first = operands[0] if function in _WRITING else None
    if first is not None and not isinstance(first, Array):
        raise Unsupported(f"{function.__name__} of such an array")
    if first is not None:
        function = _copying(function)

    def recorded(given: Given) -> Value:
        if len(given.axes) > _MOST_LENGTHS:
            raise Unsupported(f"{function.__name__} of arrays of {len(given.axes)} lengths")
        return chosen(emit, variants_of(function, given, same), given)

    mark, given = emit.mark(), Given(emit, operands, named)
    try:
        found = recorded(given)
    except Unsupported as refused:
        if not given.is_mixed:
            raise
        emit.reset(mark)
        try:  # for constant lengths that equal others
            found = recorded(Given(emit, operands, named, names_constants=True))
        except Unsupported:
            raise refused from None
    if first is None:
        return found
    assign(emit, first, found)
    return Known(None)


@not_read
def _drawn(
    emit: FunctionBuilder, function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    """A draw of random numbers."""
    names = list(inspect.signature(function).parameters)
    lengths = {"shape", *(["a", "x"] if function.__name__ in ("choice", "permutation") else [])}
    given = dict(zip(names, operands, strict=False)) | dict(named)
    for name, value in given.items():
        given[name] = _number(emit, value, name in lengths)
    first = given.pop(names[0], Known(None))
    return call_recorded(emit, function, [_state(emit, first)], given)


def _number(emit: FunctionBuilder, value: Value, is_length: bool) -> Value:
    """An integer as a length, or as the float that a parameter is."""
    if isinstance(value, tuple):
        return rebuilt(value, [_number(emit, x, is_length) for x in value])
    if not isinstance(value, Number) or value.dtype.kind not in "iu":
        return value
    return shape_from(emit, value)[0] if is_length else emit.settled(emit.cast(value, DOUBLE))


def _state(emit: FunctionBuilder, value: Value) -> Value:
    """The state of random numbers: two integers."""
    if not isinstance(value, Array) or len(value.shape) != 1 or value.place.dtype != INT:
        raise Unsupported("a draw whose first argument is not a state: start with random.key")
    are_two = emit.operation(operator.eq, value.shape[0], number(2))
    require(emit, are_two, "the state of random numbers has two elements: start with random.key")
    return replace(value, shape=(number(2),))


def _copying(function: Callable) -> Callable:
    """A function that writes to its first argument as one that gives it."""

    def written(x: Any, *rest: Any, **options: Any) -> Any:
        x = np.copy(x)
        function(x, *rest, **options)
        return x

    written.__name__ = function.__name__
    return written


record_arrays(_row)
