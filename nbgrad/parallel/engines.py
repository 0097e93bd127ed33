"""The interface of engines, and the choice of one."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from ..errors import ArgumentError, ArgumentTypeError, import_extra
from .work import Part, Share

Rows = np.ndarray | slice
Tell = Callable[[int], None]
"""A function of the number of completed items."""


class Engine:
    """Workers that compute shards. The defaults are those of an engine that one process calls."""

    workers: int
    """The number of shards computed at once."""
    leads: bool = True
    """Whether this process prints and writes results; with MPI, only rank 0 does."""
    copies: bool = False
    """Whether workers compute with copies of the arrays passed to `held`."""

    def step(self, share: Share, params: Any, shards: Sequence[Any]) -> Part:
        """Return the sum of the parts of all shards, in the order of the tree of `work`."""
        raise NotImplementedError

    def map(self, f: Callable, items: Sequence[Any], tell: Tell) -> list[Any]:
        """Return the results of `f` for all items, in order."""
        raise NotImplementedError

    def held(self, arrays: tuple[np.ndarray, ...]) -> Callable[[Rows], Any]:
        """Send arrays to the workers, once. The result returns a shard of selected rows."""
        return lambda rows: tuple(x[rows] for x in arrays)

    def mine(self, shards: list[Any]) -> list[Any]:
        """Select the shards that this process passes to `step`."""
        return shards

    def agreed(self, make: Callable[[], Any]) -> Any:
        """Call `make` in the process that leads; return its result, or raise its error, in all."""
        return make()

    def close(self) -> None:
        """Stop workers that the engine started itself."""


def engine_of(engine: Any, workers: int | None = None) -> Engine:
    """Return the engine for None, a name, an executor, a client or a communicator.

    Raises TypeError for anything else, ValueError for an unknown name, MissingExtra if a package is
    not installed.
    """
    from .executors import Given, Processes, Threads

    if workers is not None and workers < 1:
        raise ArgumentError(f"parallel: workers={workers}: it must be at least 1")
    if engine is None or engine == "threads":
        return Threads(workers)
    if engine == "processes":
        return Processes(workers)
    if engine == "dask":
        from .cluster import Cluster

        return Cluster.local(extra("distributed", "dask"), workers)
    if engine == "mpi":
        from .ranks import Ranks

        return Ranks(extra("mpi4py.MPI", "mpi").COMM_WORLD, workers)
    if isinstance(engine, str):
        raise ArgumentError(
            f'parallel: unknown engine {engine!r}: use "threads", "processes", "dask" or "mpi"'
        )
    if isinstance(engine, Executor):  # also those of mpi4py.futures and Dask
        return Given(engine, workers)
    package = type(engine).__module__.partition(".")[0]
    if package == "distributed":
        from .cluster import Cluster

        return Cluster(engine, workers)
    if package == "mpi4py":
        from .ranks import Ranks

        return Ranks(engine, workers)
    raise ArgumentTypeError(
        f"parallel: a {type(engine).__name__} is not an engine: pass None for threads, an executor "
        "of concurrent.futures, a dask.distributed.Client, an MPI communicator, or a name"
    )


def extra(module: str, name: str) -> Any:
    """Import the module of an engine. Raises MissingExtra if it is not installed."""
    return import_extra(module, f'parallel: engine="{name}"', name)
