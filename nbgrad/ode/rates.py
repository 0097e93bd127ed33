"""The right-hand side of an equation, in a form that functions with loops can call."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..compiler.front.calls import record_arrays
from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.values import Value
from ..loops.given import Given

__all__ = ["Recorded"]


class Recorded:
    """A function of numbers and arrays of fixed shapes that is recorded on symbols where a function
    with loops calls it. So it may be any NumPy code, of nested arguments, too."""

    def __init__(self, function: Callable, name: str):
        self.function, self.__name__ = function, name

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


def _row(function: Any, operands: Sequence[Value], named: Mapping[str, Value]) -> Callable | None:
    return _called if isinstance(function, Recorded) else None


def _called(
    emit: FunctionBuilder, function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    from ..loops.variant_calls import chosen  # the static tier loads with the first program
    from ..loops.variants import variants_of

    given = Given(emit, operands, named)
    return chosen(emit, variants_of(function, given), given)


record_arrays(_row)
