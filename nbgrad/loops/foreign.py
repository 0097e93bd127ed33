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

__all__ = ["c_function", "place_of"]

_C_FUNCTION = ctypes.CFUNCTYPE(None).__mro__[1]  # the class of functions of ctypes


def c_function(function: Any) -> Any:
    """The function of ctypes, also that of `numba.cfunc`; None for any other object."""
    found = getattr(function, "ctypes", function)
    return found if isinstance(found, _C_FUNCTION) else None


def place_of(function: Any) -> int:
    """The address of a function of ctypes."""
    place = ctypes.cast(function, ctypes.c_void_p).value
    assert place is not None
    return place


def _row(function: Any, of_elements: bool) -> Callable | None:
    if (found := c_function(function)) is None:
        return None
    kinds = (found.restype, *(found.argtypes or ()))
    if found.argtypes is None or any(kind is not ctypes.c_double for kind in kinds):
        raise Unsupported(
            "a call of a C function: its argtypes and its restype must be ctypes.c_double, or "
            "among its argtypes there must be pointers to arrays"
        )
    if of_elements:
        raise Unsupported(
            "a call of a C function of numbers with an array: call it in a loop, or declare "
            "pointers in its argtypes"
        )
    name = foreign(place_of(found), len(found.argtypes))
    return partial(_called, name, len(found.argtypes))


def _called(name: str, arity: int, emit: FunctionBuilder, *operands: Value) -> Value:
    if len(operands) != arity:
        raise Unsupported(f"a call of a C function of {arity} numbers with {len(operands)}")
    given = [emit.cast(x, DOUBLE).operand for x in operands]
    (found,) = emit.call(f"foreign {name}", given, [DOUBLE])
    return found


record_others(_row)
