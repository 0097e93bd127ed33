"""Calls of functions that are known at compile time."""

import builtins
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np
from numba.core import types

from . import dtypes, operators
from .arrays import in_memory
from .elements import attribute
from .emit import FunctionBuilder
from .functions import Entry, array_results, entry_of, flattened, type_of
from .syntax import Unsupported, definition_of
from .table import INSTRUCTIONS
from .values import BOOL, DOUBLE, INT, Known, Number, Value, members

__all__ = ["call", "read_in_place"]

_ROWS: dict[Any, str] = {
    abs: "abs", math.fabs: "abs", np.abs: "abs", math.sqrt: "sqrt", np.sqrt: "sqrt",
    math.copysign: "np.copysign", math.fmod: "np.fmod",
    **{getattr(np, name): f"np.{name}" for name in
       ("copysign", "floor", "ceil", "trunc", "rint", "isfinite", "signbit", "sign")},
}  # fmt: skip
"""Functions that are functions of scalar code by another name."""
_KEEP_INTEGERS = {"abs", "np.sign"}
_GIVE_BOOLS = {"np.isfinite", "np.signbit"}
_LIBRARY: dict[Any, str] = {
    getattr(module, name): f"libm {label}"
    for module, names in (
        (math, "acos acosh asin asinh atan atan2 atanh cos cosh erf erfc exp expm1 gamma hypot "
               "lgamma log log10 log1p log2 pow sin sinh tan tanh"),
        (np, "arccos=acos arccosh=acosh arcsin=asin arcsinh=asinh arctan=atan arctan2=atan2 "
             "arctanh=atanh cos cosh exp expm1 hypot log log10 log1p log2 power=pow sin sinh tan "
             "tanh exp2 cbrt"),
    )
    for name, _, label in ((*each.partition("=")[:2], each.rpartition("=")[2])
                           for each in names.split())
    if hasattr(module, name)
}  # fmt: skip
"""Functions of the C library."""
_QUOTIENTS = {np.fmod: "np.fmod", np.remainder: "modulo", np.mod: "modulo"}
_ROUNDED = {math.floor: "np.floor", math.ceil: "np.ceil", math.trunc: "np.trunc"}


def call(
    emit: FunctionBuilder, function: Any, operands: Sequence[Value],
    keywords: Mapping[str, Value] = MappingProxyType({}),
) -> Value:  # fmt: skip
    """A call of a function that is known at compile time."""
    from .array_calls import array_call  # which calls functions of numbers

    if (found := array_call(emit, function, operands, keywords)) is not None:
        return found
    if keywords:
        raise Unsupported(f"a call of {function!r} with keywords")
    operands = [in_memory(emit, x) for x in operands]
    if hasattr(function, "row"):
        return _instruction(emit, function, operands)
    if isinstance(function, FunctionType) and _is_ours(function):
        return _function(emit, function, operands)
    if function is builtins.min or function is builtins.max:
        return emit.extreme(function, operands)
    if function is builtins.len and len(operands) == 1:
        return members(attribute(emit, operands[0], "shape"))[0]
    if len(operands) == 1 and (dtype := _dtype_of_class(function)) is not None:
        return _converted(emit, operands[0], dtype)
    try:
        return _of_numbers(emit, function, operands)
    except TypeError:  # not hashable
        raise Unsupported(f"a call of {function!r}") from None


def _is_ours(function: FunctionType) -> bool:
    return hasattr(function, "attributes") or function.__module__.startswith("nbgrad.")


def _of_numbers(emit: FunctionBuilder, function: Any, operands: Sequence[Value]) -> Value:
    """A function of `math` or NumPy."""
    if function in _ROUNDED:
        x = emit.cast(operands[0], DOUBLE)
        return emit.cast(emit.applied(_ROUNDED[function], [x], DOUBLE), INT)
    if function is math.isnan or function is np.isnan:
        x = _floats(emit, operands)[0]
        return emit.applied("not_equal", [x, x], BOOL)
    if function is math.isinf or function is np.isinf:
        x = emit.applied("abs", _floats(emit, operands), emit.dtype(_floats(emit, operands)[0]))
        return emit.applied("equal", [x, emit.cast(Known(math.inf), x.dtype)], BOOL)
    if function in _QUOTIENTS:
        return _remainder(emit, _QUOTIENTS[function], operands)
    name = _ROWS.get(function) or ("np.isfinite" if function is math.isfinite else None)
    if function is abs and emit.dtype(operands[0]) == BOOL:  # Python's is that of an integer
        operands = [emit.cast(operands[0], INT)]
    if name in _KEEP_INTEGERS and emit.dtype(operands[0]).kind != "f":
        return emit.applied(name, [emit.typed(operands[0])], emit.dtype(operands[0]))
    if name is not None:
        given = _floats(emit, operands)
        return emit.applied(name, given, BOOL if name in _GIVE_BOOLS else given[0].dtype)
    if function in _LIBRARY:
        given = _floats(emit, operands)
        return emit.call(_LIBRARY[function], [x.operand for x in given], [given[0].dtype])[0]
    raise Unsupported(f"a call of {function!r}")


def _remainder(emit: FunctionBuilder, name: str, operands: Sequence[Value]) -> Value:
    """np.fmod or np.remainder, which keep the dtype of integers."""
    dtype = emit.common(operands)
    dtype = np.dtype(np.int8) if dtype == BOOL else dtype
    both = [emit.cast(operand, dtype) for operand in operands]
    if dtype.kind == "f" and name == "modulo":
        return called(emit, entry_of(operators.modulo, (dtype, dtype)), both)
    return emit.applied(name, both, dtype)


def _floats(emit: FunctionBuilder, operands: Sequence[Value]) -> list[Number]:
    """Numbers as floats of one dtype."""
    dtype = emit.dtype(operands[0])
    for operand in operands[1:]:
        dtype = dtypes.operand_dtypes(_PLUS, dtype, emit.dtype(operand))[0]
    dtype = dtype if dtype.kind == "f" else DOUBLE
    return [emit.cast(operand, dtype) for operand in operands]


def _PLUS(x: Any, y: Any) -> Any:  # any arithmetic
    return x + y


def _dtype_of_class(function: Any) -> np.dtype | None:
    """The dtype that a function converts to."""
    if isinstance(function, types.Type):
        return np.dtype("bool" if function == types.boolean else str(function))
    if isinstance(function, type):
        if function in (bool, int, float):
            return np.dtype(function)
        if issubclass(function, np.generic):
            return np.dtype(function)
    return None


def _converted(emit: FunctionBuilder, value: Value, dtype: np.dtype) -> Value:
    if dtype == BOOL:
        return emit.truth(value)
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
    """A function of ours."""
    operands = _filled(function, operands)
    if "part" in getattr(function, "attributes", ()) and definition_of(function).ends_once:
        return read_in_place(emit, function, operands)
    entry = entry_of(function, tuple(map(type_of, operands)))
    if array_results(entry.result):
        return read_in_place(emit, function, operands)
    return called(emit, entry, operands)


def read_in_place(
    emit: FunctionBuilder, function: FunctionType, operands: Sequence[Value]
) -> Value:
    """The result of a function, which is read in the place of its call."""
    from .walk import Walk  # which reads calls

    if not definition_of(function).ends_once:
        raise Unsupported(
            f"{function.__name__}, which returns an array from several places: return it at the end"
        )
    walk = Walk(emit, function, operands, inlined=True)
    walk.run()
    return Known(None) if walk.result is None else walk.result


def called(emit: FunctionBuilder, entry: Entry, operands: Sequence[Value]) -> Value:
    """A call of a function of the IR."""
    arguments = [part for operand in operands for part in flattened(emit, operand)]
    numbers = iter(emit.call(entry.function, arguments, entry.function.results))

    def tree(result: Any) -> Value:
        if isinstance(result, tuple):
            return tuple(map(tree, result))
        return Known(None) if result is None else next(numbers)

    return tree(entry.result)


def _filled(function: Callable, operands: Sequence[Value]) -> list[Value]:
    """The arguments with defaults, and with those that a starred parameter takes as one."""
    code = function.__code__
    rest = tuple(operands[code.co_argcount :])
    takes_rest = bool(code.co_flags & inspect.CO_VARARGS)
    if rest and not takes_rest:
        raise Unsupported("a call with too many arguments")
    operands = operands[: code.co_argcount]
    missing, defaults = code.co_argcount - len(operands), function.__defaults__ or ()
    if missing > len(defaults):
        raise Unsupported("a call with arguments left out")
    filled = [*operands, *map(Known, defaults[len(defaults) - missing :])]
    return [*filled, rest] if takes_rest else filled
