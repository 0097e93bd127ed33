"""What has to be equal on all workers, so that they compute the same numbers."""

import platform
import sys
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
