"""Functions of Python as functions of the kernel IR, one for each set of types."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...ir.scalar import NAMES
from ...ir.statements import Address, Function, Literal, Operand, Pointer, Return
from ...runtime.lines import Line
from .argument_types import ArrayResult, ArrayType, Constant, kind_of
from .emit import FunctionBuilder, address_of
from .nested import Inner
from .syntax import Unsupported
from .values import (
    COMPLEX,
    COMPLEX_SINGLE,
    INT,
    KNOWN_0,
    Array,
    Complex,
    Known,
    Number,
    Pair,
    Place,
    Planes,
    Value,
    dtype_of,
    part_dtype,
    planes,
    rebuilt,
)

__all__ = [
    "ArrayResult",
    "ArrayType",
    "Constant",
    "Entry",
    "array_results",
    "entry_of",
    "flattened",
    "function_of",
    "kind_of",
    "parameter_names",
    "type_of",
    "written",
]


@dataclass(frozen=True)
class Entry:
    """A function, and its result: a dtype, an `ArrayResult`, a tuple of such, or None. `find` gives
    the functions of ours that scalar code in it calls, by name."""

    function: Function
    result: Any
    find: Callable[[str], Any] | None = None
    lines: Mapping[str, Line] = field(default_factory=dict, compare=False)
    """The lines that define names."""
    held: tuple[Any, ...] = field(default=(), compare=False)
    """Arrays from outside whose memory the function reads."""


_entries: WeakKeyDictionary[Any, dict[tuple, "Entry | Unsupported | None"]] = WeakKeyDictionary()


def function_of(function: Any, types: Sequence[Any]) -> Function:
    """The function of the kernel IR for a function of Python and the types of its arguments:
    dtypes, `Pointer`, `ArrayType`, `Constant`, tuples of types, or types of Numba.

    Raises Unsupported for anything outside of the subset of Python that is read.
    """
    kinds = tuple(map(kind_of, types))
    code = getattr(function, "__code__", None)
    if code and code.co_flags & inspect.CO_VARARGS and not hasattr(function, "row"):
        kinds = *kinds[: code.co_argcount], kinds[code.co_argcount :]
    return entry_of(function, kinds).function


def entry_of(function: Any, kinds: tuple) -> Entry:
    """The same with the tree of its results, read once for the types."""
    known = _entries.setdefault(function, {})
    if kinds in known:
        found = known[kinds]
        if found is None:
            raise Unsupported(f"{function.__name__}, which calls itself,")
        if isinstance(found, Unsupported):
            raise found
        return found
    known[kinds] = None
    try:
        known[kinds] = entry = _read(function, kinds)
    except Unsupported as refused:
        known[kinds] = refused
        raise
    except BaseException:
        del known[kinds]
        raise
    return entry


def _read(function: Any, kinds: tuple) -> Entry:
    from .results import OtherResult
    from .slots import UnsureRead
    from .walk import Walk  # which calls functions

    if (maker := getattr(function, "maker", None)) is not None:
        return maker.entry(kinds)
    inner = function if isinstance(function, Inner) else None
    outer = inner.names if inner else ()
    if inner:
        function = inner.at([KNOWN_0] * len(outer))
    if not isinstance(function, FunctionType) or hasattr(function, "row"):
        return _of_call(function, kinds)
    names = (*parameter_names(function), *outer)
    if len(names) != len(kinds):
        raise Unsupported("a call with another number of arguments")
    wanted: Any = ()
    noted: list[str] = []
    while True:
        emit = FunctionBuilder()
        parameters: list[tuple[str, Any]] = []
        arguments = [_parameter(emit, *each, parameters) for each in zip(names, kinds, strict=True)]
        if inner:
            count = len(arguments) - len(outer)
            function, arguments = inner.at(arguments[count:]), arguments[:count]
        walk = Walk(emit, function, arguments, result=wanted, noted=noted)
        try:
            body = walk.run()
            break
        except OtherResult as other:
            wanted = other.kind
        except UnsureRead as read:
            noted.append(read.name)
    emit.attributes |= getattr(function, "attributes", frozenset()) - {"part"}
    result = walk.result
    dtypes = tuple(_leaves(result))
    name = ".".join([function.__name__, *filter(None, map(_label, kinds))])
    parameters += _for_arrays(result)
    made = Function(name, tuple(parameters), (*emit.top, *body), dtypes, frozenset(emit.attributes))
    return Entry(made, result, lines=emit.lines, held=tuple(emit.held))


def parameter_names(function: FunctionType) -> tuple[str, ...]:
    """The parameters in the order in which a call binds them: a starred one is the last."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    return code.co_varnames[: count + bool(code.co_flags & inspect.CO_VARARGS)]


def _of_call(function: Any, kinds: tuple) -> Entry:
    """A function that only calls an instruction, or a function of `math`."""
    from .calls import call  # which calls functions

    own = getattr(function, "row", (getattr(function, "__name__", ""),))
    name = ".".join(map(str, own[:2]))
    write = lambda emit, *given: emit.typed(call(emit, function, given))  # noqa: E731
    return written(name, NAMES[: len(kinds)], kinds, write, frozenset(["inline"]))


def written(
    name: str, names: Sequence[str], kinds: Sequence[Any], write: Callable[..., Value],
    attributes: frozenset[str] = frozenset(),
) -> Entry:  # fmt: skip
    """The function whose body `write(emit, *arguments)` writes; it gives the result."""
    from .results import Results  # which has types of results

    emit = FunctionBuilder()
    parameters: list[tuple[str, Any]] = []
    arguments = [
        _parameter(emit, each, kind, parameters) for each, kind in zip(names, kinds, strict=True)
    ]
    results = Results(emit, ())
    emit.add(Return(tuple(results.numbers(write(emit, *arguments), False))))
    parameters += _for_arrays(result := results.kind)
    name = ".".join([name, *filter(None, map(_label, kinds))])
    body, dtypes = (*emit.top, *emit.body), tuple(_leaves(result))
    return Entry(Function(name, tuple(parameters), body, dtypes, attributes), result)


def _label(kind: Any) -> str:
    """A type in the name of a function."""
    match kind:
        case Pointer(dtype):
            return f"p{dtype.str[1:]}"
        case ArrayType(dtype, ndim, contiguous):
            return f"a{ndim}{'' if contiguous else 's'}{dtype.str[1:]}"
        case tuple():
            return "c" * isinstance(kind, Pair) + "".join(map(_label, kind))
        case np.dtype():
            return kind.str[1:]
    return ""


def _for_arrays(result: Any) -> list[tuple[str, Any]]:
    """The parameters for the arrays in a result."""
    made: list[tuple[str, Any]] = []
    for each in array_results(result):
        made.append((each.name, Pointer(each.kind.dtype)))
        made += [(f"{each.name}_n{i}", INT) for i in range(each.kind.ndim)]
    return made


def _leaves(result: Any) -> list[np.dtype]:
    if isinstance(result, tuple):
        return [leaf for part in result for leaf in _leaves(part)]
    return [result] if isinstance(result, np.dtype) else []


def array_results(result: Any) -> list[ArrayResult]:
    """The arrays in a result."""
    if isinstance(result, tuple):
        return [each for part in result for each in array_results(part)]
    return [result] if isinstance(result, ArrayResult) else []


def _parameter(
    emit: FunctionBuilder, name: str, kind: Any, parameters: list[tuple[str, Any]]
) -> Value:
    """The value of an argument of a type; `parameters` get what is passed at run time."""

    def passed(hint: str, kind: Any) -> str:
        own = emit.name(hint)
        parameters.append((own, kind))
        return own

    match kind:
        case Constant(value):
            return Known(value)
        case Planes():
            first = len(parameters)
            real, imag = (_parameter(emit, name, each, parameters) for each in kind)
            return _of_planes(real, imag, parameters, first)
        case tuple():
            return rebuilt(kind, [_parameter(emit, name, each, parameters) for each in kind])
        case Pointer(dtype):
            return Place(passed(name, kind), dtype)
        case ArrayType(dtype, ndim, contiguous, mutable, ones):
            place = Place(passed(name, Pointer(dtype)), dtype)
            lengths = [Number(passed(f"{name}_n{i}", INT), INT, True) for i in range(ndim)]
            one = Number(Literal(1, INT), INT, True)
            shape = tuple(one if i in ones else length for i, length in enumerate(lengths))
            if contiguous:
                return Array(place, shape, None, mutable)
            strides = tuple(Number(passed(f"{name}_s{i}", INT), INT) for i in range(ndim))
            return Array(place, shape, strides, mutable)
        case np.dtype():
            return Number(passed(name, kind), kind)
    raise Unsupported(f"an argument of {kind}")


def _of_planes(real: Any, imag: Any, parameters: list[tuple[str, Any]], first: int) -> Array:
    """A complex array of the parameters from a place on: the second buffer is named after the
    first."""
    name = real.place.buffer
    for i, (each, kind) in enumerate(parameters[first:], first):
        if each == imag.place.buffer:
            parameters[i] = f"{name}.imag", kind
    dtype = COMPLEX_SINGLE if real.place.dtype == part_dtype(COMPLEX_SINGLE) else COMPLEX
    return replace(real, place=replace(real.place, dtype=dtype))


def type_of(value: Value) -> Any:
    """The type of a value as an argument."""
    match value:
        case Number(dtype=dtype):
            return dtype
        case Place(dtype=dtype):
            return Pointer(dtype)
        case Array(place, shape, strides, mutable):
            ones = tuple(i for i, x in enumerate(shape) if x.operand == Literal(1, INT))
            if place.dtype.kind == "c":
                part = part_dtype(place.dtype)
                return Planes([ArrayType(part, len(shape), strides is None, mutable, ones)] * 2)
            return ArrayType(place.dtype, len(shape), strides is None, mutable, ones)
        case tuple():
            return rebuilt(value, map(type_of, value))
    if isinstance(value, Known) and value.is_complex:
        return Complex([part_dtype(dtype_of(value.value))] * 2)
    if not isinstance(value, Known):
        raise Unsupported("an argument that is a slice, or an array that is not in memory")
    return dtype_of(value.value) if value.is_number else Constant(value.value)


def flattened(emit: FunctionBuilder, value: Value) -> list[Address | Operand]:
    """The parts of an argument that are passed at run time."""
    match value:
        case Place():
            return [address_of(value)]
        case Array(place) if place.dtype.kind == "c":
            parts = [replace(value, place=each) for each in planes(place)]
            return [x for part in parts for x in flattened(emit, part)]
        case Array(place, shape, strides):
            numbers = [*shape, *(strides or ())]
            return [address_of(place), *(number.operand for number in numbers)]
        case tuple():
            return [part for each in value for part in flattened(emit, each)]
        case Known() if value.is_complex:
            parts = emit.cast(value, dtype_of(value.value))
            return [emit.typed(part).operand for part in parts]
        case Known() if not value.is_number:
            return []
    return [emit.typed(value).operand]
