"""A Dask cluster, by `dask.distributed`: data stays on its workers, sums are made there."""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from importlib import import_module
from typing import Any

from ..errors import WorkerError
from .engines import Tell
from .versions import here, require_same
from .work import TOGETHER, Part, Share, fold

_TRIES = 5


class Cluster:
    """A client of a cluster. Arrays that the caller holds are sent once and stay, as long as the
    next step has the same ones; delayed ones are computed once, and stay where that was."""

    def __init__(self, client: Any, owned: bool = False):
        self._client, self._owned = client, owned
        self._placed: dict[
            int, tuple[Any, Any]
        ] = {}  # by identity: a shard, and what stands for it
        for worker, versions in client.run(here).items():
            require_same(here(), versions, worker)

    @classmethod
    def local(cls, distributed: Any, workers: int | None) -> "Cluster":
        """A cluster of this machine's cores, or the one that DASK_SCHEDULER_ADDRESS names."""
        if import_module("dask.config").get("scheduler-address", None):
            return cls(distributed.Client(), owned=True)
        cluster = {"n_workers": workers, "threads_per_worker": 1 if workers else None}
        return cls(distributed.Client(**cluster, dashboard_address=None), owned=True)

    def step(self, share: Share, params: Any, shards: Sequence[Any]) -> Part:
        """A step is tried again where a worker died with data that only the caller can send."""
        for _ in range(_TRIES):
            with suppress(CancelledError):
                return self._step(share, params, shards)
            self._placed = {}
        raise WorkerError(
            f"parallel: workers died {_TRIES} times in this step, and data with them. Give shards "
            "as functions that load them, or as client.submit(load, ...), which Dask does again; "
            "what was scattered to one worker is gone with it"
        )

    def _step(self, share: Share, params: Any, shards: Sequence[Any]) -> Part:
        client = self._client
        futures = self._place(shards)
        (sent,) = client.scatter([params], broadcast=True, hash=False)
        made: list[Any] = [sent]
        try:
            parts = client.map(share, range(len(shards)), futures, params=sent, pure=False)
            made += parts
            while len(parts) > 1:
                groups = [parts[i : i + TOGETHER] for i in range(0, len(parts), TOGETHER)]
                parts = client.map(fold, groups, pure=False)
                made += parts
            return parts[0].result()
        except KeyboardInterrupt:
            client.cancel(made)
            raise

    def _place(self, shards: Sequence[Any]) -> list[Any]:
        """What stands for each shard in a task."""
        before, self._placed = self._placed, {}
        for shard in shards:
            if id(shard) not in self._placed:
                known = before.get(id(shard)) or (shard, self._sent(shard))
                self._placed[id(shard)] = known
        return [self._placed[id(shard)][1] for shard in shards]

    def _sent(self, shard: Any) -> Any:
        is_dask_collection = import_module("dask").is_dask_collection
        Future = import_module("distributed").Future

        def remote(x: Any) -> Any:
            return self._client.compute(x) if is_dask_collection(x) else x

        if isinstance(shard, Future) or is_dask_collection(shard):
            return remote(shard)
        if callable(shard):
            return shard
        if isinstance(shard, (tuple, list)):
            inner = [remote(x) for x in shard]
            if any(isinstance(x, Future) for x in inner):
                return self._client.submit(_together, *inner, pure=False)
        return self._client.scatter([shard], hash=False)[0]

    def map(self, f: Callable, items: Sequence[Any], tell: Tell) -> list[Any]:
        as_completed = import_module("distributed").as_completed
        futures = self._client.map(f, list(items), pure=False)
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


def _together(*arrays: Any) -> tuple:
    return arrays
