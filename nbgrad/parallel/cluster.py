"""The engine for Dask clusters: data stays on the workers, and sums are computed there."""

import os
import signal
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from ..errors import WorkerError
from ..transforms import trees
from .engines import Engine, Rows, Tell
from .kept import Packed
from .reads import CARRIED, checksums
from .versions import Versions, here, require_same
from .work import TOGETHER, Part, Share, fold

_TRIES = 6
_PAUSE = 0.1  # seconds, doubled at each try
_SMALL = 100_000  # bytes
_LOOK, _WAIT = 5.0, 20.0  # seconds between checks for workers; seconds to wait for a worker


class Cluster(Engine):
    """A client of a Dask cluster.

    Arrays of the caller are sent once and stay on the workers while the next step uses the same
    ones. Delayed arrays are computed once and stay where they were computed.
    """

    copies = True

    def __init__(self, client: Any, workers: int | None = None, owned: bool = False):
        """`workers` is the expected number of worker threads; None means the current number."""
        self._client, self._owned = client, owned
        # Constant, although workers may come and go: results depend on the number of shards.
        self.workers = workers or max(sum(client.nthreads().values()), 1)
        self._placed: dict[int, _Placed] = {}  # by the identity of a shard
        self._expects, self._seen = workers is not None, False  # workers
        self._changes = False  # whether a shard was written to between two steps
        for worker, found in client.run(_prepared, os.getpid(), on_error="return").items():
            if isinstance(found, OSError):  # it has just died; its tasks go to others
                continue
            if isinstance(found, Exception):
                raise WorkerError(f"parallel: the worker {worker} cannot run nbgrad: {found}")
            require_same(here(), found, worker)

    @classmethod
    def local(cls, distributed: Any, workers: int | None) -> "Cluster":
        """Return a cluster on this machine, or the one given by DASK_SCHEDULER_ADDRESS."""
        if import_module("dask.config").get("scheduler-address", None):
            return cls(distributed.Client(), workers, owned=True)
        cluster = {"n_workers": workers, "threads_per_worker": 1 if workers else None}
        return cls(distributed.Client(**cluster, dashboard_address=":0"), workers, owned=True)

    def held(self, arrays: tuple[Any, ...]) -> Callable[[Rows], Any]:
        """Hold arrays as the result of a task.

        Workers copy it from each other, and Dask repeats the task if its worker dies.
        """
        source = self._task(_opened, _Sealed(arrays))
        return lambda rows: self._client.submit(_rows, source, rows, pure=False)

    def step(self, share: Share, params: Any, shards: Sequence[Any]) -> Part:
        """Return the sum of the parts of all shards.

        Dask repeats the tasks of a worker that died. The step is repeated if data was lost that
        only the caller can send, or if the worker died while it received data.
        """
        distributed = import_module("distributed")
        again = CancelledError, distributed.comm.CommClosedError
        for i in range(_TRIES):
            try:
                return self._step(share, params, shards)
            except distributed.KilledWorker as error:
                raise WorkerError(
                    f"parallel: a shard kills its worker, perhaps for lack of memory: {error}"
                ) from error
            except Exception as error:
                if self._client.status != "running":
                    raise WorkerError(
                        "parallel: the scheduler of the cluster is lost, or its client was closed: "
                        "restart the cluster and create a new client and a new value_and_grad; a "
                        "training can continue from its last checkpoint"
                    ) from None
                if not isinstance(error, again):
                    raise
                self._placed = {}
                time.sleep(_PAUSE * 2**i)  # until the scheduler knows
        raise WorkerError(
            f"parallel: workers died {_TRIES} times in this step, and their data is lost. Pass "
            "shards as functions that load them, or as client.submit(load, ...), which Dask can "
            "repeat; scattered data is lost with its worker"
        )

    def _step(self, share: Share, params: Any, shards: Sequence[Any]) -> Part:
        client, step = self._client, uuid.uuid4().hex
        if self._changes:
            self._forget_changed()
        futures = self._place(shards)
        # Small parameters are sent with each task, and the caller sums: two transfers less.
        sent, small, made = _Sealed(params), _is_small(params), []
        if not small:
            sent = self._task(_opened, sent, f"parameters-{step}")
            made.append(sent)
        try:
            keys = [f"shard-{i}-{step}" for i in range(len(shards))]
            task = partial(_part_of, self._packed(share))
            parts = client.map(task, range(len(shards)), futures, params=sent, key=keys)
            made += parts
            while len(parts) > (TOGETHER if small else 1):
                groups = [parts[i : i + TOGETHER] for i in range(0, len(parts), TOGETHER)]
                parts = client.map(fold, groups, pure=False)
                made += parts
            # Checked while the workers compute, unless a step had to be repeated before.
            if not self._changes and self._forget_changed():
                self._changes = True
                client.cancel(made)
                return self._step(share, params, shards)
            return fold(self._gathered(parts))
        except KeyboardInterrupt:
            client.cancel(made)
            raise

    def _gathered(self, futures: list[Any]) -> list[Any]:
        """Return the results of tasks, and check that there are workers while waiting."""
        distributed, waiting = import_module("distributed"), futures
        while waiting:
            try:
                done, waiting = distributed.wait(waiting, _LOOK, "FIRST_COMPLETED")
            except distributed.TimeoutError:
                self._require_workers()
                continue
            if any(future.status != "finished" for future in done):
                break  # gather raises the error
        return self._client.gather(futures)

    def _require_workers(self) -> None:
        """Raise WorkerError if there are no workers.

        A cluster that is expected to have workers, and had none yet, is waited for without limit.
        """
        client = self._client
        if self._expects and not self._seen:
            client.wait_for_workers(1)
        try:
            client.wait_for_workers(1, timeout=_WAIT)
        except TimeoutError:
            raise WorkerError(
                f"parallel: the cluster at {client.scheduler.address} has no workers, and none "
                f"started in {_WAIT:g} s: start some, for example with cluster.scale(2), and call "
                "again; lost data is sent again"
            ) from None
        self._seen = True

    def _task(self, function: Callable, argument: Any, key: str | None = None) -> Any:
        """Submit a task with a large argument, without Dask's warning about large graphs."""
        dask = import_module("dask")
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self._client.submit(function, argument, key=key, pure=False)

    def _packed(self, f: Callable) -> Packed:
        """Pickle a function with Dask's pickler: by value if it is not importable."""
        return Packed(import_module("distributed.protocol.pickle").dumps(f))

    def _place(self, shards: Sequence[Any]) -> list[Any]:
        """Return the futures of shards; send those that are new."""
        before, self._placed = self._placed, {}
        if any(id(shard) not in before for shard in shards):
            self._require_workers()
        for shard in shards:
            if id(shard) not in self._placed:
                known = before.get(id(shard)) or _Placed(shard, _sum(shard), self._sent(shard))
                self._placed[id(shard)] = known
        return [self._placed[id(shard)].future for shard in shards]

    def _forget_changed(self) -> bool:
        """Forget shards that were modified after they were sent; return whether there are any."""
        changed = [key for key, x in self._placed.items() if _sum(x.shard) != x.sent]
        for key in changed:
            del self._placed[key]
        return bool(changed)

    def _sent(self, shard: Any) -> Any:
        is_dask_collection = import_module("dask").is_dask_collection
        Future = import_module("distributed").Future

        def remote(x: Any) -> Any:
            return self._client.compute(x) if is_dask_collection(x) else x

        if isinstance(shard, Future) or is_dask_collection(shard):
            return remote(shard)
        if callable(shard):
            return self._packed(shard)
        if isinstance(shard, (tuple, list)):
            inner = [remote(x) for x in shard]
            if any(isinstance(x, Future) for x in inner):
                return self._client.submit(_together, *inner, pure=False)
        return self._client.scatter([shard], hash=False)[0]

    def map(self, f: Callable, items: Sequence[Any], tell: Tell) -> list[Any]:
        as_completed = import_module("distributed").as_completed
        futures = self._client.map(self._packed(f), list(items), pure=False)
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                tell(done)
            return self._client.gather(futures)
        except BaseException:
            self._client.cancel(futures)
            raise

    def close(self) -> None:
        self._placed = {}
        if self._owned:
            self._client.close()


def _prepared(caller: int) -> Versions:
    """Ignore Ctrl-C in a worker that the caller started on the same terminal."""
    if os.getppid() == caller and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return here()


class _Placed(NamedTuple):
    """A shard, its checksum when it was sent, and its future."""

    shard: Any
    sent: bytes
    future: Any


def _sum(shard: Any) -> bytes:
    """Return the checksum of the arrays of a shard that the caller holds."""
    is_dask_collection = import_module("dask").is_dask_collection
    Future = import_module("distributed").Future
    parts = shard if isinstance(shard, (tuple, list)) else ()
    own = [x for x in parts if not isinstance(x, Future) and not is_dask_collection(x)]
    return checksums(own)[CARRIED]


def _is_small(params: Any) -> bool:
    return sum(getattr(x, "nbytes", 0) for x in trees.flatten(params)[0]) <= _SMALL


def _together(*arrays: Any) -> tuple:
    return arrays


def _rows(arrays: tuple[Any, ...], rows: Rows) -> tuple:
    return tuple(x[rows] for x in arrays)


class _Sealed:
    """Parameters or data of a task, in which Dask does not search for other tasks."""

    def __init__(self, params: Any):
        self.params = params


def _opened(sealed: _Sealed) -> Any:
    return sealed.params


def _part_of(share: Packed, index: int, shard: Any, params: Any) -> Part:
    return share(index, shard, params.params if isinstance(params, _Sealed) else params)
