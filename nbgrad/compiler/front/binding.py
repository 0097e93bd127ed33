"""Functions of users, and the arguments of their calls."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from .functions import parameter_names
from .nested import Held
from .syntax import Unsupported
from .values import Known, Value

__all__ = ["bound", "python_function", "stand_in", "stand_in_by", "unwrap_by"]


_stand_ins: list[Callable[..., Callable | None]] = []


def stand_in_by(find: Callable[..., Callable | None]) -> None:
    """Have calls of functions read as those of others: `find(function, operands, named)`."""
    _stand_ins.append(find)


def stand_in(function: Any, operands: Sequence[Value], named: Mapping[str, Value]) -> Any:
    """The function that is read for a call: as a rule, the function itself."""
    others = (find(function, operands, named) for find in _stand_ins)
    return next((x for x in others if x is not None), function)


_inside: list[Callable[[Any], Any]] = []


def unwrap_by(inside: Callable[[Any], Any]) -> None:
    """Have `inside(function)` asked for the Python function of an object; None for any other."""
    _inside.append(inside)


def python_function(function: Any) -> FunctionType | None:
    """The Python function of a function, or of one that Numba or another room compiles."""
    if isinstance(function, FunctionType):
        return function
    inner = getattr(function, "py_func", None)
    for inside in _inside:
        inner = inner or inside(function)
    return inner if isinstance(inner, FunctionType) else None


def bound(
    function: FunctionType, operands: Sequence[Value], named: Mapping[str, Value]
) -> list[Value]:
    """The values of the parameters, in the order of `parameter_names`."""
    code, name = function.__code__, function.__name__
    count = code.co_argcount
    if code.co_flags & inspect.CO_VARKEYWORDS:
        raise Unsupported(f"a call of {name}, which takes any keywords")
    takes_rest = bool(code.co_flags & inspect.CO_VARARGS)
    if len(operands) > count and not takes_rest:
        raise Unsupported(f"a call of {name} with too many arguments")
    names = parameter_names(function)
    numbers = names[: count + code.co_kwonlyargcount]
    given: dict[str, Value] = dict(zip(numbers[:count], operands, strict=False))
    for keyword, value in named.items():
        if keyword not in numbers[code.co_posonlyargcount :] or keyword in given:
            raise Unsupported(f"a call of {name} with the argument {keyword}")
        given[keyword] = value
    defaults = function.__defaults__ or ()
    filled = dict(zip(numbers[count - len(defaults) : count], defaults, strict=True))
    filled |= function.__kwdefaults__ or {}
    for parameter in numbers:
        if parameter not in given and parameter not in filled:
            raise Unsupported(f"a call of {name} without the argument {parameter}")
    found = [given[x] if x in given else _default(filled[x]) for x in numbers]
    return [*found, tuple(operands[count:])] if takes_rest else found


def _default(x: Any) -> Value:
    return x.value if isinstance(x, Held) else Known(x)
