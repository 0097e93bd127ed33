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

_CHECKED = 0xFFFFF  # bits of a checksum whose squares are summed in float64 without rounding


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
        """Return the sum of the parts of all ranks, with one Allreduce.

        A rank that fails takes part in it, so that no other rank waits forever, and all ranks raise
        an error.
        """
        started = time.perf_counter()
        leaves = [x for x in trees.flatten(params)[0] if trees.is_differentiable(x)]
        size = 2 + sum(map(np.size, leaves))
        self._require_equal(size, leaves)
        check = _checksum(leaves)
        failure, tree = None, Tree()
        tree.add(Part(np.zeros(size), ()))  # for a rank without shards
        try:
            for i, shard in enumerate(shards):
                tree.add(share(i, shard, params))
        except Exception as error:
            failure = error
        part = tree.sum()
        sent = np.zeros(size + 3 + 2 * self._size)
        times, rows = sent[size + 3 : size + 3 + self._size], sent[size + 3 + self._size :]
        sent[:size] = part.total
        sent[size : size + 3] = failure is not None, check, check * check
        times[self._rank] = time.perf_counter() - started
        rows[self._rank] = sum(seen.rows for seen in part.seen)
        found = np.empty_like(sent)
        self._comm.Allreduce(sent, found)
        if failure is not None:
            raise failure
        failed, total, squares = map(int, found[size : size + 3])
        if failed:
            raise WorkerError(
                f"parallel: {failed} of the {self._size} ranks failed in this step; see their own "
                "errors"
            )
        if squares * self._size != total * total:
            raise WorkerError(
                f"parallel: the parameters differ between the {self._size} ranks: use the same "
                "seed or comm.bcast(params), and update all ranks with the same result"
            )
        times, rows = np.split(found[size + 3 :], 2)
        each = zip(range(self._size), self._names, map(int, rows), times.tolist(), strict=True)
        return Part(found[:size], tuple(Seen(*one) for one in each))

    def _require_equal(self, size: int, leaves: list[Any]) -> None:
        """Raise WorkerError in all ranks if their parameters differ in size.

        An Allreduce of buffers of unequal lengths would abort or hang.
        """
        found = np.empty(2, np.int64)
        self._comm.Allreduce(np.array([size, -size]), found, import_module("mpi4py.MPI").MAX)
        most, least = found[0] - 2, -found[1] - 2
        if most != least:
            shapes = ", ".join(str(np.shape(x)) for x in leaves)
            raise WorkerError(
                f"parallel: ranks have between {least} and {most} parameters, and rank "
                f"{self._rank} has arrays of shapes {shapes}: pass the same parameters on all "
                "ranks, for example with comm.bcast(params)"
            )

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
    return check & _CHECKED
