"""Gradient clipping by norm."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..transforms import trees
from .leaves import like


def norm(gradients: Any) -> Any:
    """Return the Euclidean norm of all floats in a tree.

    >>> float(nbgrad.optim.norm({"a": np.array([3.0]), "b": np.array([[4.0]]), "c": None}))
    5.0
    """
    squares = [np.sum(g * g) for g in trees.flatten(gradients)[0] if trees.is_differentiable(g)]
    return np.sqrt(sum(squares, 0.0))


def clip(gradients: Any, limit: float) -> Any:
    """Scale gradients so that their norm is at most `limit`.

    >>> nbgrad.optim.clip(np.array([3.0, 4.0]), 1.0)
    array([0.6, 0.8])
    """
    size = norm(gradients)
    scale = limit / np.maximum(size, limit)
    leaves, rebuild = trees.flatten(gradients)
    return rebuild([g * like(scale, g) if trees.is_differentiable(g) else g for g in leaves])


@dataclass(frozen=True)
class Clipped:
    """An optimiser that receives gradients clipped to the norm `limit`.

    >>> optimiser = nbgrad.optim.Clipped(nbgrad.optim.SGD(0.1), limit=1.0)
    >>> state, w = optimiser.update(optimiser.init(1.0), 2.0, 1.0)
    >>> round(float(w), 6)
    0.9
    """

    optimiser: Any
    limit: float

    def init(self, parameters: Any) -> Any:
        return self.optimiser.init(parameters)

    def update(self, state: Any, gradients: Any, parameters: Any) -> tuple[Any, Any]:
        return self.optimiser.update(state, clip(gradients, self.limit), parameters)
