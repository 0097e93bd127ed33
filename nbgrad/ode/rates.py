"""The right-hand side of an equation, in forms that functions with loops can call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MethodType
from typing import Any

from ..compiler.front.arrays import number
from ..compiler.front.calls import call, record_arrays
from ..compiler.front.captured import outer_value
from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.nested import Held, Instance
from ..compiler.front.syntax import Unsupported
from ..compiler.front.values import Array, Known, Lazy, Number, Value, members, named_tuple
from ..loops.given import Given
from .captured import Lifted

__all__ = ["Read", "Recorded"]


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


class Read:
    """A function that is read, as code, where a function with loops calls it. `arguments(leaves)`
    are those behind time and state, by their floats."""

    def __init__(self, function: Callable, arguments: Callable[[Sequence], tuple]):
        self.function, self.arguments = function, arguments
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, t: Any, y: Any, *leaves: Any) -> Any:
        return self.function(t, y, *self.arguments(leaves))


def _row(function: Any, operands: Sequence[Value], named: Mapping[str, Value]) -> Callable | None:
    return {Recorded: _called, Read: _read}.get(type(function))


def _read(
    emit: FunctionBuilder, function: Read, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    t, y, *leaves = operands
    args = [_value(emit, x) for x in function.arguments(leaves)]
    code: Any = function.function
    operands = [t, y, *args]
    if isinstance(code, Lifted):
        code = code.at([Held(x) for x in members(operands.pop())])
    if isinstance(code, Held):  # an object with values
        code = _object(code).__call__
    elif isinstance(code, MethodType) and isinstance(code.__self__, Held):
        code = MethodType(code.__func__, _object(code.__self__))
    return call(emit, code, operands)


def _object(held: Held) -> Any:
    assert isinstance(held.value, Known)
    return held.value.value


def _value(emit: FunctionBuilder, x: Any) -> Any:
    """An argument, whose floats are values, as a value."""
    if isinstance(x, dict):
        return Known({key: Held(_value(emit, each)) for key, each in x.items()})
    if isinstance(x, (tuple, list)):
        parts = [_value(emit, each) for each in x]
        return named_tuple(type(x))(parts) if hasattr(x, "_fields") else tuple(parts)
    if isinstance(x, (Number, Array, Lazy)):
        return x
    if type(x).__module__ == "builtins" or not hasattr(x, "__dict__"):
        return outer_value(emit, x)
    return Known(
        Instance(type(x), {name: Held(_value(emit, each)) for name, each in vars(x).items()})
    )


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
