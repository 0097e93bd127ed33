"""The number of cores that this process may use, by its affinity and the CPU quota of its
container.

On Linux each process belongs to a control group. A group and its ancestors may each have a quota of
CPU time per period; when it is used up, threads wait for the next period.
"""

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

__all__ = ["cores"]

_OLD = "quota", "period"  # the files of version 1; version 2 has one for both


def cores(root: Path = Path("/")) -> int:
    """The number of cores that this process may use. System files are read under `root`."""
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota = min(map(_quota, _groups(root)), default=math.inf)
        allowed = allowed if quota >= allowed else max(1, math.ceil(quota))
    return allowed


def _groups(root: Path) -> Iterator[Path]:
    """The folders of this process's control groups with CPU quotas, and of their ancestors."""
    own = [line.split(":", 2) for line in (root / "proc/self/cgroup").read_text().splitlines()]
    for line in (root / "proc/self/mountinfo").read_text().splitlines():
        mount, _, kind = line.partition(" - ")
        system, _, options = kind.split(" ", 2)
        for number, controllers, path in own:
            if system == "cgroup2":
                is_own = number == "0" and not controllers
            else:
                names = controllers.split(","), options.split(",")
                is_own = system == "cgroup" and all("cpu" in each for each in names)
            if is_own:
                yield from _folders(root, mount.split(" ")[3:5], PurePosixPath(path))


def _folders(root: Path, mount: list[str], path: PurePosixPath) -> Iterator[Path]:
    """The folders of a group and its ancestors, as far as they are mounted."""
    source, target = (PurePosixPath(each.replace("\\040", " ")) for each in mount)
    inside = path.relative_to(source) if path.is_relative_to(source) else PurePosixPath()
    top = root / target.relative_to("/")
    for folder in (inside, *inside.parents):
        yield top / folder


def _quota(group: Path) -> float:
    """The number of cores that a control group may use; infinite without a quota."""
    with suppress(OSError, ValueError):
        quota, period = (group / "cpu.max").read_text().split()
        return math.inf if quota == "max" else int(quota) / int(period)
    with suppress(OSError, ValueError):
        quota, period = (int((group / f"cpu.cfs_{each}_us").read_text()) for each in _OLD)
        return quota / period if quota > 0 else math.inf
    return math.inf
