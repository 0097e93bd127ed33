"""Compiled programs as Numba functions: what Python calls, what `@njit` code calls, C functions."""

import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import types

from .kernel import DISABLED, guarded, jitted, kernel_from_source, module_of, undisturbed
from .linked import Linked
from .numba_api import CPUDispatcher, NumbaError, global_compiler_lock, numpy_support

_REAL = types.CPointer(types.float64)
_TABLE = types.CPointer(types.intp)
SIGNATURES = {
    "addressed": types.void(_TABLE, _TABLE),
    "quad": types.float64(types.intc, _REAL, types.voidptr),
    "ode": types.void(types.float64, _REAL, _REAL, _REAL),
}


class _Handed(CPUDispatcher):
    """Calls what another one has compiled, while other threads call it, and compiles nothing, not
    for a moment. For Numba it could, so it takes no integer for a float."""

    def typeof_pyval(self, val: Any) -> Any:
        try:
            return _type_of_array(val) if _is_plain(val) else super().typeof_pyval(val)
        except NumbaError as refused:
            raise TypeError(str(refused)) from None

    def _compile_for_args(self, *args: Any, **options: Any) -> Any:
        kinds = ", ".join(type(x).__name__ for x in args)
        raise TypeError(f"{self.__name__} is not prepared for {kinds}")  # pyright: ignore


def type_of(value: Any) -> Any:
    """The type that a value has in compiled code."""
    return _type_of_array(value) if _is_plain(value) else numba.typeof(value)


def _is_plain(value: Any) -> bool:
    """Whether it is one of NumPy's own arrays, of what Numba has a type for."""
    return type(value) is np.ndarray and value.dtype in numpy_support.FROM_DTYPE


def _type_of_array(array: np.ndarray) -> Any:
    """What Numba says, but it imports masked arrays first, to tell that this is none of them."""
    kind, layout = numpy_support.FROM_DTYPE[array.dtype], numpy_support.map_layout(array)
    return types.Array(kind, array.ndim, layout, readonly=not array.flags.writeable)


class Entry:
    """A way into a program as a function that Python calls.

    It takes the types that it was prepared for, those very types, and raises TypeError for others:
    a layout that was not foreseen must not compile unseen. One that is `brief` keeps Python's lock.
    """

    def __init__(self, name: str, source: str, brief: bool = False):
        self.name = name
        self._kernel = kernel_from_source(name, source, nogil=not brief)
        self._types: set[tuple] = set()
        if not DISABLED:
            self._called: Any = _Handed(self._kernel.function, targetoptions={"nopython": True})

    @property
    def call(self) -> Callable:
        if not DISABLED:
            return self._called
        # As in compiled code, a division of numbers by zero gives inf.
        return lambda *args: self._kernel.dispatcher(
            *(np.float64(x) if type(x) is float else x for x in args)
        )

    def run(self, *arguments: Any) -> Any:
        """Call it, compiled for the types of `arguments` where that is not done."""
        if not self._types:
            self.prepare(arguments)
        try:
            return self.call(*arguments)
        except TypeError:
            self.prepare(arguments)
            return self.call(*arguments)

    def prepare(self, arguments: Sequence[Any]) -> None:
        """Compile, or load, for the types of `arguments`, unless that is done."""
        if DISABLED:
            return
        types = tuple(map(type_of, arguments))
        with global_compiler_lock:
            if types not in self._types:
                maker: Any = self._kernel.dispatcher  # that of every entry of this text
                maker.compile(types)
                self._called.add_overload(maker.overloads[types])
                self._types.add(types)


def home_of(name: str, source: str) -> str:
    """The module that `source` becomes; it defines `name`."""
    return kernel_from_source(name, source).function.__module__


def home_of_core(name: str, linked: Linked) -> str:
    """The module that has the core of a program, by this name: it is named by the core's code."""
    return module_of(f"# {linked.digest}\n", **{name: linked.function}).__name__


def njit(name: str, source: str, count: int, results: int, captured: Sequence[Any]) -> Callable:
    """The function `name` for `@njit` code, of `count` arguments and `results` arrays; `captured`
    arrays are filled in between them as they are now."""
    entry = kernel_from_source(name, source)
    if not captured:
        return entry.dispatcher
    names = [f"x{i}" for i in range(count)]
    places = [f"r{i}" for i in range(results)]
    arrays = {f"captured{i}": array for i, array in enumerate(captured)}
    text = f"from {entry.function.__module__} import {name}_entry\n\n\n"
    text += f"def closed({', '.join([*names, *places])}):\n"
    text += f"    return {name}_entry({', '.join([*names, *arrays, *places])})\n"
    sys.modules[entry.function.__module__].__dict__[f"{name}_entry"] = entry.dispatcher
    closed = module_of(text, **arrays).__dict__["closed"]
    return closed if DISABLED else guarded(jitted(closed))


@cache
def cfunc(name: str, source: str, kind: str) -> Any:
    """The function `name` as a C function of a kind of SIGNATURES: Numba's CFunc."""
    function = kernel_from_source(name, source).function
    with undisturbed():
        return numba.cfunc(SIGNATURES[kind], error_model="numpy", fastmath={"contract"})(function)


class _Arena(threading.local):
    """Scratch of one thread: it grows, and what is steady allocates nothing."""

    block = np.empty(0, np.uint8)


_arena = _Arena()


def arena(size: int) -> np.ndarray:
    """This thread's scratch, of at least `size` bytes, aligned for vectors."""
    block = _arena.block
    if block.size < size:
        whole = np.empty(size + 64, np.uint8)
        start = -whole.ctypes.data % 64
        block = _arena.block = whole[start : start + size]
    return block


__all__ = ["DISABLED", "Entry", "arena", "cfunc", "home_of", "home_of_core", "njit"]
