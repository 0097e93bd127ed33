"""Hashes of the sources that machine code depends on, at the time of import.

`nbgrad/compiler/__init__.py` imports this module before any other that machine code depends on. If
a file changes later, machine code of this process may come from the new file, and is not stored.
"""

import hashlib
import os
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from operator import attrgetter
from pathlib import Path
from types import CodeType
from typing import Any

__all__ = ["SOURCES", "are_as_imported", "lines_of", "of_code", "of_sources"]


def of_sources(place: Traversable) -> str:
    """Hash of the modules in a folder or an archive, and in the folders inside of it: their texts,
    or their bytecode where they come without."""
    parts = []
    for item in sorted(place.iterdir(), key=lambda item: item.name):
        if item.name.endswith((".py", ".pyc")):
            text = _TEXTS[str(item)] = item.read_bytes()
            parts.append((item.name, hashlib.sha256(text).hexdigest()))
        elif item.is_dir() and item.name != "__pycache__" and (inside := of_sources(item)):
            parts.append((item.name, inside))
    return hashlib.sha256(repr(parts).encode()).hexdigest() if parts else ""


_STATE = attrgetter("st_size", "st_ino", "st_mtime_ns", "st_ctime_ns")


def _states(folder: Traversable) -> list[tuple]:
    """Return paths and states of the files that `of_sources` reads; nothing for an archive."""
    found, stack = [], [str(folder)] if isinstance(folder, Path) else []
    while stack:
        for item in os.scandir(stack.pop()):
            if item.name.endswith((".py", ".pyc")):
                found.append((item.path, *_STATE(os.stat(item.path))))
            elif item.is_dir() and item.name != "__pycache__":
                stack.append(item.path)
    return sorted(found)


_TEXTS: dict[str, bytes] = {}
"""By file name."""
_PACKAGE = files(__name__.partition(".")[0])
_ROOMS = ("adjoints", "compiler", "ir", "kernels", "loops", "runtime", "threads")
_FOLDERS = [_PACKAGE / room for room in _ROOMS]
_STATES = list(map(_states, _FOLDERS))  # before they are read
_HASHES = list(map(of_sources, _FOLDERS))
SOURCES = "".join(_HASHES) if all(_HASHES) else ""
"""Hash of every source that machine code depends on; empty where they cannot be found."""


def are_as_imported() -> bool:
    """Whether no source that machine code depends on was written to since it was hashed."""
    try:
        return list(map(_states, _FOLDERS)) == _STATES
    except OSError:
        return False


@lru_cache
def lines_of(path: str) -> list[str]:
    """The lines of one of these sources as it was imported; none of another file."""
    text = _TEXTS.get(path, b"") if path.endswith(".py") else b""
    return text.decode().splitlines(True)


def of_code(code: CodeType) -> str:
    """Hash of what a function does: its bytecode, its names and constants."""
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    parts = (code.co_code, names, [_constant(const) for const in code.co_consts])
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _constant(value: Any) -> str:
    if isinstance(value, CodeType):
        return of_code(value)
    if isinstance(value, (tuple, frozenset)):
        items = [_constant(item) for item in value]
        value = items if isinstance(value, tuple) else sorted(items)
    return f"{type(value).__name__} {value!r}"
