"""Compiled programs as Numba functions: one for Python to call, one for `@njit` code."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

from ._jit import DISABLED, kernel_from_source


class Entry:
    """A program's text as a function that Python calls.

    It takes the types that it was prepared for and raises TypeError for others: a layout that was
    not foreseen must not compile unseen.
    """

    def __init__(self, name: str, source: str):
        self.name, self.source = name, source
        self._kernel = kernel_from_source(name, source)
        self._lock = threading.Lock()
        self._types: set[tuple] = set()

    @property
    def call(self) -> Callable:
        if not DISABLED:
            return self._kernel.dispatcher
        # As in compiled code, a division of numbers by zero gives inf.
        return lambda *args: self._kernel.dispatcher(
            *(np.float64(x) if type(x) is float else x for x in args)
        )

    def prepare(self, given: Sequence[Any]) -> None:
        """Compile, or load, for the types of the arguments `given`, unless that is done."""
        if DISABLED:
            return
        types = tuple(map(numba.typeof, given))
        if types in self._types:
            return
        with self._lock:
            dispatcher: Any = self._kernel.dispatcher
            dispatcher.disable_compile(False)
            dispatcher.compile(types)
            dispatcher.disable_compile()
            self._types.add(types)

    def njit(self, count: int, captured: Sequence[Any]) -> Callable:
        """The same for `@njit` code, of `count` arguments; `captured` arrays are filled in as they
        are now."""
        entry = kernel_from_source(self.name, self.source).dispatcher
        if not captured:
            return entry
        names = [f"x{i}" for i in range(count)]
        scope: dict[str, Any] = {"entry": entry}
        given = list(names)
        for i, array in enumerate(captured):
            scope[f"captured{i}"] = array
            given.append(f"captured{i}")
        text = f"def closed({', '.join(names)}):\n    return entry({', '.join(given)})\n"
        exec(compile(text, f"<{self.name}>", "exec"), scope)
        return scope["closed"] if DISABLED else numba.njit(scope["closed"])
