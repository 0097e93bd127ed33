"""Callables that worker processes cache, so that later tasks use what was compiled."""

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
    """A callable that is pickled as its class and constructor arguments, with checksums of them.

    The first argument is the user's function. A process caches the callables that it unpickles, as
    long as their checksums do not change, up to 32 of them.
    """

    def __init__(self, function: Any, *parts: Any):
        self.function = function
        self._parts = function, *parts
        self._key = uuid.uuid4().hex
        self._caller = here()
        self._sent: dict[str, bytes] | None = None  # the checksums of the caller
        self._differ: list[str] | None = None  # names with other checksums here; None: not compared

    def __reduce__(self) -> tuple:
        sent = checksums(self._parts)
        return _read, (type(self), self._parts, self._key, self._caller, sent)

    def require_same(self, worker: str) -> None:
        """Raise WorkerError if versions, or globals that the function reads, differ here."""
        require_same(self._caller, here(), worker)
        if self._sent is not None and self._differ is None:
            sent, own = self._sent, checksums(self._parts)
            names = [name for name in {**sent, **own} if name != CARRIED]
            self._differ = [name for name in names if sent.get(name) != own.get(name)]
        if self._differ:
            raise WorkerError(
                f"parallel: {', '.join(self._differ)} differs between the caller and the worker "
                f"{worker}, which imported its own: globals, functions and class attributes are "
                "not sent. Pass it as a parameter, in the shards, or as an attribute of the object "
                "that is the loss"
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
    """A pickled function that is unpickled when it is called.

    If a worker cannot import the function, the task raises the error.
    """

    def __init__(self, sent: bytes):
        self._sent = sent

    def __call__(self, *args: Any) -> Any:
        try:
            function = pickle.loads(self._sent)
        except (ImportError, AttributeError) as error:
            raise WorkerError(
                f"parallel: the worker {whoami()} cannot import a function ({error}): install its "
                "module there, add its folder to the PYTHONPATH of the workers, or send its file "
                "to Dask workers with client.upload_file(file)"
            ) from None
        return function(*args)
