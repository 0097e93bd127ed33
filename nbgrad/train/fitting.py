"""`fit`: training with minibatches, an optimiser, evaluation and checkpoints."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..core.array import Array
from ..core.modes import detect_nan
from ..data.batches import Last, Order, require_rows
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    CheckpointError,
    NanError,
    NbgradWarning,
    NoFloatError,
)
from ..optim import SGD
from ..runtime.progress import Bar
from ..transforms import trees
from ..transforms.state import State
from .checkpoints import Found, read, require_writable
from .settings import require_same, settings_of
from .standing import Moment, Standing
from .steps import Whole, steps_of

Ended = Literal["done", "patience", "interrupted", "nan"]


@dataclass(frozen=True)
class Fitted:
    """The result of a training.

    It has the last model and the state of the optimiser, the best model, the loss of each step, the
    evaluations (`moments`), and the reason for the end.

    >>> x = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> model = nbgrad.nn.Dense.random(0, 1, 1)
    >>> found = nbgrad.train.fit(model, nbgrad.mse, (x, 2.0 * x), steps=100, batch=None)
    >>> found.ended, len(found.losses), bool(found.losses[-1] < found.losses[0])
    ('done', 100, True)
    """

    model: Any
    state: Any
    best: Any
    losses: np.ndarray
    moments: list[Moment]
    ended: Ended

    def _repr_html_(self) -> str:
        from ..runtime import markup  # for notebooks

        facts = [("steps", f"{len(self.losses):,}"), ("ended", self.ended)]
        facts += [
            (name.replace("_", " "), f"{value:.4g}")
            for moment in self.moments[-1:]
            for name, value in moment._asdict().items()
            if name != "step" and value == value
        ]
        curve = markup.curve(self.losses, "loss of each step, logarithmic", log=True)
        return markup.framed(markup.facts(facts) + curve)


def accuracy(scores: Any, labels: Any) -> float:
    """Return the fraction of rows whose maximum is at their label (an integer or a one-hot row).

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
    """Train a model: minimise `loss(model(x), *targets)` on minibatches of the data.

    Arguments:
        model: a callable object that holds floats, such as `nn.Chain`. If it has a method
            `training`, that method is called, as by `nn.training`.
        loss: a function of the result of the model and the targets that returns one number.
        data: `(x, *targets)`, arrays whose first axis counts samples.
        steps, epochs: the number of batches, or of passes over the data. Pass one of the two.
        batch: the number of rows of a batch, in random order; None uses all data in each step.
        last: the treatment of rows left over at the end of an epoch: "drop" leaves them to later
            epochs, which have another order; "keep" makes a smaller batch, for which a compiled
            step is compiled a second time.
        optimiser: an optimiser of `nbgrad.optim`, or an object with the same `init` and `update`.
        held: validation data, `(x, *targets)`.
        measure: a function of the result of the model and the targets that returns a number, such
            as `accuracy`, for the validation data or, without it, for all data.
        every: the number of steps between evaluations; by default an epoch or, if that is more, a
            hundredth of all steps.
        patience: stop after this many evaluations without a lower (validation) loss.
        seed: the seed for the order of the rows.
        compile: compile the whole step, at the first batch.
        checkpoint: the path of a file to save to, at each evaluation and at the end.
        resume: continue from that file if it exists. The result is bitwise identical to that of an
            uninterrupted training. Other data, batches, seeds or optimisers raise an error.
        progress: show a progress bar on a terminal or in a notebook, after two seconds.
        watch: called as `watch(moment, model)` after each evaluation.
        engine: divide the rows of each batch between the workers of this engine of
            `nbgrad.parallel.value_and_grad`; None computes whole batches in this process. The loss
            must be a mean over rows, and the model must not change in training other than by
            updates: no batch norm, no dropout. Data is sent to Dask once, and to processes as
            files. With MPI, all ranks call `fit` with the same arguments, and rank 0 prints and
            writes files.
        workers: the number of workers, and of shards of a batch. Results are bitwise identical for
            the same number, and differ by rounding errors for other numbers.

    Ctrl-C stops the training and returns the current result.

    Raises NanError if a loss or, at an evaluation, the model is nan; it names the first operation
    that returned nan and has the current result as `fitted`. Raises ValueError for an empty data
    set, DimensionMismatch for arrays of unequal length, CheckpointError for a file that cannot be
    written or resumed from; with an engine, the errors of `nbgrad.parallel.value_and_grad`, such as
    WorkerError, after which the last checkpoint remains.

    >>> x = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> model = nbgrad.nn.Dense.random(0, 1, 1)
    >>> found = nbgrad.train.fit(model, nbgrad.mse, (x, 2.0 * x + 1.0), steps=200, batch=None)
    >>> found.model.weight.round(2), found.model.bias.round(2)
    (array([[2.]]), array([1.]))
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
        raise ArgumentError(f"fit: every is {every}; it must be at least 1")
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
    """Raise TypeError for wrong arguments, and for floats in a model that updates cannot change."""
    if not callable(model):
        raise ArgumentTypeError(
            f"fit: a {type(model).__name__} is not a model: it is not callable", code="NB-MODEL"
        )
    if not isinstance(data, (tuple, list)):
        raise ArgumentTypeError(
            f"fit: data is a {type(data).__name__}; pass a tuple, (x, *targets)"
        )
    if not hasattr(optimiser, "update"):
        raise ArgumentTypeError(
            f"fit: optimiser is a {type(optimiser).__name__}; pass an optimiser, such as "
            "nbgrad.optim.Adam(0.01)"
        )
    leaves = trees.flatten(model)[0]
    if not any(map(trees.is_differentiable, leaves)) and not State(model).holds_floats:
        raise NoFloatError(
            f"fit: the model, a {type(model).__name__}, holds no floats to train; call "
            "fit(model, loss, (x, *targets))"
        )
    if any(isinstance(x, Array) for x in leaves):
        raise ArgumentTypeError(
            "fit: the model holds tracked arrays: use plain ones, w.data instead of w",
            code="NB-MODEL",
        )
    inside = State(model).leaves
    if len(inside) != len(leaves) or any(a is not b for a, b in zip(inside, leaves, strict=True)):
        raise ArgumentTypeError(
            "fit: the model holds a closure over floats, which cannot be updated: replace it by an "
            "object with the floats as attributes, or write constants into the function",
            code="NB-MODEL",
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
    """Return the file to resume from. Raises CheckpointError if it cannot be read or written."""
    if checkpoint is None:
        return None
    require_writable(checkpoint)
    return read(checkpoint) if resume and Path(checkpoint).exists() else None


def _saving(checkpoint: str | Path | None, settings: dict[str, str]) -> Callable[[Standing], None]:
    """Return a function that saves a checkpoint. A failure only causes a warning."""
    told: set[str] = set()

    def save(now: Standing) -> None:
        if checkpoint is None:
            return
        try:
            now.save(checkpoint, settings)
        except CheckpointError as error:
            if str(error) not in told:
                told.add(str(error))
                warning = NbgradWarning(f"fit: {error}; the training continues")
                warnings.warn(warning, stacklevel=3)

    return save


def _steps(steps: int | None, epochs: int | None, batches: int) -> int:
    if (steps is None) == (epochs is None):
        raise ArgumentTypeError("fit: pass either steps=, the number of batches, or epochs=")
    total = steps if steps is not None else (epochs or 0) * batches
    if total < 1:
        raise ArgumentError(f"fit: {total} steps; there must be at least one")
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
    """Return the error for a nan, after repeating the last steps eagerly to find the operation."""
    message = f"fit: {what} step {now.step} is nan"
    advice = "try a lower learning rate, or clip gradients with nbgrad.optim.Clipped"
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
