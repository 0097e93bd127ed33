"""Names of worker processes, and the versions that must be equal on all workers."""

import os
import platform
import socket
import sys
import threading
from functools import cache
from typing import NamedTuple

from ..errors import WorkerError


class Versions(NamedTuple):
    """The versions of one process."""

    nbgrad: str
    numba: str
    python: str


@cache
def here() -> Versions:
    """Return the versions of this process."""
    nbgrad, numba = (sys.modules[name].__version__ for name in ("nbgrad", "numba"))
    return Versions(nbgrad, numba, platform.python_version())


def require_same(mine: Versions, theirs: Versions, worker: str) -> None:
    """Raise WorkerError if the versions of a worker differ from those of the caller."""
    differ = [
        f"{name} {other} and the caller {own}"
        for name, own, other in zip(Versions._fields, mine, theirs, strict=True)
        if own != other
    ]
    if differ:
        raise WorkerError(
            f"parallel: the worker {worker} has {', '.join(differ)}: results might differ, so "
            "install the same versions everywhere"
        )


def whoami() -> str:
    """Return the name of this worker: machine, process, and thread unless it is the main one."""
    thread = threading.current_thread()
    name = f"{socket.gethostname()}:{os.getpid()}"
    return name if thread is threading.main_thread() else f"{name} {thread.name}"
