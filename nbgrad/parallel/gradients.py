"""`value_and_grad` of a loss over shards of data, on any engine."""

import time
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np

from ..core.array import Array
from ..errors import ArgumentError, ArgumentTypeError, EmptyError, NoFloatError
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
    """Return a function that computes a loss and its gradient over shards of data.

    Arguments:
        loss: called as `loss(params, *shard)`, returns one number. Other processes must be able to
            import it; Dask accepts any function.
        engine: None or "threads" for threads of this process; "processes" for processes of this
            machine; a `concurrent.futures` executor; a `dask.distributed.Client`, or "dask" for a
            cluster on this machine; an MPI communicator of mpi4py, or "mpi" for all ranks.
        reduce: "mean" if the loss is a mean over rows: shards are weighted by the length of the
            first axis of their first array. "sum" to add values and gradients.
        workers: the number of workers of an engine given by name, by default the number of cores.
            For a cluster or an executor, the expected number, by default the current one.
        compile: compile the loss and its gradient, on each worker once for each shape of a shard.

    Call the result as `vg(params, shards)`. It returns `(value, gradient)` for all the data, as
    `nbgrad.value_and_grad` does:

        mean: sum(n_i loss(params, *shard_i)) / sum(n_i)        sum: sum(loss(params, *shard_i))

    `params` are floats, nested in any way. `shards` is a list. A shard is a tuple of arrays, or a
    function without arguments that returns one, called by the worker in each step; with Dask also a
    future or a delayed value, or a tuple of these. With MPI, each rank passes its own shards, or
    none, and the same parameters.

    Each step sends the parameters once, and one flat float64 buffer of sums back. The order of
    summation is fixed: results are bitwise identical from run to run, for any number of workers and
    for all engines except MPI, for which they depend on the number of ranks.

    `vg.report` describes the last step. `vg.close()`, or a `with` block, stops the workers of an
    engine given by name.

    Raises TypeError for a shard that is not a tuple, a loss that cannot be pickled or an unknown
    engine; WorkerError if a worker has other versions, or died and its engine does not replace it;
    errors of the loss, with a note that names the shard.

    >>> vg = nbgrad.parallel.value_and_grad(lambda w, x: np.sum(w * x), reduce="sum")
    >>> vg(2.0, [(np.ones(2),), (np.ones(3),)])
    (10.0, np.float64(5.0))
    """
    trees.require_function("parallel.value_and_grad", loss)
    if reduce not in ("mean", "sum"):
        raise ArgumentError(f'parallel.value_and_grad: reduce={reduce!r}: use "mean" or "sum"')
    share = Share(loss, reduce == "mean", compile)
    return ValueAndGrad(share, engine_of(engine, workers))


class ValueAndGrad:
    """The result of `nbgrad.parallel.value_and_grad`.

    >>> vg = nbgrad.parallel.value_and_grad(lambda w, x: np.sum(w * x), reduce="sum")
    >>> value, slope = vg(2.0, [(np.ones(3),), (np.ones(2),)])
    >>> float(value), float(slope)
    (10.0, 5.0)
    """

    def __init__(self, share: Share, engine: Engine):
        self._share, self._engine = share, engine
        self._report: Report | None = None

    def __call__(self, params: Any, shards: Iterable[Any]) -> tuple[float, Any]:
        started = time.perf_counter()
        leaves, rebuild = trees.flatten(params)
        _require_plain(leaves)
        shards = list(shards)
        if not shards and not isinstance(self._engine, Ranks):
            raise EmptyError("parallel.value_and_grad: shards is empty: pass at least one")
        total, seen = self._engine.step(self._share, params, shards)
        self._report = Report(time.perf_counter() - started, seen)
        weight, found = total[0], total[1:]
        if self._share.mean:
            if weight == 0.0:
                raise EmptyError("parallel.value_and_grad: no shard has a row to average")
            found = found / weight
        return float(found[0]), rebuild(_split(found[1:], leaves))

    @property
    def report(self) -> Report:
        """The work of each worker in the last step. Raises ValueError before the first step."""
        if self._report is None:
            raise ArgumentError("report: there is no report before the first step")
        return self._report

    @property
    def workers(self) -> int:
        """The number of shards computed at once; with MPI the number of ranks."""
        return self._engine.workers

    @property
    def leads(self) -> bool:
        """Whether this process should print and write results: with MPI, only rank 0."""
        return self._engine.leads

    def mine(self, shards: Iterable[Any]) -> list[Any]:
        """Select the shards of this process: those of this rank with MPI, otherwise all.

        `vg(params, vg.mine(shards))` works with every engine.
        """
        return self._engine.mine(list(shards))

    def close(self) -> None:
        """Stop the workers of an engine given by name."""
        self._engine.close()

    def __enter__(self) -> "ValueAndGrad":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _require_plain(leaves: list[Any]) -> None:
    if any(isinstance(x, Array) for x in leaves):
        raise ArgumentTypeError(
            "parallel.value_and_grad: tracked parameters: the graph cannot be sent to workers; "
            "pass plain arrays, w.data instead of w",
            code="NB-PICKLE",
        )
    if not any(map(trees.is_differentiable, leaves)):
        raise NoFloatError(
            "parallel.value_and_grad: the parameters hold no float: write 2.0 for 2, or convert "
            "the array to float64"
        )


def _split(vector: np.ndarray, leaves: list[Any]) -> list[Any]:
    """Split a vector into gradients with the shapes and dtypes of the leaves; None for integers."""
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
