"""Memory that is used again.

A gradient makes arrays and frees them all. glibc then gives the end of its heap back to the system
and fetches it anew in the next step, page by page, each filled with zeros: for arrays of a few
megabytes that takes several times as long as the arithmetic. So glibc is asked to keep up to `KEPT`
bytes of what is freed, and to serve arrays of up to 32 MB, its own limit, from there. Elsewhere
nothing is changed. The environment variable NBGRAD_KEEP_MEMORY=0 leaves glibc as it is.
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
    """Have the C library keep what is freed."""
    library = _library()
    if library is not None and os.environ.get(_VARIABLE, "1").strip() != "0":
        library.mallopt(_TRIM_THRESHOLD, KEPT)
        library.mallopt(_MMAP_THRESHOLD, LARGEST)


def kept() -> int:
    """Bytes that the C library keeps, free to be used again; 0 where it does not tell."""
    library = _library()
    figures = getattr(library, "mallinfo2", None)  # since glibc 2.33
    if figures is None:
        return 0
    figures.restype = _Figures
    return figures().fordblks


def trim() -> int:
    """Give memory that is kept for later arrays back to the system; returns how many bytes.

    What is freed stays with the process, up to 128 MB, and the next arrays are made of it: see
    `nbgrad.stats()["kept"]`. Where the C library is not glibc nothing is kept and this does
    nothing. NBGRAD_KEEP_MEMORY=0 keeps nothing.

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
    """Bytes of memory that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
