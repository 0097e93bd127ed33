"""Where functions become kernels: the only place with Numba's flags and its private API.

A `Kernel` is a Python function that Numba compiles at its first call, or loads from our disk
cache. Kernels take arrays and numbers by position, write into arrays that the caller gives, and
allocate nothing. With `NUMBA_DISABLE_JIT` set they run as plain Python.
"""

import contextlib
import hashlib
import linecache
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numba.extending import intrinsic

from ..runtime.gc_freeze import uncollected
from ..runtime.layout import IS_KNOWN
from ..runtime.signals import held_back
from .cache import counts
from .forks import fork_safe
from .front.syntax import TEXTS
from .numba_api import (
    Compiler,
    CPUDispatcher,
    complaint,
    config,
    global_compiler_lock,
    is_theirs,
    numpy_support,
)
from .numba_cache import attach
from .pipeline import Inside, Outside, Refused, fallbacks, note
from .sources import of_code

# NaN and inf must propagate, so never the whole of `fastmath`: contraction to fused
# multiply-adds changes rounding only.
_FLAGS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "fastmath": {"contract"}}
# Scalar functions are compiled into their callers and need no entry from Python.
DEVICE_OPTIONS: dict[str, Any] = {**_FLAGS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Kernels run as plain Python where Numba is told not to compile.
DISABLED = bool(config.DISABLE_JIT)  # pyright: ignore[reportAttributeAccessIssue]
_build_lock = fork_safe(threading.RLock())
# Numba never frees machine code, so a text is compiled once: the same program made again costs
# nothing.
_kernels: dict[tuple[str, str, bool], "Kernel"] = {}


class KernelDispatcher(CPUDispatcher):
    """Numba's dispatcher, for code that Numba compiles. Python's calls are those of `__call__`, a
    slot: an entry of ours."""

    __slots__ = ("__call__",)

    def _reduce_class(self) -> type:
        return CPUDispatcher  # a copy in another process has no entry of ours


def jitted(
    function: Callable, pipeline: type = Compiler, kind: type = CPUDispatcher, **options: Any
) -> Any:
    """Numba's compiled function, or the function itself where DISABLED.

    That is settled at the import: half of the kernels are Numba's where it is told later to
    compile nothing, and the rest must be too.
    """
    if DISABLED:
        return function
    settings = {"nopython": True, "boundscheck": None, **options}
    return kind(function, targetoptions=settings, pipeline_class=pipeline)


class Kernel:
    """A function that is compiled at its first call.

    `dispatcher` is what hot code calls; calling the kernel itself means the same and counts.
    `launched` is where launchers count their calls. With `nogil`, other threads of Python may run
    meanwhile, which costs a call some 25 ns.
    """

    __slots__ = ("_content", "_nogil", "calls", "dispatcher", "function", "launched", "name")
    every: ClassVar[list["Kernel"]] = []

    def __init__(self, function: Callable, content: str = "", nogil: bool = True):
        self.name = function.__name__
        self.function = function
        self.calls = 0
        self.launched = np.zeros(1, np.int64)
        self._content = content
        self._nogil = nogil
        Kernel.every.append(self)

    def __getattr__(self, name: str) -> Any:
        """Build `dispatcher` when it is first asked for; from then on it is a plain slot."""
        if name != "dispatcher":
            raise AttributeError(name)
        with _build_lock:
            try:
                return object.__getattribute__(self, name)
            except AttributeError:
                self.dispatcher = self._dispatcher()
                return self.dispatcher

    def __call__(self, *args):
        self.calls += 1
        return self.dispatcher(*args)

    def __repr__(self):
        return f"<kernel {self.name}>"

    @property
    def content(self) -> str:
        """The text that its machine code follows from, or a hash of it."""
        return self._content or of_code(self.function.__code__)

    def code(self, kinds: tuple[Any, ...]) -> Any:
        """The machine code for types of arguments, as `kernel_call.code_of` gives it."""
        from .kernel_call import code_of  # which is compiled by this

        return code_of(self.function, self.content, kinds)

    def prepare(self, dtypes: Sequence[np.dtype]) -> None:
        """Compile it for numbers now, so that no call does."""
        if IS_KNOWN:
            self.code(tuple(dtypes))
        else:
            self.dispatcher.compile(tuple(map(numpy_support.from_dtype, dtypes)))

    def _dispatcher(self) -> Any:
        from .kernel_call import Overloads  # which is compiled by this

        if DISABLED:
            return np.errstate(all="ignore")(self.function)
        if not IS_KNOWN:
            return self._numba(Outside, CPUDispatcher)
        dispatcher = self._numba(Outside, KernelDispatcher)
        Overloads(self, self._nogil, partial(setattr, dispatcher, "__call__"), self._by_numba)
        return dispatcher

    def _by_numba(self, refused: Exception) -> Any:
        """Numba's dispatcher, for what our own front end refused."""
        note(self.function, refused)
        return self._numba(Refused, CPUDispatcher)

    def _numba(self, pipeline: type, kind: type) -> Any:
        flags = {**_FLAGS, "nogil": self._nogil}
        dispatcher = jitted(self.function, pipeline, kind, no_cfunc_wrapper=True, **flags)
        content = self.content if self._nogil else f"{self.content}# nogil=False\n"
        attach(dispatcher, self.name, content)
        return guarded(dispatcher)


def kernel(function: Callable) -> Kernel:
    """Decorator: a hand-written kernel. Nothing is compiled until it is called."""
    return Kernel(function)


def kernel_from_source(name: str, source: str, nogil: bool = True) -> Kernel:
    """The kernel `name` that `source` defines; equal sources are one kernel.

    The text compiles from memory, so no file that others could change is ever imported. Its
    module stands in `sys.modules` because Numba looks it up when it loads cached code.
    """
    with _build_lock:
        entry = _kernels.get((name, source, nogil))
        if entry is None:
            entry = Kernel(getattr(module_of(source), name), source, nogil)
            _kernels[name, source, nogil] = entry
        return entry


_MODULE = "nbgrad_kernel_"


def module_of(source: str, **namespace: Any) -> types.ModuleType:
    """The module of a text, in which the names of `namespace` stand; it is named after both."""
    digest = hashlib.sha256(source.encode())
    for value in namespace.values():
        if isinstance(value, np.ndarray):
            digest.update(repr((value.shape, value.dtype.str)).encode() + value.tobytes())
        else:
            digest.update(repr(value).encode())
    name = f"{_MODULE}{digest.hexdigest()[:16]}"
    if (module := sys.modules.get(name)) is not None:
        return module
    module = types.ModuleType(name)
    module.__dict__.update(namespace)
    filename = f"<{name}>"
    TEXTS[filename] = source.splitlines(True)
    linecache.cache[filename] = (len(source), None, TEXTS[filename], filename)  # for tracebacks
    exec(compile(source, filename, "exec"), module.__dict__)
    sys.modules[name] = module
    return module


class _Absent:
    """Asked last for a module: a user's `@njit(cache=True)` function from an earlier process names
    the programs that it called, and one that is another program now is not there. To Numba an
    OSError says that the file in its cache cannot be used: it compiles the function again."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name.startswith(_MODULE):
            raise OSError(f"{name}: a compiled program of another process, another one now")


sys.meta_path.append(_Absent)  # pyright: ignore[reportArgumentType]


def device(function: Callable, **options: Any) -> Any:
    """Decorator: a scalar function that kernels call; compiled with its caller, never alone.

    It keeps its own flags in any caller, so range reductions survive a caller that reassociates.
    """
    return jitted(function, Inside, **DEVICE_OPTIONS, **options)


def exact(function: Callable) -> Any:
    """Decorator: a `device` function whose sums and products are rounded one by one, so that it
    gives the same numbers whatever the optimizer knows of its callers."""
    return jitted(function, Inside, **{**DEVICE_OPTIONS, "fastmath": False})


def part(function: Callable) -> Any:
    """Decorator: a piece of a scalar function, written into it."""
    return jitted(function, inline="always", **DEVICE_OPTIONS)


def instruction(twin: Callable, row: tuple = ()) -> Callable[[Callable], Any]:
    """Decorator: a code generator that stands for a call, as `numba.extending.intrinsic` has it,
    with a `twin` that means the same in plain Python. `row` is its row in the front end's table of
    instructions, with parameters, where that is not the name of the generator; or the function that
    it stands for."""

    def decorate(generator: Callable) -> Any:
        if DISABLED:
            return twin
        made: Any = with_twin(intrinsic(generator), twin)
        made.row = row or (generator.__name__,)
        return made

    return decorate


class Extern:
    """A function outside of compiled code, for functions of the kernel IR: `row` is its row in the
    front end's table of instructions."""

    def __init__(self, *row: Any):
        self.row = row

    def __call__(self, *operands: Any) -> Any:
        raise TypeError(f"{self.row[-1]} is called by compiled code only")


def with_twin(function: Any, twin: Callable) -> Any:
    """`function`, which remembers what means the same in plain Python."""
    function.twin = twin
    return function


def stats() -> dict[str, int]:
    """How many kernels were compiled, loaded from the disk cache, and called in this process, and
    how many functions Numba's own front end compiled in place of ours.

    >>> nbgrad.stats().keys() >= {"called", "compiled", "loaded"}
    True
    """
    return {
        **counts,
        "fallbacks": len(fallbacks),
        "called": sum(kernel.calls + int(kernel.launched[0]) for kernel in Kernel.every),
    }


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """For a compilation: no signal breaks it off, no other thread compiles, no garbage is
    collected, and it is one also where Numba was told, since this was imported, to compile
    nothing."""
    with held_back(), global_compiler_lock, uncollected():
        config.reload_config()
        told = config.DISABLE_JIT  # pyright: ignore[reportAttributeAccessIssue]
        config.DISABLE_JIT = 0  # pyright: ignore[reportAttributeAccessIssue]
        try:
            yield
        finally:
            config.DISABLE_JIT = told  # pyright: ignore[reportAttributeAccessIssue]


def guarded(dispatcher: Any) -> Any:
    """Make a dispatcher hold signals back while it compiles; returns it.

    A call that comes while it may not compile is a call with types that it was not prepared for,
    also where it may when the call begins, since another thread prepares it.
    """
    compile_one = dispatcher.compile

    def compile_whole(signature):
        with undisturbed():
            if not dispatcher._can_compile and signature not in dispatcher.overloads:
                raise TypeError(f"{dispatcher.__name__} is not compiled for {signature}")
            try:
                return compile_one(signature)
            except AttributeError as missing:
                if is_theirs(missing):
                    raise ImportError(complaint(str(missing))) from missing
                raise

    dispatcher.compile = compile_whole
    return dispatcher
