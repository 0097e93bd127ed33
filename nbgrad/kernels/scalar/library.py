"""Functions of SciPy inside of compiled code, by the C pointers of `scipy.special.cython_special`.

Machine code contains no addresses: it looks up that of a function at its first call and stores it,
so it can be cached on disk. SciPy is not imported before that call.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ...compiler.instruction import instruction
from ...errors import UnsupportedVersion
from ...runtime.kinds import is_a
from ...runtime.layout import prototype
from ...runtime.signals import held_back

__all__ = ["address", "foreign", "in_python", "of_scipy"]


_FOREIGN: dict[str, int] = {}


def foreign(place: int, arity: int) -> str:
    """The name, and the number of arguments, of a C function of doubles at an address."""
    for name, known in _FOREIGN.items():
        if known == place and name.endswith(f" {arity}"):
            return name
    name = f"c_{len(_FOREIGN)} {arity}"
    _FOREIGN[name] = place
    return name


def address(name: str) -> int:
    """Return the address of a function of doubles, whose name and number of arguments are given as
    `"jv 2"`: one of users, or of SciPy. Raises ImportError if SciPy lacks it."""
    if name in _FOREIGN:
        return _FOREIGN[name]
    with held_back():
        from scipy.special import cython_special  # here, as few programs ask

    label, arity = name.split()
    capsules = cython_special.__pyx_capi__
    signature = f"double ({'double, ' * int(arity)}int __pyx_skip_dispatch)".encode()
    # Of a function for several types there are numbered variants.
    for key in (label, *(f"__pyx_fuse_{i}{label}" for i in range(4))):
        if key in capsules and _signature(capsules[key]) == signature:
            return _pointer(capsules[key], signature)
    raise UnsupportedVersion(f"scipy.special.cython_special has no {label} of {arity} doubles")


_signature = prototype("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
_pointer = prototype("PyCapsule_GetPointer", ctypes.c_size_t, ctypes.py_object, ctypes.c_char_p)


def in_python(name: str) -> Callable:
    """SciPy's function `name` in plain Python: it computes with doubles, in the dtype of the
    arguments."""

    def function(*args):
        from scipy import special  # here, as only plain Python asks

        kind = next((type(arg) for arg in args if is_a(arg, np.generic)), float)
        return kind(getattr(special, name)(*map(float, args)))

    return function


def of_scipy(name: str, arity: int = 1) -> Any:
    """The function `name` of so many floats of one dtype; it computes with doubles."""
    return instruction(row=("scipy", name, arity))(in_python(name))
