"""nbgrad's functions in code that Numba compiles: which ones Numba knows, and how."""

import sys
from functools import partial
from typing import Any

import numpy as np

from ..compiler.array_definitions import of_arrays
from ..compiler.definitions import answer_types, holder, of_device, of_python, overloaded
from ..compiler.front.array_calls import FUNCTIONS
from ..compiler.front.binding import python_function
from ..compiler.front.scalars import other_row
from ..errors import ArgumentError
from ..static.function import StaticFunction
from ..transforms.custom import CustomRule
from ..transforms.elementwise import UserElementwise
from .library import with_library
from .rows import found
from .shapes import shape_function

__all__: list[str] = []

_of_arrays = partial(of_arrays, shape_function, with_library, found)


def _type_of(value: Any) -> Any:
    """The type of a value of ours; None for any other."""
    home = f"{getattr(value, '__module__', '')}."
    if isinstance(value, (CustomRule, StaticFunction)):
        python = python_function(value) or python_function(value.function)
        if python is None and isinstance(value, StaticFunction):
            raise ArgumentError(
                "Numba calls the program of a compiled function for given arguments: write "
                "inner = f.variant(*example).njit outside, and call inner",
                code="NB-NJIT",
            )
        return python and of_python(python)
    if home == "nbgrad.loops.stand_ins.":
        return of_python(value)
    if home == "nbgrad.kernels.random." and hasattr(value, "attributes"):
        return of_device(value)
    is_known = home.startswith("nbgrad.random.") or (home == "numpy.fft." and value in FUNCTIONS)
    if is_known or (_is_of_numbers(value, home) and other_row(value, False)):
        return overloaded(value, found, _of_arrays)
    return holder(value) if home.startswith("nbgrad.stats.") else None


def _is_of_numbers(value: Any, home: str) -> bool:
    if isinstance(value, np.ufunc):  # one of SciPy that numba-scipy does not define
        return getattr(np, value.__name__, None) is not value and "numba_scipy" not in sys.modules
    return home.startswith("nbgrad.") or isinstance(value, UserElementwise)


answer_types(_type_of)
