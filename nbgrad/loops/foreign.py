"""C functions of numbers in functions with loops: of ctypes, and of `numba.cfunc`."""

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.scalars import record_others
from ..compiler.front.syntax import Unsupported
from ..compiler.front.values import DOUBLE, Value
from ..kernels.scalar.library import foreign

__all__: list[str] = []

_C_FUNCTION = ctypes.CFUNCTYPE(None).__mro__[1]  # the class of functions of ctypes


def _row(function: Any, of_elements: bool) -> Callable | None:
    found = getattr(function, "ctypes", function)  # that of `numba.cfunc`
    if not isinstance(found, _C_FUNCTION):
        return None
    kinds = (found.restype, *(found.argtypes or ()))
    if found.argtypes is None or any(kind is not ctypes.c_double for kind in kinds):
        raise Unsupported(
            "a call of a C function: its argtypes and its restype must be ctypes.c_double"
        )
    if of_elements:
        raise Unsupported("a call of a C function with an array: give it numbers")
    place = ctypes.cast(found, ctypes.c_void_p).value
    assert place is not None
    return partial(_called, foreign(place, len(found.argtypes)), len(found.argtypes))


def _called(name: str, arity: int, emit: FunctionBuilder, *operands: Value) -> Value:
    if len(operands) != arity:
        raise Unsupported(f"a call of a C function of {arity} numbers with {len(operands)}")
    given = [emit.cast(x, DOUBLE).operand for x in operands]
    (found,) = emit.call(f"foreign {name}", given, [DOUBLE])
    return found


record_others(_row)
