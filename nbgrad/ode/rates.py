"""The right-hand side of an equation, in a form that functions with loops can call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..compiler.front.arrays import number
from ..compiler.front.calls import record_arrays
from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.syntax import Unsupported
from ..compiler.front.values import Array, Lazy, Value
from ..loops.given import Given

__all__ = ["Recorded"]


class Recorded:
    """A function of numbers and arrays of fixed shapes that is recorded on symbols where a function
    with loops calls it. So it may be any NumPy code, of nested arguments, too. `shapes` are those
    of its arguments."""

    def __init__(self, function: Callable, name: str, shapes: Sequence[tuple[int, ...]]):
        self.function, self.__name__, self.shapes = function, name, shapes
        self.refused = ""
        """Why it cannot be recorded."""

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


def _row(function: Any, operands: Sequence[Value], named: Mapping[str, Value]) -> Callable | None:
    return _called if isinstance(function, Recorded) else None


def _called(
    emit: FunctionBuilder, function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    from ..loops.variant_calls import chosen  # the static tier loads with the first program
    from ..loops.variants import variants_of

    try:
        sized = [_sized(x, shape) for x, shape in zip(operands, function.shapes, strict=True)]
        given = Given(emit, sized, named)
        return chosen(emit, variants_of(function, given), given)
    except Unsupported as refused:
        function.refused = str(refused)
        raise


def _sized(value: Value, shape: tuple[int, ...]) -> Value:
    """An array of known lengths."""
    if isinstance(value, (Array, Lazy)):
        return replace(value, shape=tuple(map(number, shape)))
    return value


record_arrays(_row)
