"""Calls of functions that are known at compile time."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import FunctionType, MappingProxyType, MethodType
from typing import Any

import numpy as np
from numba.core import types

from ...ir.statements import Address, Call, Function, Raise, Store
from ...ir.walk import walk
from . import arithmetic as arithmetic
from .arrays import in_memory, is_array
from .binding import bound, python_function, stand_in
from .complex_numbers import is_complex
from .elementwise import each_element
from .emit import FunctionBuilder
from .functions import Entry, array_results, entry_of, flattened, type_of
from .nested import Inner, Instance, holds_values
from .outputs import output_of, with_output
from .overloads import definition
from .refusals import described, real_needed
from .scalars import other_row, scalar_arguments, scalar_row
from .single_return import with_one_return
from .syntax import Unsupported, definition_of
from .table import INSTRUCTIONS
from .values import BOOL, COMPLEX, COMPLEX_SINGLE, Known, Value, named_tuple, rebuilt

__all__ = ["call", "called", "defined", "not_read", "read_in_place", "record_arrays"]

_recorders: list[Callable[..., Callable[..., Value] | None]] = []


def record_arrays(find: Callable[..., Callable[..., Value] | None]) -> None:
    """Have calls that this room does not take written by `find(function, operands, named)`, a
    function of the builder and of these."""
    _recorders.append(find)


_not_read: set[Callable[..., Value]] = set()


def not_read(write: Callable[..., Value]) -> Callable[..., Value]:
    """Decorator: the writer of calls of functions that this room does not read."""
    _not_read.add(write)
    return write


def call(
    emit: FunctionBuilder, function: Any, operands: Sequence[Value],
    named: Mapping[str, Value] = MappingProxyType({}),
) -> Value:  # fmt: skip
    """A call of a function that is known at compile time."""
    if (given := output_of(function, operands, named)) is not None:
        out, rest, others = given
        made = partial(call, emit, function, rest, others)
        return with_output(emit, function, out, made, "out" in named)
    others = [other for find in _recorders if (other := find(function, operands, named))]
    if not others:
        return _call(emit, function, operands, named)
    first = next((x for x in others if x in _not_read), None)
    if first is not None and stand_in(function, operands, named) is function:
        return first(emit, function, operands, named)
    held = emit.mark()
    try:
        return _call(emit, function, operands, named)
    except Unsupported as refused:
        for other in others:
            emit.reset(held)
            try:
                return other(emit, function, operands, named)
            except Unsupported as unfit:
                refused.__cause__ = unfit
                is_wrapper = str(refused).endswith("which takes any keywords")
                if is_wrapper or str(unfit).startswith(f"{refused}: "):  # it says why
                    refused = unfit
        emit.reset(held)
        raise refused


def _call(
    emit: FunctionBuilder, function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    from .array_calls import array_call  # which calls functions of numbers
    from .complex_calls import complex_call  # which calls functions of real numbers

    function = stand_in(function, operands, named)
    if (found := complex_call(emit, function, operands, named)) is not None:
        return found
    row = scalar_row(function)
    if row is None or any(map(is_array, operands)):
        if (found := array_call(emit, function, operands, named)) is not None:
            return found
    has_arrays = any(map(is_array, [*operands, *named.values()]))
    if row is None and (other := other_row(function, has_arrays)) is not None:
        return _each(emit, other, operands, named, has_arrays)
    operands = [in_memory(emit, x) for x in operands]
    named = {name: in_memory(emit, x) for name, x in named.items()}
    if hasattr(function, "row"):
        if named:
            raise Unsupported(f"a call of {function.__name__} with keywords")
        return _instruction(emit, function, operands)
    if row is not None:
        return row(emit, *scalar_arguments(function, operands, named))
    if isinstance(function, Inner):
        return _inner(emit, function, operands, named)
    if isinstance(function, MethodType) and isinstance(function.__self__, Instance):
        return _call(emit, function.__func__, [Known(function.__self__), *operands], named)
    if str(getattr(function, "__module__", "")).startswith("numba."):  # perhaps a stub
        return defined(emit, function, operands, named)
    if (python := python_function(function)) is not None:
        return _function(emit, python, bound(python, operands, named))
    if isinstance(function, type) and hasattr(function, "_fields"):
        return _named_tuple(function, operands, named)
    if not named and len(operands) == 1 and (dtype := _dtype_of_class(function)) is not None:
        return _converted(emit, operands[0], function, dtype)
    return defined(emit, function, operands, named)


def defined(
    emit: FunctionBuilder, function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    """A function that Numba defines in Python."""
    operands = [in_memory(emit, x) for x in operands]
    python = definition(function, operands, named)
    if python is None:
        raise Unsupported(described(function))
    try:
        found = _function(emit, python, bound(python, operands, named))
    except (Unsupported, ImportError) as refused:
        raise Unsupported(described(function)) from refused
    last = emit.body[-1] if emit.body else None
    if isinstance(last, Call) and isinstance(last.function, Function):
        if any(isinstance(x, Raise) for x in last.function.body):
            raise Unsupported(described(function))  # for all such arguments
    return found


def _each(
    emit: FunctionBuilder, row: Callable[..., Value], operands: Sequence[Value],
    named: Mapping[str, Value], of_elements: bool,
) -> Value:  # fmt: skip
    """A function of numbers, or of the elements of arrays."""

    def compute(*xs: Value) -> Value:
        count = len(operands)
        return row(emit, *xs[:count], **dict(zip(named, xs[count:], strict=True)))

    every = [*operands, *named.values()]
    return each_element(emit, compute, every) if of_elements else compute(*every)


def _named_tuple(kind: Any, operands: Sequence[Value], named: Mapping[str, Value]) -> Value:
    fields = kind._fields
    given = {**dict(zip(fields, operands, strict=False)), **named}
    defaults = {name: Known(x) for name, x in kind._field_defaults.items()}
    whole = {**defaults, **given}
    if len(operands) > len(fields) or set(whole) != set(fields):
        raise Unsupported(f"a call of {kind.__name__} with other arguments than its fields")
    return named_tuple(kind)(whole[name] for name in fields)


def _dtype_of_class(function: Any) -> np.dtype | None:
    """The dtype that a function converts to."""
    if isinstance(function, types.Type):
        return np.dtype("bool" if function == types.boolean else str(function))
    if isinstance(function, type):
        if function in (bool, int, float, complex):
            return np.dtype(function)
        if issubclass(function, np.generic):
            return np.dtype(function)
    return None


def _converted(emit: FunctionBuilder, value: Value, function: Any, dtype: np.dtype) -> Value:
    if dtype == BOOL:
        return emit.truth(value)
    if dtype in (COMPLEX, COMPLEX_SINGLE):
        return emit.cast(value, dtype)
    if is_complex(value):
        raise Unsupported(real_needed(f"an argument of {function.__name__}"))
    if function is int and emit.dtype(value).kind in "iu":  # Numba keeps the type of an integer
        return value
    if dtype.kind not in "iuf" or dtype.itemsize not in (1, 2, 4, 8) or dtype == np.float16:
        raise Unsupported(f"a number of dtype {dtype}")
    if isinstance(value, Known) and value.is_number and dtype.kind in "iu":
        return emit.cast(Known(int(value.value)), dtype)
    return emit.cast(value, dtype)


def _instruction(emit: FunctionBuilder, function: Any, operands: Sequence[Value]) -> Value:
    name, *parameters = function.row
    if isinstance(name, FunctionType):
        return called(emit, entry_of(name, tuple(map(type_of, operands))), operands)
    if name not in INSTRUCTIONS:
        raise Unsupported(f"the instruction {name}")
    return INSTRUCTIONS[name](emit, *parameters, *operands)


def _function(emit: FunctionBuilder, function: FunctionType, operands: Sequence[Value]) -> Value:
    """A function of Python."""
    if not function.__module__.startswith("nbgrad."):
        try:
            definition_of(function)
        except ImportError:
            raise Unsupported(
                f"a call of {function.__name__}, whose source is not found: define it with def"
            ) from None
    if "part" in getattr(function, "attributes", ()) and definition_of(function).ends_once:
        return read_in_place(emit, function, operands)
    known = [x.value for x in operands if isinstance(x, Known)]
    if any(map(holds_values, [function, *known])):
        return read_in_place(emit, function, operands)
    entry = entry_of(function, tuple(map(type_of, operands)))
    if array_results(entry.result):
        return read_in_place(emit, function, operands)
    return called(emit, entry, operands)


def _inner(
    emit: FunctionBuilder, function: Inner, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    """A function that is defined inside of a function."""
    outer = function.captured()
    python = function.at(outer)
    operands = [*bound(python, operands, named), *outer]
    entry = entry_of(function, tuple(map(type_of, operands)))
    if array_results(entry.result):
        return read_in_place(emit, python, operands[: len(operands) - len(outer)])
    return called(emit, entry, operands)


def read_in_place(
    emit: FunctionBuilder, function: FunctionType, operands: Sequence[Value]
) -> Value:
    """The result of a function, which is read in the place of its call."""
    from .slots import UnsureRead
    from .walk import Walk  # which reads calls

    found = with_one_return(function)
    if found is None:
        raise Unsupported(
            f"{function.__name__}, which returns an array in some cases only, or in the else of a "
            "loop: return it at the end"
        )
    mark, writes, noted = emit.mark(), emit.writes.mark(), []
    while True:
        walk = Walk(emit, function, operands, inlined=found, noted=noted)
        try:
            walk.run()
        except UnsureRead as read:
            noted.append(read.name)
            emit.reset(mark)
            emit.writes.restore(writes)
        else:
            return Known(None) if walk.result is None else walk.result


@cache
def written_buffers(function: Function) -> frozenset[str]:
    """The pointers through which a function may write."""
    found: set[Any] = set()
    for each in walk(function.body):
        if isinstance(each, Store):
            found.add(each.buffer)
        elif isinstance(each, Call):
            found.update(_written_by(each.function, each.arguments))
    return frozenset(found)


def _written_by(function: Any, arguments: Sequence[Any]) -> list[Any]:
    """The pointers among the arguments of a call through which it may write."""
    if not isinstance(function, Function):
        return [x.buffer for x in arguments if isinstance(x, Address)]
    written = written_buffers(function)
    return [
        argument.buffer
        for (name, _), argument in zip(function.parameters, arguments, strict=True)
        if isinstance(argument, Address) and name in written
    ]


def called(emit: FunctionBuilder, entry: Entry, operands: Sequence[Value]) -> Value:
    """A call of a function of the IR."""
    arguments = [part for operand in operands for part in flattened(emit, operand)]
    for buffer in _written_by(entry.function, arguments):
        emit.writes.note(str(buffer))
    numbers = iter(emit.call(entry.function, arguments, entry.function.results))

    def tree(result: Any) -> Value:
        if isinstance(result, tuple):
            return rebuilt(result, map(tree, result))
        return Known(None) if result is None else next(numbers)

    return tree(entry.result)
