"""Training steps, in this process or with batches divided between workers."""

from collections.abc import Callable
from itertools import pairwise
from mmap import mmap
from typing import Any

import numpy as np

from ..errors import ArgumentError, ArgumentTypeError, WorkerError
from ..kernels.checksum import checksum
from ..nn.layers import training
from ..parallel.engines import Engine, Rows, engine_of
from ..parallel.gradients import ValueAndGrad
from ..parallel.work import Share
from ..runtime.kinds import is_a
from ..static import compile as compiled
from ..transforms import trees
from ..transforms.reverse import value_and_grad

_LOOKED = 64  # rows used to check that a loss is a mean


class Steps:
    """The steps of a training on given data, with an engine for the processes that take part."""

    def __init__(self, engine: Engine):
        self.leads, self.agreed, self.close = engine.leads, engine.agreed, engine.close

    def __call__(self, model: Any, state: Any, rows: Rows) -> tuple[Any, Any, Any]:
        """Return the loss on these rows, and the model and the state after the step."""
        raise NotImplementedError

    def require_unchanged(self) -> None:
        """Raise WorkerError if workers have copies of data that was modified."""


def steps_of(
    model: Any,
    loss: Callable,
    optimiser: Any,
    data: tuple,
    compile: bool,
    engine: Any,
    workers: int | None,
) -> Steps:
    """Return the steps of `fit`. Raises the errors of `engine_of` and `require_divisible`."""
    if engine is None:
        if workers is not None:
            raise ArgumentTypeError(
                f'fit: workers={workers} without an engine: pass an engine, such as "threads"'
            )
        return Whole(loss, optimiser, data, compile)
    require_divisible(loss, model, data)
    return Divided(loss, optimiser, data, compile, engine_of(engine, workers))


def step_of(loss: Callable, optimiser: Any) -> Callable:
    """`(model, state, batch) -> (loss, model, state)`, which compiles."""

    def step(model: Any, state: Any, batch: tuple) -> tuple[Any, Any, Any]:
        x, *targets = batch

        def loss_of(model: Any) -> tuple[Any, Any]:
            scores, after = training(model, x)
            return loss(scores, *targets), after

        (value, after), slopes = value_and_grad(loss_of, has_aux=True)(model)
        state, model = optimiser.update(state, slopes, after)
        return value, model, state

    return step


class Whole(Steps):
    """Steps with whole batches, in this process."""

    def __init__(self, loss: Callable, optimiser: Any, data: tuple, compile: bool):
        super().__init__(Engine())
        step = step_of(loss, optimiser)
        self._step = compiled(step) if compile else step
        self._data = data

    def __call__(self, model: Any, state: Any, rows: Rows) -> tuple[Any, Any, Any]:
        return self._step(model, state, tuple(x[rows] for x in self._data))


class LossOf:
    """`loss(model(x), *targets)` as a function of the model that other processes can import."""

    def __init__(self, loss: Callable):
        self.loss = loss

    def __call__(self, model: Any, x: Any, *targets: Any) -> Any:
        return self.loss(training(model, x)[0], *targets)


class Divided(Steps):
    """Steps with each batch divided into as many shards as there are workers."""

    def __init__(self, loss: Callable, optimiser: Any, data: tuple, compile: bool, engine: Engine):
        super().__init__(engine)
        self._vg = ValueAndGrad(Share(LossOf(loss), True, compile), engine)
        self._n = len(data[0])
        self._data, self._sent = data, _sums(data) if engine.copies else None
        self._shard = engine.held(data)
        self._whole: list[Any] | None = None  # the same in each step, so workers keep the data

        def update(state: Any, slopes: Any, model: Any) -> tuple[Any, Any]:
            return optimiser.update(state, slopes, model)

        self._update = compiled(update) if compile else update

    def __call__(self, model: Any, state: Any, rows: Rows) -> tuple[Any, Any, Any]:
        value, slopes = self._vg(model, self._shards(rows))
        state, model = self._update(state, slopes, model)
        return value, model, state

    def require_unchanged(self) -> None:
        if self._sent is not None and self._sent != _sums(self._data):
            raise WorkerError(
                "fit: the data was modified during the training, but the workers use a copy: call "
                'fit again with the new data, or use engine="threads"'
            )

    def _shards(self, rows: Rows) -> list[Any]:
        if is_a(rows, np.ndarray):
            count = min(self._vg.workers, len(rows))
            return self._held(np.array_split(rows, count))
        if self._whole is None:
            count = min(self._vg.workers, self._n)
            ends = [self._n * i // count for i in range(count + 1)]
            self._whole = self._held([slice(a, b) for a, b in pairwise(ends)])
        return self._whole

    def _held(self, parts: list[Any]) -> list[Any]:
        return [self._shard(part) for part in self._vg.mine(parts)]


def _sums(data: tuple) -> list[int]:
    """Return the checksums of arrays in memory; arrays in files are not copied to processes."""
    own = [x for x in data if not isinstance(x.base, (np.memmap, mmap)) and not x.dtype.hasobject]
    return [checksum(x) for x in own]


def require_divisible(loss: Callable, model: Any, data: tuple) -> None:
    """Check with a few rows that shards give the same result as the whole batch.

    Raises TypeError if training changes the model, ValueError if the loss is not a mean over rows.
    """
    k = min(_LOOKED, len(data[0]))
    cut = max(k // 3, 1)
    whole, first, rest = (
        _value(loss, model, tuple(x[rows] for x in data))
        for rows in (slice(0, k), slice(0, cut), slice(min(cut, k - 1), k))
    )
    if k == 1:
        return
    expected = (cut * first + (k - cut) * rest) / k
    values = np.array([whole, first, rest])  # float32 if all are float32
    near = np.sqrt(np.finfo(values.dtype).eps) * np.max(np.abs(values))
    if abs(whole - expected) > near:  # false for nan, which the step reports
        raise ArgumentError(
            f"fit: with an engine the loss must be a mean over rows: for {k} rows it is "
            f"{whole:.6g}, but the mean of {cut} and {k - cut} of them gives {expected:.6g}. Use "
            "np.mean(...) instead of np.sum(...), or train without an engine",
            code="NB-MODEL",
        )


def _value(loss: Callable, model: Any, batch: tuple) -> Any:
    x, *targets = batch
    scores, after = training(model, x)
    pairs = zip(trees.flatten(model)[0], trees.flatten(after)[0], strict=True)
    if any(old is not new and not np.array_equal(old, new) for old, new in pairs):
        raise ArgumentTypeError(
            f"fit: training changes the {type(model).__name__}, like the statistics of a batch "
            "norm or the random state of a dropout, so its rows cannot be divided. Train it "
            "without an engine, or use nn.LayerNorm",
            code="NB-MODEL",
        )
    return loss(scores, *targets)
