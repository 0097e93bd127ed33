"""Value and gradient of a loss over shards of data, on any engine."""

import time
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np

from ..core.array import Array
from ..transforms import trees
from .engines import Engine, engine_of
from .ranks import Ranks
from .report import Report
from .work import Share


def value_and_grad(
    loss: Callable[..., Any],
    engine: Any = None,
    reduce: Literal["mean", "sum"] = "mean",
    *,
    workers: int | None = None,
    compile: bool = True,
) -> "ValueAndGrad":
    """The function that gives the value of a loss and its gradient over data in shards.

    Arguments:
        loss: called as `loss(params, *shard)`, gives one number. Other processes must be able to
            import it; Dask takes any function.
        engine: who computes. None or "threads": threads here. "processes": processes of this
            machine. Any `concurrent.futures` executor. A `dask.distributed.Client`, or "dask" for a
            cluster on this machine. An MPI communicator of mpi4py, or "mpi" for all ranks.
        reduce: "mean", where the loss is a mean over rows: shards weigh as the first axis of their
            first array is long, one without rows nothing. "sum": values and gradients are added.
        workers: how many, for an engine that is named; all cores where None. For a cluster or an
            executor, how many it will have; those of now where None.
        compile: compile the loss and its gradient, once a worker for each shape of a shard.

    The result is called as `vg(params, shards)` and gives `(value, gradient)`, of the loss of all
    the data, as `nbgrad.value_and_grad` does:

        mean: sum(n_i loss(params, *shard_i)) / sum(n_i)        sum: sum(loss(params, *shard_i))

    `params` are floats in any nesting. `shards` is a list of shards: a tuple of arrays; a function
    without arguments that gives one, called where it is needed in each step; on Dask also a future
    or a delayed one, or a tuple of those. On MPI each rank gives its own shards, maybe none, and
    equal parameters.

    Parameters travel once a step, and one flat float64 buffer of sums. Sums have a fixed order: the
    bits are the same from run to run, for any number of workers, and on all engines but MPI, where
    they are those of the same number of ranks.

    `vg.report` tells of the last step; `vg.close()`, or `with` around, ends workers of a named
    engine.

    Raises TypeError for a shard that is no tuple, a loss that cannot be sent and an engine that is
    none; WorkerError for a worker that died, where its engine does not start it again, or has
    other versions; what the loss raises, with a note that names the shard.

    >>> vg = nbgrad.parallel.value_and_grad(lambda w, x: np.sum(w * x), reduce="sum")
    >>> vg(2.0, [(np.ones(2),), (np.ones(3),)])
    (10.0, np.float64(5.0))
    """
    trees.require_function("parallel.value_and_grad", loss)
    if reduce not in ("mean", "sum"):
        raise ValueError(f'parallel.value_and_grad: reduce={reduce!r}; give "mean" or "sum"')
    share = Share(loss, reduce == "mean", compile)
    return ValueAndGrad(share, engine_of(engine, workers))


class ValueAndGrad:
    """What `nbgrad.parallel.value_and_grad` gives."""

    def __init__(self, share: Share, engine: Engine):
        self._share, self._engine = share, engine
        self._report: Report | None = None

    def __call__(self, params: Any, shards: Iterable[Any]) -> tuple[float, Any]:
        started = time.perf_counter()
        leaves, rebuild = trees.flatten(params)
        _require_plain(leaves)
        shards = list(shards)
        if not shards and not isinstance(self._engine, Ranks):
            raise ValueError("parallel.value_and_grad: no shards; give one or more")
        total, seen = self._engine.step(self._share, params, shards)
        self._report = Report(time.perf_counter() - started, seen)
        weight, found = total[0], total[1:]
        if self._share.mean:
            if weight == 0.0:
                raise ValueError("parallel.value_and_grad: no shard has a row; there is no mean")
            found = found / weight
        return float(found[0]), rebuild(_split(found[1:], leaves))

    @property
    def report(self) -> Report:
        """Who computed what in the last step. Raises ValueError before the first."""
        if self._report is None:
            raise ValueError("report: there was no step yet")
        return self._report

    @property
    def workers(self) -> int:
        """How many shards are computed at once; on MPI the number of ranks."""
        return self._engine.workers

    @property
    def leads(self) -> bool:
        """Whether this process should show and write what comes out: on MPI rank 0 alone."""
        return self._engine.leads

    def mine(self, shards: Iterable[Any]) -> list[Any]:
        """Those of all shards that this process hands in: on MPI every so many-th, else all. With
        `vg(params, vg.mine(shards))` the same program is right on every engine."""
        return self._engine.mine(list(shards))

    def close(self) -> None:
        """End the workers that were started for an engine given by name; a user's own go on."""
        self._engine.close()

    def __enter__(self) -> "ValueAndGrad":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _require_plain(leaves: list[Any]) -> None:
    if any(isinstance(x, Array) for x in leaves):
        raise TypeError(
            "parallel.value_and_grad: tracked parameters: no graph goes on to other workers; give "
            "plain arrays, w.data for w"
        )
    if not any(map(trees.is_differentiable, leaves)):
        raise TypeError(
            "parallel.value_and_grad: the parameters hold no float: write 2.0 for 2, or convert "
            "the array to float64"
        )


def _split(vector: np.ndarray, leaves: list[Any]) -> list[Any]:
    """The gradient of each leaf, with its shape and dtype; None for what is no float."""
    found: list[Any] = []
    at = 0
    for leaf in leaves:
        if not trees.is_differentiable(leaf):
            found.append(None)
            continue
        part = vector[at : at + np.size(leaf)].reshape(np.shape(leaf))
        at += np.size(leaf)
        dtype = getattr(leaf, "dtype", np.dtype(np.float64))
        found.append(trees.scalar(part.astype(dtype)))
    return found
