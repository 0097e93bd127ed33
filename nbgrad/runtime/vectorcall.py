"""Machine code with CPython's vectorcall signature as built-in functions."""

import ctypes
from collections.abc import Callable

from .layout import prototype

__all__ = ["FASTCALL", "Definition", "builtin"]

FASTCALL = 0x80 | 0x02  # with keywords
_POINTER = ctypes.c_void_p


class Definition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_new_function = prototype(
    "PyCFunction_NewEx", ctypes.py_object, _POINTER, ctypes.py_object, _POINTER
)


def builtin(name: str, address: int, own: tuple) -> Callable:
    """Wrap the C function at an address as a built-in function whose `self` is `own`.

    CPython keeps the address of the method definition and a reference to `own`, so a reference to
    the method definition is added to `own`.
    """
    definition = Definition(name.encode(), address, FASTCALL, None)
    return _new_function(ctypes.addressof(definition), (*own, definition), None)
