"""`Kernel`, a function that is compiled at its first call, and the decorators that make kernels.

An entry for the types of its arguments checks these and calls the machine code (`kernel_call.py`).
Our front end compiles it, or the disk cache has it. For code that Numba compiles, each kernel also
has a dispatcher of Numba (`pipeline.py`). Kernels take arrays and numbers by position, write into
output arrays of the caller, and allocate nothing. With `NUMBA_DISABLE_JIT` set they run as plain
Python.
"""

import contextlib
import hashlib
import linecache
import sys
import threading
import types
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..errors import UnsupportedVersion
from ..runtime.gc_freeze import uncollected
from ..runtime.layout import IS_KNOWN
from ..runtime.signals import held_back
from .cache import counts
from .forks import fork_safe
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
from .pipeline import Inside, Outside, Shell
from .sources import of_code

# NaN and inf must propagate, so never the whole of `fastmath`: contraction to fused
# multiply-adds changes rounding only.
_FLAGS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "fastmath": {"contract"}}
# Kernels run as plain Python where Numba is told not to compile.
DISABLED = bool(config.DISABLE_JIT)  # pyright: ignore[reportAttributeAccessIssue]
_build_lock = fork_safe(threading.RLock())
# Numba never frees machine code, so a text is compiled once: the same program made again costs
# nothing.
_kernels: dict[tuple[str, str], "Kernel"] = {}


class KernelDispatcher(CPUDispatcher):
    """Numba's dispatcher, for code that Numba compiles. Python's calls are those of `__call__`, a
    slot: an entry of ours. A call without one raises AttributeError."""

    __slots__ = ("__call__",)

    def _reduce_class(self) -> type:
        return CPUDispatcher  # a copy in another process has no entry of ours


def jitted(function: Callable, pipeline: type = Compiler, **options: Any) -> Any:
    """Numba's compiled function, or the function itself where DISABLED. One of `Outside` has
    no entry of Numba's: it is a `KernelDispatcher`.

    That is settled at the import: half of the kernels are Numba's where it is told later to
    compile nothing, and the rest must be too.
    """
    if DISABLED:
        return readable(function)
    settings = {"nopython": True, "boundscheck": None, **options}
    kind = KernelDispatcher if pipeline is Outside and IS_KNOWN else CPUDispatcher
    return kind(function, targetoptions=settings, pipeline_class=pipeline)


class Kernel:
    """A function that is compiled at its first call.

    Hot code calls `dispatcher`; calling the kernel does the same and counts the call. Launchers
    count their calls in `launched`. The GIL is released during a call, which costs some 25 ns.
    Numba itself compiles a `shell`.
    """

    __slots__ = ("_content", "_pipeline", "calls", "dispatcher", "function", "launched", "name")
    every: ClassVar[list["Kernel"]] = []

    def __init__(self, function: Callable, content: str = "", shell: bool = False):
        self.name = function.__name__
        self.function = function
        self.calls = 0
        self.launched = np.zeros(1, np.int64)
        self._content = content
        self._pipeline = Shell if shell else Outside
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

        dispatcher = jitted(self.function, self._pipeline, no_cfunc_wrapper=True, **_FLAGS)
        if DISABLED:
            return np.errstate(all="ignore")(dispatcher)
        if isinstance(dispatcher, KernelDispatcher):
            Overloads(self, partial(setattr, dispatcher, "__call__"))
        attach(dispatcher, self.name, self.content)
        return guarded(dispatcher)


def kernel(function: Callable) -> Kernel:
    """Decorator: a hand-written kernel. Nothing is compiled until it is called."""
    return Kernel(function)


def kernel_from_source(name: str, source: str, parts: Sequence[Any] = ()) -> Kernel:
    """The kernel `name` that `source` defines, a shell, or the only one of the `parts`; equal
    sources and parts are one kernel.

    The text compiles from memory, so no file that others could change is ever imported. Its
    module stands in `sys.modules` because Numba looks it up when it loads cached code. `parts` are
    makers of further functions of the module, as for `kernel_from_ir`; those of a shell are
    `linked`.
    """
    content = "\n".join([source, *map(repr, parts)])
    with _build_lock:
        entry = _kernels.get((name, content))
        if entry is None:
            module = module_of(source, **{part.name: part for part in parts})
            for part in parts:
                function = function_of(part, module.__name__)
                setattr(module, part.name, linked(function) if source else function)
            entry = Kernel(getattr(module, name), content, bool(source))
            _kernels[name, content] = entry
        return entry


def kernel_from_ir(maker: Any) -> Kernel:
    """The kernel `maker.name` of the kernel IR: `maker.entry(kinds)` is the function for types of
    its arguments. Its Python function is empty; `maker.plain()` is that in full. Equal makers are
    one kernel."""
    content = repr(maker)
    with _build_lock:
        entry = _kernels.get((maker.name, content))
        if entry is None:
            entry = _kernels[maker.name, content] = Kernel(function_of(maker), content)
        return entry


def function_of(maker: Any, home: str = __name__) -> Callable:
    """The Python function, of the module `home`, that stands for one of the kernel IR."""
    scope: dict[str, Any] = {"__name__": home}
    exec(f"def {maker.name}({', '.join(maker.types)}): ...", scope)
    function = scope[maker.name]
    function.maker = maker
    # Symbols are named after it, and code of several processes meets in one.
    digest = hashlib.sha256(repr(maker).encode()).hexdigest()
    function.__qualname__ = f"{maker.name}_{digest[:16]}"
    return function


def readable(function: Callable) -> Callable:
    """The function; of one of the kernel IR, that in plain Python."""
    maker = getattr(function, "maker", None)
    return maker.plain() if maker else function


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
    lines = source.splitlines(True)
    linecache.cache[filename] = (len(source), None, lines, filename)  # for tracebacks
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


def device(function: Callable, forceinline: bool = False) -> Any:
    """Decorator: a scalar function that kernels call; compiled with its caller, never alone.

    It keeps its own flags in any caller, so range reductions survive a caller that reassociates.
    """
    return _marked(function, {"inline"} if forceinline else set())


def exact(function: Callable) -> Any:
    """Decorator: a `device` function whose sums and products are rounded one by one, so that it
    gives the same numbers whatever the optimizer knows of its callers."""
    return _marked(function, {"exact"})


def of_bits(function: Callable) -> Any:
    """Decorator: an `exact` function of an integer, written into its callers. It has no derivative,
    so derivatives of loops call it as it is, and its numbers stay the same there."""
    return _marked(function, {"exact", "inline", f"rule {function.__name__}"})


def part(function: Callable) -> Any:
    """Decorator: a piece of a scalar function, written into it."""
    return _marked(function, {"inline", "part"})


def _marked(function: Any, attributes: Collection[str]) -> Any:
    function.attributes = frozenset(attributes)
    return function


def linked(function: Callable) -> Any:
    """Decorator: a function of ours that code which Numba compiles calls; it is compiled for its
    callers, and cannot be called from Python."""
    return jitted(function, Inside, no_cpython_wrapper=True, no_cfunc_wrapper=True, **_FLAGS)


def stats() -> dict[str, int]:
    """How many kernels were compiled, loaded from the disk cache, and called in this process.

    >>> nbgrad.stats().keys() >= {"called", "compiled", "loaded"}
    True
    """
    return {
        **counts,
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
                    raise UnsupportedVersion(complaint(str(missing))) from missing
                raise

    dispatcher.compile = compile_whole
    return dispatcher
