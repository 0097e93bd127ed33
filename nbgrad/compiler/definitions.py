"""Functions of ours for code that Numba compiles, defined when Numba asks for their types.

Our front end compiles a function of numbers, which is applied to the elements of arrays; Numba
compiles the Python function that stands for one of arrays.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numba
from numba.core import errors, types

from ..errors import coded
from .front.argument_types import Constant, kind_of, kind_of_any
from .front.binding import stand_in
from .front.calls import call
from .front.emit import FunctionBuilder
from .front.functions import Entry, written
from .front.scalars import other_row
from .front.syntax import Unsupported
from .front.values import KNOWN_0, Value
from .kernel import function_of, linked
from .numba_api import cpu_target, overload, typeof_impl

__all__ = [
    "Made", "answer_types", "bound", "holder", "linked_function", "of_device", "of_python",
    "overloaded",
]  # fmt: skip


def answer_types(type_of: Callable[[Any], Any]) -> None:
    """Have Numba ask `type_of(value)` for the types of values that it does not know."""
    before = typeof_impl.dispatch(object)

    def asked(value: Any, context: Any) -> Any:
        own = before(value, context)
        return type_of(value) if own is None else own

    typeof_impl.register(object)(asked)


# Types of Numba do not keep these functions.
_compiled, _linked = cache(numba.njit), cache(linked)


def of_python(function: Callable) -> Any:
    """The type of a Python function that Numba compiles."""
    return types.Dispatcher(_compiled(function))


def of_device(function: Callable) -> Any:
    """The type of a function of numbers that our front end reads."""
    return types.Dispatcher(_linked(function))


def holder(value: Any) -> Any:
    """The type of an object whose attributes are functions."""
    return types.Module(value)


@cache
def overloaded(function: Any, find: Callable[[str], Any], of_arrays: Callable) -> Any:
    """The type of a function that gets a definition for the types of its arguments. `find` gives
    the functions of ours that it calls, by name; `of_arrays` the definition of a call with arrays.
    """

    def definition(*operands: Any, **named: Any) -> Callable:
        try:
            return _definition(function, find, operands, named, of_arrays)
        except Unsupported as refused:
            raise errors.TypingError(
                coded(
                    f"{function.__name__} in @njit code: {refused}; call it for numbers, in a "
                    "loop, or outside of @njit",
                    "NB-LOOP",
                )
            ) from refused

    def key() -> None: ...

    key.__name__ = key.__qualname__ = function.__name__
    overload(key, strict=False)(definition)
    context: Any = cpu_target.typing_context
    context.refresh()
    return context.resolve_value_type(key)


def _definition(
    function: Any, find: Callable, operands: Sequence[Any], named: Mapping[str, Any],
    of_arrays: Callable,
) -> Callable:  # fmt: skip
    """The Python function that Numba compiles for a call with arguments of these types."""
    given = [*operands, *named.values()]
    names = [*(f"x{i}" for i in range(len(operands))), *named]
    python = _of_arrays(function, names, [kind_of_any(x) for x in given], [*named])
    if python is not None:
        passed = [f"{name}={name}" if name in named else name for name in names]
        return _calling(names, passed, _compiled(python))
    is_array = any(isinstance(x, types.Array) for x in given)
    if not other_row(function, is_array):
        return of_arrays(function, operands, named)
    try:
        return _of_elements(function, find, names, given, [*named])
    except Unsupported as refused:
        if not is_array:
            raise
        try:
            return of_arrays(function, operands, named)
        except Unsupported:
            raise refused from None


def _of_elements(
    function: Any, find: Callable, names: Sequence[str], given: Sequence[Any], named: Sequence[str]
) -> Callable:
    """The function of numbers, or of the elements of arrays."""
    is_array = any(isinstance(x, types.Array) for x in given)
    kinds = [kind_of(x.dtype if isinstance(x, types.Array) else x) for x in given]
    numbers = [
        name for name, kind in zip(names, kinds, strict=True) if not isinstance(kind, Constant)
    ]
    entry = _of_numbers(function, names, kinds, named)
    maker = Made(function.__name__, numbers, Entry(entry.function, entry.result, find))
    target = linked_function(maker)
    if is_array:
        target = numba.vectorize(_calling(numbers, numbers, target))
    return _calling(names, numbers, target)


def _of_arrays(
    function: Any, names: Sequence[str], kinds: Sequence[Any], named: Sequence[str]
) -> Callable | None:
    """The Python function that stands for a function; None for most."""
    read: list[Any] = []

    def write(emit: FunctionBuilder, *given: Value) -> Value:
        read.append(stand_in(function, *bound(given, named)))
        return KNOWN_0

    written("call", names, kinds, write)
    return None if read[0] is function else read[0]


def _of_numbers(
    function: Any, names: Sequence[str], kinds: Sequence[Any], named: Sequence[str]
) -> Entry:
    """A call with numbers, some of which are constants, as a function of the others."""

    def write(emit: FunctionBuilder, *given: Value) -> Value:
        return call(emit, function, *bound(given, named))

    return written(function.__name__, names, kinds, write)


def bound(
    given: Sequence[Value], named: Sequence[str]
) -> tuple[Sequence[Value], Mapping[str, Value]]:
    """The arguments by position, and those by name."""
    count = len(given) - len(named)
    return given[:count], dict(zip(named, given[count:], strict=True))


def linked_function(maker: "Made") -> Any:
    """A function of the kernel IR that code which Numba compiles calls."""
    return linked(function_of(maker))


class Made:
    """A function of the kernel IR with a name and parameters."""

    def __init__(self, name: str, types: Sequence[str], entry: Entry):
        self.name, self.types, self._entry = name, types, entry

    def __repr__(self) -> str:
        return repr(self._entry.function)

    def entry(self, kinds: Sequence[Any]) -> Entry:
        return self._entry


def _calling(parameters: Sequence[str], given: Sequence[str], target: Any) -> Any:
    """A function that calls another one."""
    scope = {"target": target}
    exec(f"def call({', '.join(parameters)}): return target({', '.join(given)})", scope)
    return scope["call"]
