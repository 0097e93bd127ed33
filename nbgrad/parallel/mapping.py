"""A function of many starts, and a Jacobian by columns, on any engine."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import DimensionMismatch
from ..static import compile
from ..transforms import trees
from ..transforms.batching import vmap
from ..transforms.forward import jvp
from .engines import engine_of
from .kept import Kept
from .progress import Bar
from .versions import whoami


def map(
    f: Callable[[Any], Any],
    starts: Iterable[Any],
    engine: Any = None,
    *,
    workers: int | None = None,
    progress: bool = True,
) -> list[Any]:
    """`[f(start) for start in starts]`, on any engine: restarts, chains, sweeps over settings.

    Arguments:
        f: a function of one start. Other processes must be able to import it.
        starts: its arguments, such as seeds, arrays or dicts of settings.
        engine, workers: as for `nbgrad.parallel.value_and_grad`; on MPI all ranks give the same
            starts, and all get all results.
        progress: show a bar on a terminal, after two seconds.

    Raises what `f` raises, at once, and starts nothing more; WorkerError for a worker that died.

    >>> nbgrad.parallel.map(np.square, [1.0, 2.0, 3.0])
    [np.float64(1.0), np.float64(4.0), np.float64(9.0)]
    """
    trees.require_function("parallel.map", f)
    return _map(Called(f), starts, engine, workers, progress)


def jacobian(
    f: Callable[[Any], Any],
    x: Any,
    engine: Any = None,
    *,
    workers: int | None = None,
    together: int = 64,
) -> np.ndarray:
    """The Jacobian of `f` at `x`, whose columns are divided between workers.

    Arguments:
        f: from a float array of shape T to one of shape S.
        x: where; of shape T.
        engine, workers: as for `nbgrad.parallel.map`.
        together: so many columns are pushed forward at once, by a compiled program.

    Returns an array of shape S + T: element [i, j] is the derivative of output i with respect to
    input j. It takes the work of T.size forward passes, so it pays where outputs are as many as
    inputs or more and one pass takes milliseconds; otherwise `nbgrad.jacobian` is the better one.

    >>> nbgrad.parallel.jacobian(
    ...     lambda x: np.stack([x[0] * x[1], np.sin(x[0])]), np.array([0.0, 2.0]))
    array([[2., 0.],
           [1., 0.]])
    """
    trees.require_function("parallel.jacobian", f)
    x = np.asarray(x)
    if x.size == 0 or x.dtype.kind != "f":
        raise DimensionMismatch(
            f"parallel.jacobian: an array of shape {x.shape} and dtype {x.dtype} has no columns to "
            "divide; give one or more floats"
        )
    if together < 1:
        raise ValueError(f"parallel.jacobian: together={together}; give one or more columns")
    together = min(together, x.size)
    blocks = range(0, x.size, together)
    found = _map(Columns(f, x, together), blocks, engine, workers, progress=False)
    columns = np.concatenate(found)[: x.size]  # (T.size, *S)
    return np.moveaxis(columns, 0, -1).reshape(columns.shape[1:] + x.shape)


def _map(
    work: Callable, starts: Iterable, engine: Any, workers: int | None, progress: bool
) -> list[Any]:
    starts = list(starts)
    ran = engine_of(engine, workers)
    try:
        with Bar(len(starts), progress) as bar:
            return ran.map(work, starts, lambda done: bar.update(done, ""))
    finally:
        ran.close()


class Called(Kept):
    """A function of one start."""

    def __call__(self, start: Any) -> Any:
        self.require_same(whoami())
        return self.function(start)


class Columns(Kept):
    """Some columns of a Jacobian as rows; past the last column they are zero, so that all blocks
    have the shape that was compiled."""

    def __init__(self, f: Callable, x: np.ndarray, together: int):
        super().__init__(f, x, together)
        self._x, self._together = x, together

        def push(x: Any, directions: Any) -> Any:
            return vmap(lambda v: jvp(f, (x,), (v,))[1])(directions)

        self._push = compile(push)

    def __call__(self, at: int) -> np.ndarray:
        self.require_same(whoami())
        directions = np.eye(self._together, self._x.size, at, dtype=self._x.dtype)
        return self._push(self._x, directions.reshape(self._together, *self._x.shape))
