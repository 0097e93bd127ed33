"""`map` and `jacobian` on any engine."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import ArgumentError, DimensionMismatch
from ..runtime.progress import Bar
from ..static import compile
from ..transforms import trees
from ..transforms.batching import vmap
from ..transforms.forward import jvp
from .engines import engine_of
from .kept import Kept
from .versions import whoami


def map(
    f: Callable[[Any], Any],
    starts: Iterable[Any],
    engine: Any = None,
    *,
    workers: int | None = None,
    progress: bool = True,
) -> list[Any]:
    """Return `[f(start) for start in starts]`, computed on any engine.

    Arguments:
        f: a function of one argument. Other processes must be able to import it.
        starts: the arguments, such as seeds, arrays or dicts of settings.
        engine, workers: as for `nbgrad.parallel.value_and_grad`. With MPI, all ranks pass the same
            starts and receive all results.
        progress: show a progress bar on a terminal or in a notebook, after two seconds.

    Raises the first error of `f` and cancels the other calls; WorkerError if a worker died.

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
    """Return the Jacobian of `f` at `x`, computed by columns that are divided between workers.

    Arguments:
        f: a function from a float array of shape T to one of shape S.
        x: the point, of shape T.
        engine, workers: as for `nbgrad.parallel.map`.
        together: the number of columns computed at once, by a compiled program.

    Returns an array of shape S + T: element [i, j] is the derivative of output i with respect to
    input j. It needs T.size forward passes. Use it if there are at least as many outputs as inputs
    and a pass takes milliseconds; otherwise use `nbgrad.jacobian`.

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
            "divide: pass an array of at least one float"
        )
    if together < 1:
        raise ArgumentError(f"parallel.jacobian: together={together}: it must be at least 1")
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
    """A function of one argument."""

    def __call__(self, start: Any) -> Any:
        self.require_same(whoami())
        return self.function(start)


class Columns(Kept):
    """A block of columns of a Jacobian, as rows.

    The last block is padded with zeros, so that all blocks use the same compiled program.
    """

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
