"""Compiled programs as functions of Numba: for `@njit` code, and C functions."""

import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import types

from .kernel import DISABLED, Kernel, guarded, jitted, module_of, undisturbed

_REAL = types.CPointer(types.float64)
_TABLE = types.CPointer(types.intp)
SIGNATURES = {
    "addressed": types.void(_TABLE, _TABLE),
    "quad": types.float64(types.intc, _REAL, types.voidptr),
    "ode": types.void(types.float64, _REAL, _REAL, _REAL),
}


def njit(name: str, entry: Kernel, count: int, results: int, captured: Sequence[Any]) -> Callable:
    """The entry `name` for `@njit` code, of `count` arguments and `results` arrays; `captured`
    arrays are filled in between them as they are now."""
    if not captured:
        return entry.dispatcher
    names = [f"x{i}" for i in range(count)]
    places = [f"r{i}" for i in range(results)]
    arrays = {f"captured{i}": array for i, array in enumerate(captured)}
    home = entry.function.__module__
    text = f"from {home} import {name}_entry\n\n\n"
    text += f"def closed({', '.join([*names, *places])}):\n"
    text += f"    return {name}_entry({', '.join([*names, *arrays, *places])})\n"
    sys.modules[home].__dict__[f"{name}_entry"] = entry.dispatcher
    closed = module_of(text, **arrays).__dict__["closed"]
    return closed if DISABLED else guarded(jitted(closed))


@cache
def cfunc(entry: Kernel, kind: str) -> Any:
    """An entry as a C function of a kind of SIGNATURES: Numba's CFunc."""
    made = numba.cfunc(SIGNATURES[kind], error_model="numpy", fastmath={"contract"})
    with undisturbed():
        return made(entry.function)


class Arena(threading.local):
    """Scratch of one thread, aligned for vectors: it grows, and what is steady allocates
    nothing."""

    block = np.empty(0, np.uint8)

    def grown(self, size: int) -> np.ndarray:
        """A block of `size` bytes from now on."""
        whole = np.empty(size + 64, np.uint8)
        start = -whole.ctypes.data % 64
        self.block = whole[start : start + size]
        return self.block


arena = Arena()


__all__ = ["DISABLED", "arena", "cfunc", "njit"]
