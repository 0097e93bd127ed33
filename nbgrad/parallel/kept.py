"""Work that a process keeps: what one task has compiled, the next ones find."""

import threading
import uuid
from collections import OrderedDict
from typing import Any

from ..kernels.jit.forks import fork_safe
from .versions import Versions, here, require_same

_MOST = 32
_known: OrderedDict[str, "Kept"] = OrderedDict()
_lock = fork_safe(threading.Lock())


class Kept:
    """A callable that is pickled as its class and what that was made of.

    The first of its parts is the function that it is about. A process keeps the first that it reads
    of each one, and takes it for all later ones; the newest 32 are kept.
    """

    def __init__(self, function: Any, *parts: Any):
        self.function = function
        self._parts = function, *parts
        self._key = uuid.uuid4().hex
        self._caller = here()

    def __reduce__(self) -> tuple:
        return _read, (type(self), self._parts, self._key, self._caller)

    def require_versions(self, worker: str) -> None:
        """Raise WorkerError where this process has other versions than the caller's."""
        require_same(self._caller, here(), worker)


def _read(kind: type[Kept], parts: tuple, key: str, caller: Versions) -> Kept:
    with _lock:
        if key not in _known:
            made = kind(*parts)
            made._key, made._caller = key, caller
            _known[key] = made
            if len(_known) > _MOST:
                _known.popitem(last=False)
        return _known[key]
