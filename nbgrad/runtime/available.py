"""How much memory this process may still take, by the machine and the limits of its containers."""

import ctypes
import math
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from .control_groups import groups

__all__ = ["LARGEST", "TOTAL", "available", "readable"]

_FILES = (  # of the two versions of control groups: limit, use, cached files that can be dropped
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def available(root: Path = Path("/")) -> int:
    """The bytes that may be taken now. System files are read under `root`."""
    return min(_bytes(root, is_total=False), _limit[0])


_limit = [sys.maxsize]  # for tests


def _bytes(root: Path, is_total: bool) -> int:
    """The memory that is available; with `is_total`, all that this process may ever have."""
    found = sys.maxsize
    with suppress(OSError, ValueError, KeyError):
        lines = (root / "proc/meminfo").read_text().splitlines()
        figures = {key: rest.split()[0] for key, _, rest in (x.partition(":") for x in lines)}
        found = int(figures["MemTotal" if is_total else "MemAvailable"]) << 10
    with suppress(OSError, ValueError):
        for group in groups(root, "memory"):
            found = min([found, *_of_group(group, is_total)])
    return found if found < sys.maxsize else _elsewhere(is_total)


def _of_group(group: Path, is_total: bool) -> Iterator[int]:
    for limit, used, cached in _FILES:
        with suppress(OSError, ValueError):  # "max" is no limit
            most = int((group / limit).read_text())
            if not is_total:
                lines = (group / "memory.stat").read_text().splitlines()
                dropped = sum(int(x.split()[1]) for x in lines if x.startswith(f"{cached} "))
                most += min(0, dropped - int((group / used).read_text()))
            yield max(most, 0)


class _Status(ctypes.Structure):
    """`MEMORYSTATUSEX` of Windows."""

    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("length", "load")),
        *((name, ctypes.c_uint64) for name in ("total", "available", "a", "b", "c", "d", "e")),
    )


def _elsewhere(is_total: bool) -> int:
    """The same on other systems; all memory of the machine where nothing else is known."""
    if sys.platform == "win32":
        status = _Status(length=ctypes.sizeof(_Status))
        library: Any = ctypes.windll.kernel32
        library.GlobalMemoryStatusEx(ctypes.byref(status))
        return status.total if is_total else status.available
    with suppress(OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return sys.maxsize


TOTAL = ctypes.c_int64(_bytes(Path("/"), is_total=True))
"""All that this process may have, a variable that compiled code reads."""


LARGEST = 10**15
"""No machine has so many bytes."""


def readable(count: float) -> str:
    """A number of bytes for people, as 1.6 GB."""
    if count >= LARGEST:
        return "more than 1000 TB"
    step = min(int(math.log10(max(count, 1)) / 3), 4)
    number = count / 1000**step
    unit = ("bytes", "kB", "MB", "GB", "TB")[step]
    return f"{number:.0f} {unit}" if step == 0 or number >= 99.5 else f"{number:.2g} {unit}"
