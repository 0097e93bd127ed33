"""What an engine does, and which one is meant."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from ..errors import MissingExtra
from .work import Part, Share

Rows = np.ndarray | slice
Tell = Callable[[int], None]
"""Called with the number of items that are done."""


class Engine(Protocol):
    """One way to have workers: what they do together, what they hold, and an end."""

    @property
    def workers(self) -> int:
        """How many shards it computes at once."""
        ...

    @property
    def leads(self) -> bool:
        """Whether this process is the one that shows and writes; on MPI rank 0 alone."""
        ...

    @property
    def copies(self) -> bool:
        """Whether workers compute with copies of what `held` brings them."""
        ...

    def step(self, share: Share, params: Any, shards: Sequence[Any]) -> Part:
        """The sum of the parts of all shards, in the order of the tree of `work`."""
        ...

    def map(self, f: Callable, items: Sequence[Any], tell: Tell) -> list[Any]:
        """What `f` gives for each item, in their order."""
        ...

    def held(self, arrays: tuple[np.ndarray, ...]) -> Callable[[Rows], Any]:
        """Bring arrays to the workers, once. The result gives a shard of some of their rows."""
        ...

    def mine(self, shards: list[Any]) -> list[Any]:
        """Those of all shards that this process hands in; on MPI its share, else all."""
        ...

    def agreed(self, make: Callable[[], Any]) -> Any:
        """What `make` gives, or raises, in the process that leads, in all of them."""
        ...

    def close(self) -> None:
        """End what the engine started itself."""
        ...


class Alone:
    """What holds of an engine that one process calls."""

    leads = True
    copies = False

    def held(self, arrays: tuple[np.ndarray, ...]) -> Callable[[Rows], Any]:
        return lambda rows: tuple(x[rows] for x in arrays)

    def mine(self, shards: list[Any]) -> list[Any]:
        return shards

    def agreed(self, make: Callable[[], Any]) -> Any:
        return make()


def engine_of(engine: Any, workers: int | None = None) -> Engine:
    """The engine for what a user gives: None, a name, an executor, a client or a communicator.

    Raises TypeError for anything else, ValueError for an unknown name, and MissingExtra, which says
    what to install, where the name is that of a package that is not there.
    """
    from .executors import Given, Processes, Threads

    if workers is not None and workers < 1:
        raise ValueError(f"parallel: workers={workers}; give one or more")
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
        raise ValueError(
            f'parallel: no engine is named {engine!r}; there are "threads", "processes", "dask" '
            'and "mpi"'
        )
    if isinstance(engine, Executor):  # that of mpi4py.futures too, and a client's
        return Given(engine, workers)
    package = type(engine).__module__.partition(".")[0]
    if package == "distributed":
        from .cluster import Cluster

        return Cluster(engine, workers)
    if package == "mpi4py":
        from .ranks import Ranks

        return Ranks(engine, workers)
    raise TypeError(
        f"parallel: a {type(engine).__name__} is no engine: give None for threads, an executor of "
        "concurrent.futures, a dask.distributed.Client, an MPI communicator, or a name"
    )


def extra(module: str, name: str) -> Any:
    """A module that an extra of nbgrad installs."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(
            f'parallel: engine="{name}" needs {package} ({error}): install it with '
            f'pip install "nbgrad[{name}]"'
        ) from None
