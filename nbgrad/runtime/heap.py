"""Settings of glibc's malloc, so that freed memory is reused.

A gradient allocates arrays and frees them all. By default glibc then returns the end of its heap to
the system, and maps it again in the next step, page by page, each filled with zeros: for arrays of
a few megabytes this takes several times as long as the arithmetic. So glibc is told to keep up to
`KEPT` bytes of freed memory, and to allocate arrays of up to 32 MB, its own limit, from there. On
other systems nothing is changed. Larger gradients are kept here, up to 512 MB in total or a 32nd of
the memory of the machine, and used again when nothing else holds them. Set the environment variable
NBGRAD_KEEP_MEMORY=0 to disable this.
"""

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

__all__ = ["LARGEST", "SPARE", "keep", "keeps_spare", "kept", "on_trim", "room", "trim"]

KEPT = 1 << 27
LARGEST = 1 << 25
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # M_... of malloc.h
_VARIABLE = "NBGRAD_KEEP_MEMORY"


class _Figures(ctypes.Structure):
    """`struct mallinfo2`."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
            "fordblks", "keepcost",
        )
    )  # fmt: skip


@cache
def _library() -> Any:
    """The C library; None where it is not glibc."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "gnu_get_libc_version") else None


SPARE = (ctypes.c_int64 * 3)()
"""The address of the block of memory that machine code keeps, the bytes that it may have, and those
that it has."""
on_trim: list[Callable[[], None]] = []
"""Functions that `trim` calls first."""
_large: list[np.ndarray] = []  # the latest last
_lock = threading.Lock()


def _references(arrays: list[np.ndarray], i: int) -> int:
    """How often an array in a list is held."""
    return sys.getrefcount(arrays[i])


_UNUSED = _references([np.empty(0)], 0)


def room(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array that is not set."""
    size = prod(shape) * dtype.itemsize
    most = _most()
    if not LARGEST < size <= most or not _is_wanted() or not _lock.acquire(blocking=False):
        return np.empty(shape, dtype)
    try:
        sizes = [x.nbytes for x in _large]
        free = (i for i, n in enumerate(sizes) if n == size and _references(_large, i) == _UNUSED)
        place = next(free, None)
        each = np.empty(size, np.uint8) if place is None else _large.pop(place)
        while sum(x.nbytes for x in _large) + size > most:
            del _large[0]
        _large.append(each)
    finally:
        _lock.release()
    return each.view(dtype).reshape(shape)


@cache
def _most() -> int:
    """How many bytes of large arrays are kept."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return KEPT
    return max(KEPT, min(memory // 32, 4 * KEPT))


@cache
def _is_wanted() -> bool:
    """Whether memory is kept. Without a global lock, counts of references are not exact."""
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    return has_lock and os.environ.get(_VARIABLE, "1").strip() != "0"


def keeps_spare() -> bool:
    """Whether machine code may keep a block of memory: it needs glibc."""
    return _library() is not None


def keep() -> None:
    """Make the C library, and machine code, keep freed memory."""
    library = _library()
    if library is not None and os.environ.get(_VARIABLE, "1").strip() != "0":
        library.mallopt(_TRIM_THRESHOLD, KEPT)
        library.mallopt(_MMAP_THRESHOLD, LARGEST)
        SPARE[1] = _most()


def kept() -> int:
    """The memory that is kept, in bytes: that of the C library as far as it is known, and that of
    large arrays."""
    library = _library()
    large = sum(x.nbytes for x in _large) + (SPARE[2] if SPARE[0] else 0)
    figures = getattr(library, "mallinfo2", None)  # since glibc 2.33
    if figures is None:
        return large
    figures.restype = _Figures
    return figures().fordblks + large


def trim() -> int:
    """Return free memory to the system. Returns the number of bytes.

    The process keeps up to 128 MB of freed memory for new arrays, see `nbgrad.stats()["kept"]`, if
    the C library is glibc, and up to 512 MB of large gradients, or a 32nd of the machine's memory.
    Functions with loops keep a large record or array of up to this size, too.
    With NBGRAD_KEEP_MEMORY=0 nothing is kept.

    >>> nbgrad.trim() >= 0
    True
    """
    library, before = _library(), _resident()
    _large.clear()
    for release in on_trim:
        release()
    if library is None:
        return 0
    library.malloc_trim(0)
    return max(0, before - _resident())


def _resident() -> int:
    """The resident memory of this process, in bytes; 0 without `/proc`."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
