"""Where a training stands: all that is needed to go on, as one value that is kept or replaced."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .checkpoints import read, restored, save


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
    def first(cls, model: Any, state: Any, steps: int, looks: int) -> "Standing":
        """Before the first step; places for as many losses and looks as there will be."""
        losses = np.full(steps, np.nan)
        return cls(0, model, state, model, np.inf, 0, losses, np.full((looks, 4), np.nan))

    def seen(self) -> list[Moment]:
        """The looks so far."""
        rows = self.moments[~np.isnan(self.moments[:, 0])].tolist()
        return [Moment(int(step), *rest) for step, *rest in rows]

    @property
    def looked(self) -> int:
        """The step of the last look, 0 before the first."""
        steps = self.moments[:, 0]
        return int(np.max(steps, initial=0, where=~np.isnan(steps)))

    def after(self, moment: Moment) -> "Standing":
        """With another look: the model may be the best so far."""
        moments = self.moments.copy()
        moments[np.argmax(np.isnan(moments[:, 0]))] = moment
        reached = moment.loss if np.isnan(moment.held_loss) else moment.held_loss
        if reached < self.best_loss:
            return self._replace(best=self.model, best_loss=reached, waited=0, moments=moments)
        return self._replace(waited=self.waited + 1, moments=moments)

    def loaded(self, path: str | Path) -> "Standing":
        """A standing that was saved, to go on from to the steps and looks that this one has."""
        found = read(path)
        like = self._replace(
            losses=found.arrays.get("losses", self.losses),
            moments=found.arrays.get("moments", self.moments),
        )
        old = restored(found, dict(zip(self._fields, like, strict=True)))
        return Standing(
            **old
            | {
                "losses": _grown(old["losses"], len(self.losses)),
                "moments": _grown(old["moments"], len(self.moments)),
            }
        )

    def save(self, path: str | Path) -> None:
        save(path, dict(zip(self._fields, self, strict=True)))


def _grown(rows: np.ndarray, n: int) -> np.ndarray:
    more = np.full((max(n - len(rows), 0), *rows.shape[1:]), np.nan)
    return np.concatenate([rows, more])
