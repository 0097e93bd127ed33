"""Records that are kept after a run forward, for runs backward.

Their total size is bounded. A call whose record does not fit keeps none: its function runs forward
again in the pullback.
"""

import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..adjoints.record import Fact
from ..compiler.forks import fork_safe
from ..compiler.llvm_heap import freeing
from ..core.primitive import shape_of
from ..runtime.heap import room
from ..threads.pool import start_if_wanted
from . import kernels
from .packed import Derivative
from .status import FACTS

__all__ = ["MOST", "Kept", "latest_status", "value_and_record"]

MOST = 1 << 28
"""The bytes that all records may take."""

latest_status: WeakKeyDictionary[Any, np.ndarray] = WeakKeyDictionary()
"""For each function the status of the latest run that was to keep its record."""

_lock = fork_safe(threading.RLock())
_taken = [0]


class Kept:
    """A record, and the derivative that runs backward from it."""

    __slots__ = ("of", "status")

    def __init__(self, of: Derivative, status: np.ndarray):
        self.of, self.status = of, status
        with _lock:
            _taken[0] += self.size

    def __del__(self):
        freeing()(self.status.item(FACTS + Fact.ADDRESS))
        with _lock:
            _taken[0] -= self.size

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.status.item(FACTS + Fact.KEPT)

    def __repr__(self) -> str:
        return f"a record of {self.size} bytes"


def value_and_record(
    of: Derivative, wrt: tuple[int, ...], arguments: Sequence[Any]
) -> tuple[np.ndarray, Kept] | None:
    """The value of a call, and the record for cotangents of leaves `wrt`; None for a call that
    keeps none."""
    halves = _halves_of(of, wrt)
    if halves is None:
        return None
    forward, backward = halves
    vector = room((of.size([shape_of(x) for x in arguments]),), of.dtype)
    runs = kernels.runs_of(forward)
    status = runs.keeping(*arguments, vector, room=MOST - _taken[0])
    latest_status[of.signature.function] = runs.status
    if status is None:
        return None
    start_if_wanted()
    return vector, Kept(backward, status)


@lru_cache(maxsize=4096)
def _halves_of(of: Derivative, wrt: tuple[int, ...]) -> tuple[Derivative, Derivative] | None:
    forward = of.changed(wrt=wrt, half="forward")
    return (forward, forward.changed(half="backward")) if forward.is_possible else None
