"""C functions of arrays in functions with loops: of ctypes, and of `numba.cfunc`.

Such a function is called with `x.ctypes`, as in Numba, or with x. It may read and write all
elements of contiguous arrays, but only reads those that are read-only, as the arguments of a
`custom_rule` are for its functions.
"""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..compiler.front.arrays import count_of, fresh, in_memory, nest, number, position_of
from ..compiler.front.calls import not_read, record_arrays
from ..compiler.front.emit import FunctionBuilder, address_of
from ..compiler.front.functions import written
from ..compiler.front.syntax import Unsupported
from ..compiler.front.values import DOUBLE, INT, KNOWN_1, Array, Known, Method, Number, Value
from ..ir.affine import ZERO
from ..ir.library import FOREIGN
from ..ir.reductions import SUM
from ..ir.statements import Call, Function, Literal, Pointer, Store
from ..kernels.scalar.library import foreign
from .foreign import c_function, place_of
from .library import declare_foreign, with_call

__all__: list[str] = []

_NUMBERS = frozenset(map(np.dtype, ("f8", "f4", "i4", "i8", "u4", "u8")))


def _row(function: Any, operands: Sequence[Value], named: Mapping[str, Value]) -> Callable | None:
    kinds = getattr(c_function(function), "argtypes", None) or ()
    return _called if any(map(_is_pointer, kinds)) else None


def _is_pointer(kind: Any) -> bool:
    is_typed = isinstance(kind, type) and issubclass(kind, ctypes._Pointer)
    return is_typed or kind is ctypes.c_void_p


def _element(kind: Any) -> np.dtype | None:
    """The dtype of the elements behind a pointer; None where any will do."""
    return None if kind is ctypes.c_void_p else np.dtype(kind._type_)


@not_read
def _called(
    emit: FunctionBuilder, function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    """A call of a C function."""
    found: Any = c_function(function)
    name = str(getattr(found, "__name__", None) or "a C function")
    if named or len(operands) != len(found.argtypes):
        raise Unsupported(f"a call of {name} with other arguments than its argtypes")
    if found.restype not in (None, ctypes.c_double):
        raise Unsupported(f"a call of {name}: its restype must be None or ctypes.c_double")
    arrays: list[Array] = []
    floats: list[Number] = []
    whole: list[Number] = []
    arguments: list[_Argument] = []
    for x, kind in zip(operands, found.argtypes, strict=True):
        if _is_pointer(kind):
            arguments.append(_Argument("array", len(arrays)))
            arrays.append(_array(emit, x, kind, name))
        elif issubclass(kind, ctypes._SimpleCData) and np.dtype(kind) in _NUMBERS:
            given = emit.cast(x, np.dtype(kind))
            is_float = given.dtype.kind == "f"
            target = floats if is_float else whole
            arguments.append(_Argument("float" if is_float else "whole", len(target), given.dtype))
            target.append(given)
        else:
            raise Unsupported(f"a call of {name}: an argument of {kind.__name__}")
    result = fresh(emit, [number(1)], DOUBLE)
    if found.restype:
        emit.store(result.place, ZERO, Known(0.0))
        arrays.append(result)
    if not any(x.mutable for x in arrays):
        raise Unsupported(f"a call of {name}, which gives no number, with read-only arrays")
    if floats:
        given = fresh(emit, [number(len(floats))], DOUBLE)
        for i, x in enumerate(floats):
            emit.store(given.place, position_of(emit, [KNOWN_1], [number(i)]), x)
        arrays.append(replace(given, mutable=False))
    function = _wrapper(foreign(place_of(found), len(operands)), found.restype, arguments, arrays,
                        [x.dtype for x in whole])  # fmt: skip
    _add(emit, arrays, [Literal(declare_foreign(function), INT), *(x.operand for x in whole)])
    return emit.load(result.place, ZERO) if found.restype else Known(None)


class _Argument(NamedTuple):
    """An argument of a C function: which array, float or whole number it is."""

    of: str
    place: int
    dtype: np.dtype = DOUBLE


def _wrapper(
    name: str, has_result: Any, arguments: Sequence[_Argument], arrays: Sequence[Array],
    whole: Sequence[np.dtype],
) -> Function:  # fmt: skip
    """A function of the arrays, those that it writes first, and of whole numbers."""
    count = len(arrays)
    ordered = sorted(arrays, key=lambda x: not x.mutable)

    def write(emit: FunctionBuilder, *given: Any) -> Value:
        places = [given[next(i for i, y in enumerate(ordered) if y is x)] for x in arrays]
        passed: list[Any] = []
        for each in arguments:
            if each.of == "array":
                passed.append(address_of(places[each.place]))
            elif each.of == "whole":
                passed.append(given[count + each.place].operand)
            else:
                x = emit.load(places[-1], position_of(emit, [KNOWN_1], [number(each.place)]))
                passed.append(emit.cast(x, each.dtype).operand)
        found = emit.call(f"foreign {name}", passed, [DOUBLE] if has_result else [])
        if found:
            emit.store(places[len([x for x in arguments if x.of == "array"])], ZERO, found[0])
        return Known(None)

    names = [f"p{i}" for i in range(count)] + [f"n{i}" for i in range(len(whole))]
    kinds = [*(Pointer(x.place.dtype) for x in ordered), *whole]
    made = written("c_function", names, kinds, write).function
    return replace(made, attributes=made.attributes | {"noinline"})


def _add(emit: FunctionBuilder, arrays: Sequence[Array], rest: Sequence[Any]) -> None:
    """The call, and loops that say that it reads and writes all elements."""
    ordered = sorted(arrays, key=lambda x: not x.mutable)
    changed = [x for x in ordered if x.mutable]
    counts = [emit.typed(emit.settled(emit.typed(count_of(emit, x.shape)))) for x in ordered]

    def at(index: Value) -> Any:
        return position_of(emit, [KNOWN_1], [index])

    for x, count in zip(changed, counts, strict=False):
        emit.writes.note(x.place.buffer)
        with nest(emit, [count]) as (i,):  # where its old elements are recorded
            emit.store(x.place, at(i), emit.load(x.place, at(i)))
    with nest(emit, counts[:1]) as (first,):
        for x, count in zip(changed, counts, strict=False):
            with nest(emit, [] if x is changed[0] else [count]) as own:
                for y, length in zip(ordered, counts, strict=True):
                    with nest(emit, [length]) as (k,):
                        value = emit.cast(emit.load(y.place, at(k)), x.place.dtype)
                        here = x.place.at.plus(at(own[0] if own else first))
                        emit.add(Store(x.place.buffer, here, value.operand, x.place.dtype, SUM))
    number_of_changed = Literal(len(changed), INT)
    number_of_function, *others = rest
    addresses = [address_of(x.place) for x in ordered]
    with_call(emit, Call(FOREIGN, (*addresses, number_of_function, number_of_changed, *others)))


def _array(emit: FunctionBuilder, value: Value, kind: Any, name: str) -> Array:
    """The array of an argument, `x` or `x.ctypes`."""
    inner = getattr(value, "value", None)
    if isinstance(inner, Method) and inner.name == "ctypes":
        value = inner.holder
    value = in_memory(emit, value)
    if not isinstance(value, Array):
        raise Unsupported(f"a call of {name} with a number where it takes a pointer")
    if value.strides is not None or value.place.dtype.kind == "c":
        raise Unsupported(
            f"a call of {name} with an array that is not contiguous, or complex: give it a copy"
        )
    element = _element(kind)
    if element is not None and element != value.place.dtype:
        raise Unsupported(f"a call of {name} with an array of {value.place.dtype}, not {element}")
    return value


record_arrays(_row)
