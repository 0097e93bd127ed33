"""The disk cache of compiled kernels.

Numba's own cache keeps an index and a data file per function, which races between processes,
trusts what it unpickles and ignores constants in its key. Here one file holds one compiled
signature: its name is a hash of all that the machine code depends on, its first 32 bytes are the
sha256 of the rest, and it appears by a rename. Whatever goes wrong is a miss.
"""

import hashlib
import os
import pickle
import platform
import stat
import sys
import uuid
import warnings
from functools import cache
from pathlib import Path

import llvmlite
import numba
import numpy as np
from numba.core import serialize
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult

from ..errors import CacheWarning

SUFFIX = ".nbgrad"
counts = {"compiled": 0, "loaded": 0}
_warned: set[str] = set()


class KernelCache(_Cache):
    """Numba's cache interface for one kernel: `load_overload` and `save_overload`.

    `name` is for people who look into the folder, `content` is the text that was compiled.
    """

    def __init__(self, name: str, content: str):
        self._name = name
        self._content = content

    def load_overload(self, sig, target_context):
        target_context.refresh()
        path = self._path(sig, target_context.codegen())
        try:
            blob = path.read_bytes() if path else b""
        except OSError:
            return None
        if not path or not blob:
            if path and path.exists():
                _warn("damaged", f"the cached kernel {path} is empty; it is compiled again")
            return None
        try:
            digest, payload = blob[:32], blob[32:]
            if hashlib.sha256(payload).digest() != digest:
                raise ValueError("its checksum is wrong")
            result = CompileResult._rebuild(target_context, *pickle.loads(payload))
        except Exception as error:
            _warn("damaged", f"the cached kernel {path} is damaged ({error}); it is compiled again")
            return None
        counts["loaded"] += 1
        return result

    def save_overload(self, sig, data):
        counts["compiled"] += 1
        path = self._path(sig, data.codegen)
        if path is None:
            return
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}.tmp")
        try:
            payload = serialize.dumps(data._reduce())
            temporary.write_bytes(hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, path)
        except Exception as error:
            _warn("unsaved", f"a compiled kernel could not be stored in {path.parent} ({error})")
            temporary.unlink(missing_ok=True)

    def _path(self, sig, codegen) -> Path | None:
        directory = folder()
        if directory is None:
            return None
        parts = (self._name, self._content, str(sig), repr(codegen.magic_tuple()), stamp())
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


@cache
def folder() -> Path | None:
    """The folder for compiled kernels, or None where only memory can be used.

    `NBGRAD_CACHE_DIR`, else `NUMBA_CACHE_DIR`, else the user's cache folder. Inside it, a
    sub-folder of our own with mode 0700: unpickling runs code, so a folder that another user
    owns or can write to is never used.
    """
    chosen = os.environ.get("NBGRAD_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    try:
        if not chosen:
            import platformdirs

            chosen = platformdirs.user_cache_dir("nbgrad", appauthor=False)
        own = Path(chosen).expanduser() / "kernels"
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        if fault := _untrusted(own):
            _warn("folder", f"the cache folder {own} is not used: {fault}")
            return None
        probe = own / f"{uuid.uuid4().hex[:12]}.tmp"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError) as error:
        _warn(
            "folder",
            f"no kernel cache ({error}): kernels are compiled again in each process; "
            "set NBGRAD_CACHE_DIR to a folder that can be written",
        )
        return None
    return own


def _untrusted(path: Path) -> str:
    """Why code from `path` must not be loaded, or an empty text."""
    if not hasattr(os, "getuid"):
        return ""
    info = path.stat()
    if info.st_uid != os.getuid():
        return "another user owns it"
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "other users can write to it (chmod 700 mends that)"
    return ""


def _warn(kind: str, message: str) -> None:
    """Warn once a process for each kind of fault."""
    if kind not in _warned:
        _warned.add(kind)
        warnings.warn(f"nbgrad: {message}", CacheWarning, stacklevel=2)
