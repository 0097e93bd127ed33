"""The number of cores that this process may use, by its affinity and the CPU quota of its
container.

A control group may have a quota of CPU time per period; when it is used up, threads wait for the
next period.
"""

import math
import os
from contextlib import suppress
from pathlib import Path

from .control_groups import groups

__all__ = ["cores"]

_OLD = "quota", "period"  # the files of version 1; version 2 has one for both


def cores(root: Path = Path("/")) -> int:
    """The number of cores that this process may use. System files are read under `root`."""
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota = min(map(_quota, groups(root, "cpu")), default=math.inf)
        allowed = allowed if quota >= allowed else max(1, math.ceil(quota))
    return allowed


def _quota(group: Path) -> float:
    """The number of cores that a control group may use; infinite without a quota."""
    with suppress(OSError, ValueError):
        quota, period = (group / "cpu.max").read_text().split()
        return math.inf if quota == "max" else int(quota) / int(period)
    with suppress(OSError, ValueError):
        quota, period = (int((group / f"cpu.cfs_{each}_us").read_text()) for each in _OLD)
        return quota / period if quota > 0 else math.inf
    return math.inf
