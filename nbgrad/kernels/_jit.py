"""Where functions become kernels: the only place with Numba's flags and its private API.

A `Kernel` is a Python function that Numba compiles at its first call, or loads from our disk
cache. Kernels take arrays and numbers by position, write into arrays that the caller gives, and
allocate nothing. With `NUMBA_DISABLE_JIT` set they run as plain Python.
"""

import hashlib
import inspect
import linecache
import sys
import threading
import types
from collections.abc import Callable
from typing import Any, ClassVar

import numba
import numpy as np
from numba.core import config
from numba.extending import intrinsic

from ._cache import attach, counts
from ._pipeline import Inside, Outside

# NaN and inf must propagate, so never the whole of `fastmath`: contraction to fused
# multiply-adds changes rounding only.
_FLAGS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "fastmath": {"contract"}}
# Scalar functions are compiled into their callers and need no entry from Python.
DEVICE_OPTIONS: dict[str, Any] = {**_FLAGS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Kernels run as plain Python where Numba is told not to compile.
DISABLED = bool(config.DISABLE_JIT)  # pyright: ignore[reportAttributeAccessIssue]
_build_lock = threading.Lock()


class Kernel:
    """A function that is compiled at its first call.

    `dispatcher` is what hot code calls; calling the kernel itself means the same and counts.
    """

    __slots__ = ("_content", "calls", "dispatcher", "function", "name")
    every: ClassVar[list["Kernel"]] = []

    def __init__(self, function: Callable, content: str = ""):
        self.name = function.__name__
        self.function = function
        self.calls = 0
        self._content = content
        Kernel.every.append(self)

    def __getattr__(self, name: str) -> Any:
        """Build `dispatcher` when it is first asked for; from then on it is a plain slot."""
        if name != "dispatcher":
            raise AttributeError(name)
        with _build_lock:
            try:
                return object.__getattribute__(self, name)
            except AttributeError:
                # Reading a source takes milliseconds, so it waits until here.
                content = self._content or inspect.getsource(self.function)
                self.dispatcher = _dispatcher(self.function, content)
                return self.dispatcher

    def __call__(self, *args):
        self.calls += 1
        return self.dispatcher(*args)

    def __repr__(self):
        return f"<kernel {self.name}>"


def kernel(function: Callable) -> Kernel:
    """Decorator: a hand-written kernel. Nothing is compiled until it is called."""
    return Kernel(function)


def kernel_from_source(name: str, source: str) -> Kernel:
    """The kernel `name` that `source` defines; equal sources share one cache entry.

    The text compiles from memory, so no file that others could change is ever imported. Its
    module stands in `sys.modules` because Numba looks it up when it loads cached code.
    """
    module_name = f"nbgrad_kernel_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    module = types.ModuleType(module_name)
    filename = f"<{module_name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    sys.modules[module_name] = module
    exec(compile(source, filename, "exec"), module.__dict__)
    return Kernel(module.__dict__[name], source)


def device(function: Callable, **options: Any) -> Any:
    """Decorator: a scalar function that kernels call; compiled with its caller, never alone.

    It keeps its own flags in any caller, so range reductions survive a caller that reassociates.
    """
    return numba.njit(pipeline_class=Inside, **DEVICE_OPTIONS, **options)(function)


def part(function: Callable) -> Any:
    """Decorator: a piece of a scalar function, written into it."""
    return numba.njit(inline="always", **DEVICE_OPTIONS)(function)


def instruction(twin: Callable) -> Callable[[Callable], Any]:
    """Decorator: a code generator that stands for a call, as `numba.extending.intrinsic` has it,
    with a `twin` that means the same in plain Python."""
    return lambda generator: twin if DISABLED else with_twin(intrinsic(generator), twin)


def with_twin(function: Any, twin: Callable) -> Any:
    """`function`, which remembers what means the same in plain Python."""
    function.twin = twin
    return function


def stats() -> dict[str, int]:
    """How many kernels were compiled, loaded from the disk cache, and called in this process.

    >>> sorted(nbgrad.stats())
    ['called', 'compiled', 'loaded']
    """
    return {**counts, "called": sum(kernel.calls for kernel in Kernel.every)}


def _dispatcher(function: Callable, content: str) -> Callable:
    if DISABLED:  # pyright: ignore[reportAttributeAccessIssue]
        return np.errstate(all="ignore")(function)
    options = {"no_cfunc_wrapper": True, **_FLAGS}
    dispatcher = numba.njit(pipeline_class=Outside, **options)(function)
    attach(dispatcher, function.__name__, content)
    return dispatcher
