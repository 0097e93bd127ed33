"""`fit`: minibatches, steps of an optimiser, looks at what is held out."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..core.array import Array
from ..core.modes import detect_nan
from ..data.batches import Last, Order, require_rows
from ..errors import CheckpointError, NanError
from ..optim import SGD
from ..parallel.progress import Bar
from ..transforms import trees
from ..transforms.state import State
from .checkpoints import Found, read, require_writable
from .settings import require_same, settings_of
from .standing import Moment, Standing
from .steps import Whole, steps_of

Ended = Literal["done", "patience", "interrupted", "nan"]


@dataclass(frozen=True)
class Fitted:
    """What a training leaves: the last model and the optimiser's state, the best model, the loss of
    every step, what was seen on the way, and why it ended."""

    model: Any
    state: Any
    best: Any
    losses: np.ndarray
    moments: list[Moment]
    ended: Ended


def accuracy(scores: Any, labels: Any) -> float:
    """The share of rows whose largest number stands at their label, or where that of a one-hot row
    does.

    >>> nbgrad.train.accuracy(np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([1, 1]))
    0.5
    """
    labels = np.argmax(labels, axis=-1) if np.ndim(labels) == np.ndim(scores) else labels
    return float(np.mean(np.argmax(scores, axis=-1) == labels))


def fit(
    model: Any,
    loss: Callable[..., Any],
    data: tuple,
    *,
    steps: int | None = None,
    epochs: int | None = None,
    batch: int | None = 64,
    last: Last = "drop",
    optimiser: Any = SGD(0.1),  # noqa: B008
    held: tuple | None = None,
    measure: Callable[..., Any] | None = None,
    every: int | None = None,
    patience: int | None = None,
    seed: int = 0,
    compile: bool = False,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: bool = True,
    watch: Callable[[Moment, Any], None] | None = None,
    engine: Any = None,
    workers: int | None = None,
) -> Fitted:
    """Train a model: `loss(model(x), *targets)` is brought down on minibatches of the data.

    Arguments:
        model: any object that is called and holds floats, such as `nn.Chain`; where it has a method
            `training`, that is called, as by `nn.training`.
        loss: gives one number for what the model gives for a batch, and the batch's targets.
        data: `(x, *targets)`, arrays whose first axis counts samples.
        steps, epochs: how many batches, or passes over the data: one of the two.
        batch: rows of a batch, in random order; None takes all of the data at each step.
        last: what becomes of the rows at the end of an epoch that are too few for a batch: "drop"
            leaves them to later epochs, whose order is another; "keep" makes a smaller batch,
            for which a compiled step is compiled a second time.
        optimiser: of `nbgrad.optim`, or any object with `init` and `update` like those.
        held: data that is not trained on, `(x, *targets)`, to measure the model.
        measure: a number for what the model gives for x and the targets, such as `accuracy`, on the
            held data, or without it on all of the data.
        every: how many steps lie between two looks at the model; where None an epoch, or a
            hundredth of all steps if that is more.
        patience: end after so many looks without a lower loss (the held one, where there is one).
        seed: of the order of the rows.
        compile: compile the whole step, at the first batch.
        checkpoint: a file to save to, at each look and at the end.
        resume: go on from that file where it is there: the same arguments give the same bits as a
            training that was never stopped. Other data, batches, seed or optimiser are an error.
        progress: show a bar on a terminal, after two seconds.
        watch: called with each look and the model then.
        engine: who computes: the rows of each batch are divided between its workers, and what they
            find is put together as `nbgrad.parallel.value_and_grad` does. None: this process, with
            the batch as a whole. The loss must be a mean over rows, and training change nothing
            but what is updated: no batch norm, no dropout. Data goes to Dask once, and to
            processes as files; on MPI all ranks call `fit` with the same arguments, and rank 0
            shows and writes.
        workers: how many, as for `nbgrad.parallel.value_and_grad`; a batch has as many shards. The
            same number gives the same bits, another one the same but for rounding.

    Ctrl-C ends the training and gives what was reached. Raises NanError, which names the first op
    that gave nan and has what was reached as `fitted`, where a loss or, at a look, a number of the
    model is nan, ValueError for an empty data set, DimensionMismatch for arrays of unequal length,
    CheckpointError for a file that cannot be written or resumed from; with an engine, what
    `nbgrad.parallel.value_and_grad` raises, such as WorkerError: the last checkpoint stands.
    """
    _require(model, data, optimiser)
    data = tuple(map(np.asarray, data))
    n = require_rows("fit", data)
    if held is not None:
        held = tuple(map(np.asarray, held))
        require_rows("fit: the held data", held)
    order = Order(seed, n, n if batch is None else batch, last)
    total = _steps(steps, epochs, order.batches)
    every = max(order.batches, total // 100) if every is None else every
    if every < 1:
        raise ValueError(f"fit: every is {every}; it counts the steps between two looks")
    look = _look(loss, data, held, measure)
    now = Standing.first(model, optimiser.init(model), total)
    settings = settings_of(data, held, batch, last, seed, optimiser) if checkpoint else {}
    save = _saving(checkpoint, settings)
    step = steps_of(model, loss, optimiser, data, compile, engine, workers)
    ended: Ended = "done"
    previous = None
    try:
        if (found := step.agreed(lambda: _found(checkpoint, resume))) is not None:
            now = now.loaded(require_same(found, settings))
        with Bar(total, progress and step.leads) as bar:
            while True:
                if now.step > now.looked and (now.step % every == 0 or now.step >= total):
                    if _holds_nan(now.model):
                        raise _nan("the model after", loss, optimiser, data, now, [previous])
                    step.require_unchanged()
                    moment = look(now)
                    now = now.after(moment)
                    bar.update(now.step, _report(moment))
                    if step.leads:
                        save(now)
                        if watch is not None:
                            watch(moment, now.model)
                if now.step >= total:
                    break
                if patience is not None and now.waited >= patience:
                    ended = "patience"
                    break
                rows = slice(None) if batch is None else order.rows(now.step)
                given = now.model, now.state, rows
                value, model, state = step(*given)
                if np.isnan(value):
                    raise _nan("the loss of", loss, optimiser, data, now, [previous, given])
                now.losses[now.step] = value
                now = now._replace(step=now.step + 1, model=model, state=state)
                previous = given
                bar.update(now.step, f"loss {value:.4g}")
    except KeyboardInterrupt:
        ended = "interrupted"
        if step.leads:
            save(now)
    finally:
        step.close()
    return _fitted(now, ended)


def _require(model: Any, data: Any, optimiser: Any) -> None:
    """Raise TypeError for what is no model, data or optimiser, and for floats in a model that no
    update can change."""
    if not callable(model):
        raise TypeError(f"fit: a {type(model).__name__} is no model: it cannot be called")
    if not isinstance(data, (tuple, list)):
        raise TypeError(f"fit: the data is a {type(data).__name__}; give a tuple, (x, *targets)")
    if not hasattr(optimiser, "update"):
        raise TypeError(
            f"fit: the optimiser is a {type(optimiser).__name__}; give one such as "
            "nbgrad.optim.Adam(0.01)"
        )
    leaves = trees.flatten(model)[0]
    if not any(map(trees.is_differentiable, leaves)) and not State(model).holds_floats:
        raise TypeError(
            f"fit: a {type(model).__name__} that holds no floats has nothing to train; the "
            "arguments are fit(model, loss, (x, *targets))"
        )
    if any(isinstance(x, Array) for x in leaves):
        raise TypeError("fit: the model holds tracked arrays: give it plain ones, w.data for w")
    inside = State(model).leaves
    if len(inside) != len(leaves) or any(a is not b for a, b in zip(inside, leaves, strict=True)):
        raise TypeError(
            "fit: the model holds a function that holds floats, which no update can change: make "
            "it a class whose attributes they are, or write constants into the function"
        )


def _fitted(now: Standing, ended: Ended) -> Fitted:
    best = now.best if now.looked else now.model
    return Fitted(now.model, now.state, best, now.losses[: now.step], now.seen(), ended)


def _look(
    loss: Callable, data: tuple, held: tuple | None, measure: Callable | None
) -> Callable[[Standing], Moment]:
    x, *targets = data if held is None else held

    def look(now: Standing) -> Moment:
        mean = float(np.mean(now.losses[now.looked : now.step]))
        scores = None if held is None and measure is None else now.model(x)
        held_loss = np.nan if held is None else float(loss(scores, *targets))
        found = np.nan if measure is None else float(measure(scores, *targets))
        return Moment(now.step, mean, held_loss, found)

    return look


def _found(checkpoint: str | Path | None, resume: bool) -> Found | None:
    """The file to go on from. Raises CheckpointError where it cannot be read or written."""
    if checkpoint is None:
        return None
    require_writable(checkpoint)
    return read(checkpoint) if resume and Path(checkpoint).exists() else None


def _saving(checkpoint: str | Path | None, settings: dict[str, str]) -> Callable[[Standing], None]:
    """The function that saves, where that is asked for; what fails costs one warning, and not what
    was learned."""
    told: set[str] = set()

    def save(now: Standing) -> None:
        if checkpoint is None:
            return
        try:
            now.save(checkpoint, settings)
        except CheckpointError as error:
            if str(error) not in told:
                told.add(str(error))
                warnings.warn(f"fit: {error}; the training goes on", stacklevel=3)

    return save


def _steps(steps: int | None, epochs: int | None, batches: int) -> int:
    if (steps is None) == (epochs is None):
        raise TypeError("fit: give steps=, the number of batches, or epochs=, one of the two")
    total = steps if steps is not None else (epochs or 0) * batches
    if total < 1:
        raise ValueError(f"fit: {total} steps; give one or more")
    return total


def _report(moment: Moment) -> str:
    parts = [f"loss {moment.loss:.4g}"]
    parts += [f"held {moment.held_loss:.4g}"] if not np.isnan(moment.held_loss) else []
    parts += [f"measure {moment.measure:.4g}"] if not np.isnan(moment.measure) else []
    return "  ".join(parts)


def _holds_nan(model: Any) -> bool:
    leaves = trees.flatten(model)[0]
    return any(trees.is_differentiable(x) and bool(np.isnan(x).any()) for x in leaves)


def _nan(
    what: str, loss: Callable, optimiser: Any, data: tuple, now: Standing, given: list
) -> NanError:
    """The error about a nan: the last steps are taken again, eagerly and here, to find the op."""
    message, advice = f"fit: {what} step {now.step} is nan", "a smaller rate, or gradients "
    advice += "clipped by nbgrad.optim.Clipped, may help"
    found = NanError(f"{message}; {advice}")
    step = Whole(loss, optimiser, data, compile=False)
    try:
        with detect_nan():
            for arguments in given:
                if arguments is not None:
                    step(*arguments)
    except NanError as error:
        found = NanError(f"{message}: {error}; {advice}")
    found.fitted = _fitted(now, "nan")
    return found
