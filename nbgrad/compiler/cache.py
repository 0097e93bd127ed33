"""The disk cache of machine code.

One file holds what was compiled at once: its name is a hash of all that the machine code depends
on, it begins with a magic number and the sha256 of that name and of the rest, and it appears by a
rename. Any fault is a cache miss. `folder` checks whose files are loaded; `numba_cache` stores
kernels that Numba compiled, `machine` those of LLVM assembly.
"""

import hashlib
import os
import platform
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

import llvmlite
import numba
import numpy as np
from llvmlite import binding

from ..errors import CacheWarning
from ..runtime.layout import IS_KNOWN
from .compile_lock import Turn
from .folder import MAGIC, SUFFIX, Folder, Unstorable, Untrusted, chosen, digest
from .numba_api import config
from .sources import SOURCES, are_as_imported

__all__ = [
    "compiling",
    "counts",
    "file_name",
    "folder",
    "loaded",
    "save",
    "stamp",
    "turn_for",
    "warn_once",
]

_T = TypeVar("_T")
# All compilations and loads run under Numba's global lock, so plain integers count right.
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
_UNNAMEABLE = re.compile(r'[<>:"/\\|?*]')  # characters that Windows has in no file name


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


def turn_for(name: str) -> Turn | None:
    """The turn to make the file `name`: other processes of this machine wait until it ends, and
    load what was stored. None where they would gain nothing from that."""
    store = folder()
    if store is None or store.holds(name) or "save" in _warned:
        return None
    with compiling:
        return Turn(name, lambda: store.holds(name))


def loaded(name: str, read: Callable[[memoryview], _T], is_counted: bool = True) -> _T | None:
    """Return `read` of the contents of the file `name`, or None if it is missing or damaged."""
    store = folder()
    if store is None:
        return None
    try:
        result = read(_checked(name, store.read(name)))
    except FileNotFoundError:
        return None
    except Exception as error:
        warn_once(
            "load",
            f"a kernel is compiled again, since {store.path / name} cannot be used: {error}",
        )
        return None
    counts["loaded"] += is_counted
    return result


def save(name: str, pieces: Callable[[], Sequence[bytes]], is_counted: bool = True) -> None:
    """Count a compilation, and store its result where that is possible: `pieces` gives the bytes,
    or raises Unstorable."""
    counts["compiled"] += is_counted
    store = folder()
    if store is None:
        return
    if not are_as_imported():
        warn_once(
            "sources",
            "files of nbgrad have changed since this process imported them, so kernels that it "
            "compiles are not stored; start the process again",
        )
        return
    try:
        written = pieces()
        _prune(store)
        store.write(name, MAGIC, digest(name, written), *written)
    except Unstorable:
        return
    except Exception as error:
        warn_once(
            "save",
            f"compiled kernels cannot be stored in {store.path} ({error}) and are compiled "
            "again in each process; make room there, or set NBGRAD_CACHE_DIR to another folder",
        )


def file_name(name: str, *parts: str) -> str:
    """The name of the file for `name`, for people who look into the folder, and for all that the
    machine code depends on besides the sources and Numba's options: `parts`."""
    options = [getattr(config, option, None) for option in _OPTIONS]
    whole = "\0".join((name, *parts, repr(options), stamp()))
    shown = _UNNAMEABLE.sub("_", name[:80])
    return f"{shown}-{hashlib.sha256(whole.encode()).hexdigest()[:32]}{SUFFIX}"


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
        warn_once(
            "folder",
            f"the cache folder{f' {path}' if path else ''} is not used ({error}): kernels are "
            "compiled again in each process; set NBGRAD_CACHE_DIR to a folder of your own, in "
            "folders that only you and root can write to",
        )
        return None


def _checked(name: str, blob: bytes) -> memoryview:
    """Return the contents of a file behind its checksum. Raises ValueError if that is wrong."""
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


def warn_once(kind: str, message: str) -> None:
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
