"""Calls of functions: their arguments as arrays and numbers, and their signatures."""

import inspect
from collections.abc import Callable, Sequence
from enum import Enum
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from ..compiler.front.functions import ArrayType, Constant
from ..compiler.front.values import named_tuple
from ..compiler.numba_api import config
from ..complex import ComplexArray
from ..core.array import Array
from ..core.primitive import Proxy, shape_of
from ..errors import ArgumentTypeError, LoopError, require_unmasked
from ..runtime.kinds import is_a
from ..runtime.lines import user_line
from .complex_values import complex_kind
from .signature import Signature

__all__ = ["Bound", "python_function"]

_KINDS = frozenset([
    np.dtype(order + kind) for order in "<>"
    for kind in ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")
])  # fmt: skip


def python_function(f: Any) -> FunctionType:
    """The Python function of a dispatcher, or the function itself."""
    return getattr(f, "py_func", f)


class Bound:
    """The arguments of one call. `leaves` are its arrays and numbers in the order of the
    parameters; numbers are arrays without axes or Python numbers."""

    __slots__ = ("_name", "leaves", "signature")

    def __init__(self, f: Callable, args: tuple, options: dict[str, Any]):
        function = python_function(f)
        every = _positional(function, args, options)
        self._name = function.__name__
        self.leaves: list[Any] = []
        kinds = tuple([self._kind(x) for x in every])
        found = getattr(f, "targetoptions", {})
        bounds: Any = vars(config)["BOUNDSCHECK"]  # None if the environment does not say
        is_checked = found.get("boundscheck") if bounds is None else bounds
        divisions = found.get("error_model", "python") == "python"
        self.signature = _signature(function, kinds, f if is_checked else None, divisions)

    def _kind(self, x: Any) -> Any:
        """The type of an argument, whose arrays and numbers are added to `leaves`."""
        kind = type(x)
        if kind is np.ndarray or isinstance(x, Array) or is_a(x, (np.ndarray, np.generic, Proxy)):
            x = Proxy.value_of(x)
            if kind is not np.ndarray:
                require_unmasked(x, self._name)
            dtype, shape = x.dtype, shape_of(x)
            if dtype.kind == "c":
                return self._complex(x)
            if dtype not in _KINDS:
                raise LoopError(
                    f"{self._name}: an argument of dtype {dtype}: derivatives of loops take "
                    f"float64, float32, integers and bools; convert it{user_line()}"
                )
            if not dtype.isnative:
                dtype = dtype.newbyteorder("=")
            self.leaves.append(x)
            if len(shape) < 2:
                return _array(dtype, 1) if shape else dtype
            ones = tuple([i for i, n in enumerate(shape) if type(n) is int and n == 1])
            return _array(dtype, len(shape), ones)
        if kind is bool or kind is int or kind is float:
            self.leaves.append(x)
            return _PYTHON[kind]
        if kind is complex or kind is ComplexArray:
            return self._complex(x)
        if isinstance(x, tuple):
            kinds = tuple([self._kind(each) for each in x])
            return named_tuple(type(x))(kinds) if hasattr(x, "_fields") else kinds
        if x is None or isinstance(x, (str, type, np.dtype, Enum)) or callable(x):
            return Constant(x)
        raise LoopError(
            f"{self._name}: an argument of type {type(x).__name__}: derivatives of Numba functions "
            f"take numbers, arrays, tuples of them, None, strings and functions{user_line()}"
        )

    def _complex(self, x: Any) -> Any:
        """The type of a complex argument, which is two leaves: its parts."""
        if getattr(x, "dtype", np.dtype(complex)).itemsize > 16:
            text = f"{self._name}: an argument of dtype {x.dtype}: convert it to complex128"
            raise LoopError(f"{text}{user_line()}")
        real, imag = x.real, x.imag
        self.leaves += [real, imag]
        dtype = np.dtype(np.float64) if type(x) is complex else real.dtype.newbyteorder("=")
        return complex_kind(dtype, shape_of(real))


_PYTHON = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64)}


def _positional(function: FunctionType, args: tuple, options: dict[str, Any]) -> Sequence[Any]:
    """The arguments by position, defaults filled in; a starred parameter is one tuple."""
    code = function.__code__
    if not options and len(args) == code.co_argcount and not code.co_flags & _STARRED:
        return args
    try:
        bound = _parameters(function).bind(*args, **options)
    except TypeError as error:
        raise ArgumentTypeError(f"{function.__name__}: {error}{user_line()}") from None
    bound.apply_defaults()
    return list(bound.arguments.values())


_STARRED = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


@lru_cache(maxsize=1024)
def _array(dtype: np.dtype, ndim: int, ones: tuple[int, ...] = ()) -> ArrayType:
    """The type of an array: equal ones are one object, so that they are found fast."""
    return ArrayType(dtype, ndim, ones=ones)


@lru_cache(maxsize=1024)
def _parameters(function: FunctionType) -> inspect.Signature:
    return inspect.signature(function)


@lru_cache(maxsize=4096)
def _signature(
    function: FunctionType, kinds: tuple, checked: Callable | None, divisions: bool
) -> Signature:
    return Signature(function, kinds, checked, divisions)
