"""The disk cache of compiled kernels.

Numba's own cache keeps an index and a data file per function, which races between processes,
trusts what it unpickles and ignores constants in its key. Here one file holds one compiled
signature: its name is a hash of all that the machine code depends on, its first 32 bytes are the
sha256 of that name and of the rest, and it appears by a rename. Whatever goes wrong is a miss.
"""

import contextlib
import hashlib
import os
import pickle
import platform
import re
import stat
import sys
import threading
import time
import uuid
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import compiler, config, serialize

from ..errors import CacheWarning

__all__ = ["KernelCache", "attach", "compiling", "counts", "files", "folder", "stamp"]

SUFFIX = ".nbgrad"
# Numba compiles and asks its caches under one global lock, so plain integers count right.
counts = {"compiled": 0, "loaded": 0}
# Options of Numba that shape machine code and stand neither in a source nor in the CPU's name.
_OPTIONS = ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE")
# The folder is cut back to this many bytes, the longest unused files first.
_LIMIT = 256 * 2**20
# A program that compiles for longer than this many seconds says why it waits.
_PATIENCE = 2.0
_DAY = 86_400.0
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
        kept = f", cached in {folder()} for next time" if folder() else ""
        print(f"nbgrad: compiling kernels, {seconds:.1f} s so far{kept}", file=sys.stderr)


compiling = _Compiling()


def attach(dispatcher: Any, name: str, content: str) -> None:
    """Give `dispatcher` our cache; with a Numba that has no place for it, a warning and none."""
    needed = (
        (dispatcher, "_cache"),
        (dispatcher, "_compiler"),
        (getattr(compiler, "CompileResult", None), "_rebuild"),
        (getattr(compiler, "CompileResult", None), "_reduce"),
        (serialize, "dumps"),
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
                return compile_one(*args)

        dispatcher._compiler.compile = watched


class KernelCache:
    """What a Numba dispatcher asks of its cache, for one kernel.

    `name` is for people who look into the folder, `content` is the text that was compiled.
    """

    def __init__(self, name: str, content: str):
        self._name = name
        self._content = content

    def load_overload(self, sig, target_context):
        target_context.refresh()
        path = self._path(sig, target_context.codegen())
        if path is None:
            return None
        try:
            parts = pickle.loads(_read(path))
            result = compiler.CompileResult._rebuild(target_context, *parts)
        except FileNotFoundError:
            return None
        except Exception as error:
            _warn("load", f"a kernel is compiled again, since {path} cannot be used: {error}")
            return None
        counts["loaded"] += 1
        return result

    def save_overload(self, sig, data):
        counts["compiled"] += 1
        # Code with addresses of this process in it would crash the next one.
        path = None if data.library.has_dynamic_globals else self._path(sig, data.codegen)
        if path is None:
            return
        try:
            _write(path, serialize.dumps(data._reduce()))
        except Exception as error:
            _warn(
                "save",
                f"compiled kernels cannot be stored in {path.parent} ({error}) and are compiled "
                "again in each process; make room there, or set NBGRAD_CACHE_DIR to another folder",
            )

    def _path(self, sig, codegen) -> Path | None:
        directory = folder()
        if directory is None:
            return None
        options = [getattr(config, option, None) for option in _OPTIONS]
        target = repr((codegen.magic_tuple(), options))
        parts = (self._name, self._content, str(sig), target, stamp())
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
        return directory / f"{self._name}-{key}{SUFFIX}"

    @property
    def cache_path(self):
        return str(folder() or "")

    def enable(self): ...

    def disable(self): ...

    def flush(self): ...


@cache
def stamp() -> str:
    """Hash of every source under `kernels/` and of the versions that shape machine code."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    digest.update(repr((*versions, platform.machine())).encode())
    return digest.hexdigest()


# Now, while the sources are what this process runs: one that is edited later must not put old
# machine code under its new hash.
stamp()


# -- the folder -----------------------------------------------------------------------------------


@cache
def folder() -> Path | None:
    """The folder for compiled kernels, or None where only memory can be used.

    `NBGRAD_CACHE_DIR`, else `NUMBA_CACHE_DIR`, else the user's cache folder. Inside it, a
    sub-folder of our own with mode 0700: unpickling runs code, so a folder that another user
    owns or can write to is never used. One that cannot be written to still serves what it holds.
    """
    try:
        own = _chosen() / "kernels"
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        fault = _untrusted(own.lstat())
    except (OSError, RuntimeError) as error:
        own, fault = None, str(error)
    if fault:
        _warn(
            "folder",
            f"the cache folder{f' {own}' if own else ''} is not used ({fault}): kernels are "
            "compiled again in "
            "each process; set NBGRAD_CACHE_DIR to a folder of your own that can be written to",
        )
        return None
    return own


def files() -> list[Path]:
    """The files in the folder that are ours: kernels, and what a killed process left of one."""
    directory = folder()
    if directory is None:
        return []
    ours = re.compile(rf".+-[0-9a-f]{{32}}{re.escape(SUFFIX)}(\.[0-9a-f]{{12}}\.tmp)?")
    return sorted(path for path in directory.iterdir() if ours.fullmatch(path.name))


def _chosen() -> Path:
    if mine := os.environ.get("NBGRAD_CACHE_DIR"):
        chosen = Path(mine)
    elif shared := os.environ.get("NUMBA_CACHE_DIR"):
        chosen = Path(shared, "nbgrad")
    else:
        import platformdirs

        chosen = Path(platformdirs.user_cache_dir("nbgrad", appauthor=False))
    # Absolute, for the program may change its working directory.
    return chosen.expanduser().absolute()


def _untrusted(info: os.stat_result) -> str:
    """Why code from a folder must not be loaded, or an empty text."""
    if stat.S_ISLNK(info.st_mode):
        return "it is a symbolic link"
    if not hasattr(os, "geteuid"):  # Windows: the user's own profile
        return ""
    if info.st_uid != os.geteuid():
        return "another user owns it"
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "other users can write to it; chmod 700 mends that"
    return ""


# -- files ----------------------------------------------------------------------------------------


def _digest(path: Path, payload: bytes) -> bytes:
    """Of the name too: a good file under another kernel's name would give wrong numbers."""
    return hashlib.sha256(path.name.encode() + b"\0" + payload).digest()


def _read(path: Path) -> bytes:
    """The payload of a file. Raises OSError, or ValueError where it must not be unpickled."""
    with path.open("rb") as file:
        info = os.fstat(file.fileno())
        blob = file.read()
    if hasattr(os, "geteuid") and info.st_uid != os.geteuid():
        raise ValueError("another user owns it")
    payload = blob[32:]
    if blob[:32] != _digest(path, payload):
        raise ValueError("its checksum is wrong")
    if time.time() - info.st_mtime > _DAY:
        with contextlib.suppress(OSError):
            os.utime(path)  # used lately, so `_prune` keeps it
    return payload


def _write(path: Path, payload: bytes) -> None:
    """Write a file so that other processes see all of it or nothing."""
    _prune(path.parent)
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        temporary.write_bytes(_digest(path, payload) + payload)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@cache
def _prune(directory: Path) -> None:
    """Remove the longest unused files beyond the limit; once a process, when it first compiles.

    Code of older versions and temporary files of processes that died go this way. Another process
    that misses a file compiles it again.
    """
    found = []
    for path in directory.iterdir():
        with contextlib.suppress(OSError):  # another process renames and removes files too
            info = path.stat()
            found.append((info.st_mtime, info.st_size, path))
    total = 0
    for _, size, path in sorted(found, reverse=True):
        total += size
        if total > _LIMIT:
            with contextlib.suppress(OSError):
                path.unlink()


def _warn(kind: str, message: str) -> None:
    """Warn once a process for each kind of fault."""
    if kind not in _warned:
        _warned.add(kind)
        warnings.warn(f"nbgrad: {message}", CacheWarning, stacklevel=2)
