"""`Standing`: the complete state of a training, as an immutable value."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .checkpoints import Found, restored, save
from .settings import KEY


class Moment(NamedTuple):
    """An evaluation after a step.

    `loss` is the mean loss since the last evaluation; `held_loss` and `measure` are those of the
    validation data, or nan.

    >>> x = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> model = nbgrad.nn.Dense.random(0, 1, 1)
    >>> found = nbgrad.train.fit(model, nbgrad.mse, (x, 2.0 * x), steps=100, batch=None)
    >>> found.moments[-1].step
    100
    """

    step: int
    loss: float
    held_loss: float
    measure: float


class Standing(NamedTuple):
    """The model and the state of the optimiser after a step, and the best model so far.

    The best model has the lowest loss at an evaluation; `waited` counts the evaluations since.
    """

    step: int
    model: Any
    state: Any
    best: Any
    best_loss: float
    waited: int
    losses: np.ndarray
    moments: np.ndarray

    @classmethod
    def first(cls, model: Any, state: Any, steps: int) -> "Standing":
        """Return the state before the first step."""
        return cls(0, model, state, model, np.inf, 0, np.full(steps, np.nan), np.zeros((0, 4)))

    @property
    def looked(self) -> int:
        """The step of the last evaluation, 0 before the first."""
        return int(self.moments[-1, 0]) if len(self.moments) else 0

    def seen(self) -> list[Moment]:
        """Return the evaluations so far."""
        return [Moment(int(step), *rest) for step, *rest in self.moments.tolist()]

    def after(self, moment: Moment) -> "Standing":
        """Return the state after an evaluation, which may update the best model."""
        moments = np.vstack([self.moments, moment])
        reached = moment.loss if np.isnan(moment.held_loss) else moment.held_loss
        if reached < self.best_loss:
            return self._replace(best=self.model, best_loss=reached, waited=0, moments=moments)
        return self._replace(waited=self.waited + 1, moments=moments)

    def loaded(self, found: Found) -> "Standing":
        """Return a saved state, extended to the number of steps of this one."""
        histories = {n: found.arrays.get(n, getattr(self, n)) for n in ("losses", "moments")}
        like = self._replace(**histories)
        old = Standing(**restored(found, dict(zip(self._fields, like, strict=True))))
        rest = np.full(max(len(self.losses) - len(old.losses), 0), np.nan)
        return old._replace(losses=np.concatenate([old.losses, rest]))

    def save(self, path: str | Path, settings: dict[str, str]) -> None:
        """Write the state and the settings of the training."""
        save(path, {**dict(zip(self._fields, self, strict=True)), KEY: settings})
