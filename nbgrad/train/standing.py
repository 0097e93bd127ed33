"""Where a training stands: all that is needed to go on, as one value that is kept or replaced."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .checkpoints import Found, restored, save
from .settings import KEY


class Moment(NamedTuple):
    """A look at a training after so many steps: the mean loss of the steps since the last look, the
    loss and the measure on held-out samples, nan where there are none."""

    step: int
    loss: float
    held_loss: float
    measure: float


class Standing(NamedTuple):
    """The model and the optimiser's state after so many steps, and the best model so far: the one
    with the lowest loss at a look. `waited` counts the looks since then."""

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
        """Before the first of so many steps."""
        return cls(0, model, state, model, np.inf, 0, np.full(steps, np.nan), np.zeros((0, 4)))

    @property
    def looked(self) -> int:
        """The step of the last look, 0 before the first."""
        return int(self.moments[-1, 0]) if len(self.moments) else 0

    def seen(self) -> list[Moment]:
        """The looks so far."""
        return [Moment(int(step), *rest) for step, *rest in self.moments.tolist()]

    def after(self, moment: Moment) -> "Standing":
        """With another look: the model may be the best so far."""
        moments = np.vstack([self.moments, moment])
        reached = moment.loss if np.isnan(moment.held_loss) else moment.held_loss
        if reached < self.best_loss:
            return self._replace(best=self.model, best_loss=reached, waited=0, moments=moments)
        return self._replace(waited=self.waited + 1, moments=moments)

    def loaded(self, found: Found) -> "Standing":
        """A standing that was saved, to go on from to the steps that this one has."""
        histories = {n: found.arrays.get(n, getattr(self, n)) for n in ("losses", "moments")}
        like = self._replace(**histories)
        old = Standing(**restored(found, dict(zip(self._fields, like, strict=True))))
        rest = np.full(max(len(self.losses) - len(old.losses), 0), np.nan)
        return old._replace(losses=np.concatenate([old.losses, rest]))

    def save(self, path: str | Path, settings: dict[str, str]) -> None:
        """Write all of it, and what the training was started with."""
        save(path, {**dict(zip(self._fields, self, strict=True)), KEY: settings})
