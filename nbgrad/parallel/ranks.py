"""The engine for MPI, with mpi4py: all ranks run the same program."""

import sys
import time
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import WorkerError
from ..transforms import trees
from .engines import Engine, Tell
from .versions import here, require_same, whoami
from .work import Part, Seen, Share, Tree


class Ranks(Engine):
    """An MPI communicator: each rank passes its own shards and receives the total."""

    def __init__(self, communicator: Any, workers: int | None = None):
        self._comm = communicator
        self._rank, self._size = communicator.Get_rank(), communicator.Get_size()
        self.workers, self.leads = self._size, self._rank == 0
        if workers not in (None, self._size):
            raise WorkerError(
                f"parallel: workers={workers}, but the number of ranks is {self._size}: start the "
                f"program with mpiexec -n {workers}"
            )
        _end_all_by_errors()
        self._names: list[str] = []
        for name, versions in communicator.allgather((whoami(), here())):
            require_same(here(), versions, name)
            self._names.append(name)

    def step(self, share: Share, params: Any, shards: Sequence[Any]) -> Part:
        """Return the sum of the parts of all ranks.

        A rank that fails takes part in the exchange before the sum, so that no other rank waits
        forever, and all ranks raise an error.
        """
        started = time.perf_counter()
        leaves = [x for x in trees.flatten(params)[0] if trees.is_differentiable(x)]
        size = 2 + sum(map(np.size, leaves))
        failure, tree = None, Tree()
        tree.add(Part(np.zeros(size), ()))  # for a rank without shards
        try:
            for i, shard in enumerate(shards):
                tree.add(share(i, shard, params))
        except Exception as error:
            failure = error
        part = tree.sum()
        rows, seconds = sum(seen.rows for seen in part.seen), time.perf_counter() - started
        mine = np.array([failure is not None, size, _checksum(leaves), rows, seconds])
        every = np.empty((self._size, len(mine)))
        self._comm.Allgather(mine, every)
        failed, sizes, checks, rows, seconds = every.T
        # An Allreduce of buffers of unequal lengths would abort or hang.
        if np.ptp(sizes):
            shapes = ", ".join(str(np.shape(x)) for x in leaves)
            raise WorkerError(
                f"parallel: ranks have between {sizes.min() - 2:.0f} and {sizes.max() - 2:.0f} "
                f"parameters, and rank {self._rank} has arrays of shapes {shapes}: pass the same "
                "parameters on all ranks, for example with comm.bcast(params)"
            )
        if failure is not None:
            raise failure
        if failed.any():
            raise WorkerError(
                f"parallel: {failed.sum():.0f} of the {self._size} ranks failed in this step; see "
                "their own errors"
            )
        if np.ptp(checks):
            raise WorkerError(
                f"parallel: the parameters differ between the {self._size} ranks: use the same "
                "seed or comm.bcast(params), and update all ranks with the same result"
            )
        total = np.empty(size)
        self._comm.Allreduce(part.total, total)
        each = zip(range(self._size), self._names, map(int, rows), seconds.tolist(), strict=True)
        return Part(total, tuple(Seen(*one) for one in each))

    def map(self, f: Callable, items: Sequence[Any], tell: Tell) -> list[Any]:
        """Compute every size-th item on each rank, and return all results on all ranks."""
        mine, failure = {}, None
        try:
            for i in range(self._rank, len(items), self._size):
                mine[i] = f(items[i])
                tell(i + 1)
        except Exception as error:
            failure = error
        everywhere = self._comm.allgather((mine, failure is not None))
        if failure is not None:
            raise failure
        failed = [rank for rank, (_, bad) in enumerate(everywhere) if bad]
        if failed:
            raise WorkerError(f"parallel: map failed on the ranks {failed}; see their own errors")
        found = {i: result for results, _ in everywhere for i, result in results.items()}
        return [found[i] for i in range(len(items))]

    def mine(self, shards: list[Any]) -> list[Any]:
        return shards[self._rank :: self._size]

    def agreed(self, make: Callable[[], Any]) -> Any:
        made, failure = None, None
        if self.leads:
            try:
                made = make()
            except Exception as error:
                failure = error
        made, failure = self._comm.bcast((made, failure))
        if failure is not None:
            raise failure
        return made


@cache
def _end_all_by_errors() -> None:
    """Abort all ranks after an uncaught error in this one, for which they would wait forever.

    `python -m mpi4py` does the same for errors before the first use of an engine.
    """
    set_abort_status = import_module("mpi4py.run").set_abort_status
    before = sys.excepthook

    def hook(kind: Any, error: Any, trace: Any) -> None:
        before(kind, error, trace)
        set_abort_status(1)

    sys.excepthook = hook


def _checksum(leaves: list[Any]) -> int:
    check = 0
    for x in leaves:
        check = zlib.crc32(np.ascontiguousarray(x).view(np.uint8).data, check)
    return check
