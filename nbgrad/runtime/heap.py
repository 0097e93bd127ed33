"""Settings of glibc's malloc, so that freed memory is reused.

A gradient allocates arrays and frees them all. By default glibc then returns the end of its heap to
the system, and maps it again in the next step, page by page, each filled with zeros: for arrays of
a few megabytes this takes several times as long as the arithmetic. So glibc is told to keep up to
`KEPT` bytes of freed memory, and to allocate arrays of up to 32 MB, its own limit, from there. On
other systems nothing is changed. Set the environment variable NBGRAD_KEEP_MEMORY=0 to disable this.
"""

import ctypes
import os
import sys
from functools import cache
from typing import Any

__all__ = ["keep", "kept", "trim"]

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


def keep() -> None:
    """Make the C library keep freed memory."""
    library = _library()
    if library is not None and os.environ.get(_VARIABLE, "1").strip() != "0":
        library.mallopt(_TRIM_THRESHOLD, KEPT)
        library.mallopt(_MMAP_THRESHOLD, LARGEST)


def kept() -> int:
    """The free memory that the C library keeps, in bytes; 0 if it is not known."""
    library = _library()
    figures = getattr(library, "mallinfo2", None)  # since glibc 2.33
    if figures is None:
        return 0
    figures.restype = _Figures
    return figures().fordblks


def trim() -> int:
    """Return free memory to the system. Returns the number of bytes.

    The process keeps up to 128 MB of freed memory for new arrays: see `nbgrad.stats()["kept"]`. If
    the C library is not glibc, or NBGRAD_KEEP_MEMORY=0 is set, nothing is kept.

    >>> nbgrad.trim() >= 0
    True
    """
    library = _library()
    if library is None:
        return 0
    before = _resident()
    library.malloc_trim(0)
    return max(0, before - _resident())


def _resident() -> int:
    """The resident memory of this process, in bytes; 0 without `/proc`."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
