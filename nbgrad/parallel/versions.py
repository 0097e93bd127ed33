"""What a process is called, and what has to be equal on all workers, so that they compute the same
numbers."""

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
    """Those of this process."""
    nbgrad, numba = (sys.modules[name].__version__ for name in ("nbgrad", "numba"))
    return Versions(nbgrad, numba, platform.python_version())


def require_same(mine: Versions, theirs: Versions, worker: str) -> None:
    """Raise WorkerError for a worker with other versions than the caller's."""
    differ = [
        f"{name} {other} where the caller has {own}"
        for name, own, other in zip(Versions._fields, mine, theirs, strict=True)
        if own != other
    ]
    if differ:
        raise WorkerError(
            f"parallel: the worker {worker} has {', '.join(differ)}: its numbers might differ, so "
            "install the same versions everywhere"
        )


def whoami() -> str:
    """This worker: its machine, its process, and its thread where that is not the main one."""
    thread = threading.current_thread()
    name = f"{socket.gethostname()}:{os.getpid()}"
    return name if thread is threading.main_thread() else f"{name} {thread.name}"
