"""The disk cache of compiled kernels.

Numba's own cache keeps an index and a data file per function, which races between processes,
trusts what it unpickles and ignores constants in its key. Here one file holds one compiled
signature: its name is a hash of all that the machine code depends on, it begins with a mark of ours
and the sha256 of that name and of the rest, and it appears by a rename. Whatever goes wrong is a
miss. `_folder` says whose files are loaded, `_payload` what they hold.
"""

import hashlib
import os
import platform
import sys
import threading
import time
import warnings
from functools import cache
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding

from ..errors import CacheWarning
from ..runtime.layout import IS_KNOWN
from .compile_lock import Turn
from .externals import know_runtime, refresh
from .folder import MAGIC, SUFFIX, Folder, Untrusted, chosen, digest
from .numba_api import compiler, config, environment
from .payload import Unstorable, packed, unpacked
from .sources import SOURCES, are_as_imported

__all__ = ["KernelCache", "attach", "compiling", "counts", "folder", "stamp"]

# Numba compiles and asks its caches under one global lock, so plain integers count right.
counts = {"compiled": 0, "loaded": 0}
# Options of Numba that shape machine code and stand neither in a source nor in the CPU's name.
_OPTIONS = (
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "LLVM_REFPRUNE_FLAGS",
    "LLVM_REFPRUNE_PASS",
    "LOOP_VECTORIZE",
    "OPT",
    "SLP_VECTORIZE",
    "USE_LLVMLITE_MEMORY_MANAGER",
    "USING_SVML",
)
# The folder is cut back to this many bytes, the longest unused files first.
_LIMIT = 256 * 2**20
# A program that compiles for longer than this many seconds says why it waits.
_PATIENCE = 2.0
_warned: set[str] = set()


class _Compiling:
    """How long this process has compiled kernels: `with compiling` around each of them.

    One line on a terminal says so once it is long, while the compiling still goes on. A library
    must not fill logs, so it is silent where nobody watches. Numba compiles under one lock, so
    there is one thread to count for.
    """

    def __init__(self):
        self.seconds = 0.0
        self._told = False
        self._depth = 0  # kernels that compile inside of others count once
        self._began = 0.0
        self._alarm: threading.Timer | None = None

    def __enter__(self):
        self._depth += 1
        if self._depth > 1:
            return
        self._began = time.perf_counter()
        # sys.stderr is None in a program without a console.
        if not self._told and sys.stderr and sys.stderr.isatty():
            self._alarm = threading.Timer(max(0.0, _PATIENCE - self.seconds), self._tell)
            self._alarm.daemon = True
            self._alarm.start()

    def __exit__(self, *failure):
        self._depth -= 1
        if self._depth:
            return
        self.seconds += time.perf_counter() - self._began
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm.join()
            self._alarm = None

    def _tell(self) -> None:
        self._told = True
        seconds = self.seconds + time.perf_counter() - self._began
        note = f", cached in {folder()} for next time" if folder() else ""
        print(f"nbgrad: compiling kernels, {seconds:.1f} s so far{note}", file=sys.stderr)


compiling = _Compiling()


def attach(dispatcher: Any, name: str, content: str) -> None:
    """Give `dispatcher` our cache; with a Numba that has no place for it, a warning and none."""
    needed = (
        (dispatcher, "_cache"),
        (dispatcher, "_compiler"),
        (compiler, "compile_result"),
        (environment, "_rebuild_env"),
        (environment, "lookup_environment"),
    )
    missing = [piece for owner, piece in needed if not hasattr(owner, piece)]
    if missing:
        _warn(
            "numba",
            f"Numba {numba.__version__} lacks {', '.join(missing)}, which the kernel cache needs: "
            "kernels are compiled again in each process; another version of Numba mends that",
        )
    else:
        dispatcher._cache = KernelCache(name, content)
        compile_one = dispatcher._compiler.compile

        def watched(*args):
            with compiling:
                try:
                    refresh(dispatcher.targetctx)
                    return compile_one(*args)
                except BaseException:
                    dispatcher._cache.end_turn()
                    raise

        dispatcher._compiler.compile = watched


class KernelCache:
    """What a Numba dispatcher asks of its cache, for one kernel.

    `name` is for people who look into the folder, `content` is the text that was compiled.
    """

    def __init__(self, name: str, content: str):
        self._name = name
        self._content = content
        self._turn: Turn | None = None

    def load_overload(self, sig, target_context):
        """The kernel from the disk; else None, and this process has the turn to compile it."""
        know_runtime(target_context)
        store = folder()
        if store is None:
            return None
        name = self._file(sig, target_context.codegen())
        if not store.holds(name) and "save" not in _warned:  # else nobody gains from waiting
            with compiling:
                self._turn = Turn(name, lambda: store.holds(name))
        result = self._loaded(store, name, target_context)
        if result is not None:
            self.end_turn()
        return result

    def end_turn(self):
        """Let other processes compile it, or load what was stored."""
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.end()

    def _loaded(self, store: Folder, name: str, target_context):
        try:
            result = unpacked(_checked(name, store.read(name)), target_context)
        except FileNotFoundError:
            return None
        except Exception as error:
            _warn(
                "load",
                f"a kernel is compiled again, since {store.path / name} cannot be used: {error}",
            )
            return None
        counts["loaded"] += 1
        return result

    def save_overload(self, sig, data):
        try:
            self._save(sig, data)
        finally:
            self.end_turn()

    def _save(self, sig, data):
        counts["compiled"] += 1
        store = folder()
        # Code with addresses of this process in it would crash the next one.
        if store is None or data.library.has_dynamic_globals:
            data.library.drop()
            return
        if not are_as_imported():
            data.library.drop()
            _warn(
                "sources",
                "files of nbgrad have changed since this process imported them, so kernels that it "
                "compiles are not stored; start the process again",
            )
            return
        name = self._file(sig, data.codegen)
        try:
            pieces = packed(data)
            _prune(store)
            store.write(name, MAGIC, digest(name, pieces), *pieces)
        except Unstorable:
            return
        except Exception as error:
            _warn(
                "save",
                f"compiled kernels cannot be stored in {store.path} ({error}) and are compiled "
                "again in each process; make room there, or set NBGRAD_CACHE_DIR to another folder",
            )

    def _file(self, sig, codegen) -> str:
        options = [getattr(config, option, None) for option in _OPTIONS]
        target = repr((codegen.magic_tuple(), options))
        parts = (self._name, self._content, str(sig), target, stamp())
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
        return f"{self._name[:80]}-{key}{SUFFIX}"

    @property
    def cache_path(self):
        return str(folder() or "")

    def enable(self): ...

    def disable(self): ...

    def flush(self): ...


@cache
def stamp() -> str:
    """Hash of the sources under `kernels/` and of the versions that shape machine code; empty where
    the sources cannot be found."""
    versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    facts = (SOURCES, *versions, binding.llvm_version_info, platform.machine(), IS_KNOWN)
    return SOURCES and hashlib.sha256(repr(facts).encode()).hexdigest()


# -- files ----------------------------------------------------------------------------------------


@cache
def folder() -> Folder | None:
    """The folder for compiled kernels, or None where only memory can be used.

    One that cannot be written to still serves what it holds.
    """
    path = None
    try:
        if not stamp():
            raise Untrusted("the sources of nbgrad that it depends on cannot be found")
        path = chosen()
        return Folder(path)
    except (OSError, RuntimeError, Untrusted) as error:
        _warn(
            "folder",
            f"the cache folder{f' {path}' if path else ''} is not used ({error}): kernels are "
            "compiled again in each process; set NBGRAD_CACHE_DIR to a folder of your own, in "
            "folders that only you and root can write to",
        )
        return None


def _checked(name: str, blob: bytes) -> memoryview:
    """What follows the checksum of a file. Raises ValueError where that is wrong."""
    view = memoryview(blob)
    start = len(MAGIC) + 32
    if blob[: len(MAGIC)] != MAGIC:
        raise ValueError("it does not begin as a kernel does")
    if blob[len(MAGIC) : start] != digest(name, [view[start:]]):
        raise ValueError("its checksum is wrong")
    return view[start:]


@cache
def _prune(store: Folder) -> None:
    """Once a process, when it first compiles."""
    store.prune(_LIMIT)


def _warn(kind: str, message: str) -> None:
    """Warn once for each kind of fault: of many workers the first one does, for all of them."""
    if kind not in _warned:
        _warned.add(kind)
        if not _is_first():
            return
        warnings.warn(f"nbgrad: {message}", CacheWarning, stacklevel=2)


def _is_first() -> bool:
    """Whether this is the first child of a process, or rank 0 of MPI, or neither child nor rank."""
    process = sys.modules.get("multiprocessing.process")
    number = getattr(process.current_process(), "_identity", ()) if process else ()
    ranks = [os.environ.get(name, "0") for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK")]
    return number[-1:] in ((), (1,)) and set(ranks) == {"0"}
