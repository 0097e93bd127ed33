"""Work that a process keeps: what one task has compiled, the next ones find."""

import pickle
import threading
import uuid
from collections import OrderedDict
from typing import Any

from ..compiler.forks import fork_safe
from ..errors import WorkerError
from .reads import CARRIED, checksums
from .versions import Versions, here, require_same, whoami

_MOST = 32
_known: OrderedDict[str, "Kept"] = OrderedDict()
_lock = fork_safe(threading.Lock())


class Kept:
    """A callable that is pickled as its class and what that was made of, with checksums of that.

    The first of its parts is the function that it is about. A process keeps the first that it reads
    of each one, as long as the checksums are the same; the newest 32 are kept.
    """

    def __init__(self, function: Any, *parts: Any):
        self.function = function
        self._parts = function, *parts
        self._key = uuid.uuid4().hex
        self._caller = here()
        self._sent: dict[str, bytes] | None = None  # the checksums of the caller
        self._differ: list[str] | None = None  # what has another one here; None: to be compared

    def __reduce__(self) -> tuple:
        sent = checksums(self._parts)
        return _read, (type(self), self._parts, self._key, self._caller, sent)

    def require_same(self, worker: str) -> None:
        """Raise WorkerError where this process has other versions than the caller's, or other
        values of what the function reads by name."""
        require_same(self._caller, here(), worker)
        if self._sent is not None and self._differ is None:
            sent, own = self._sent, checksums(self._parts)
            names = [name for name in {**sent, **own} if name != CARRIED]
            self._differ = [name for name in names if sent.get(name) != own.get(name)]
        if self._differ:
            raise WorkerError(
                f"parallel: {', '.join(self._differ)} of the caller is not that of the worker "
                f"{worker}, which imported its own: globals, functions and attributes of classes "
                "are not sent. Give it as a parameter, in the shards, or as an attribute of an "
                "object that is the loss"
            )


def _read(kind: type[Kept], parts: tuple, key: str, caller: Versions, sent: dict) -> Kept:
    with _lock:
        made = _known.pop(key, None)
        if made is None or made._sent != sent:
            made = kind(*parts)
            made._key, made._caller, made._sent = key, caller, sent
        _known[key] = made
        if len(_known) > _MOST:
            _known.popitem(last=False)
        return made


class Packed:
    """A pickled function, which is read where it is called: a function that a worker cannot import
    is an error of the task that calls it."""

    def __init__(self, sent: bytes):
        self._sent = sent

    def __call__(self, *args: Any) -> Any:
        try:
            function = pickle.loads(self._sent)
        except (ImportError, AttributeError) as error:
            raise WorkerError(
                f"parallel: the worker {whoami()} cannot import a function that it was sent "
                f"({error}): install its module there, or put its file on the PYTHONPATH of the "
                "workers; client.upload_file(file) sends it to those of Dask"
            ) from None
        return function(*args)
