"""What a training leaves behind."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nbgrad.experiments.network import Network


class Step(NamedTuple):
    """One step of a training: its number (from 1), its loss, the accuracy after it."""

    step: int
    loss: float
    accuracy: float


OnStep = Callable[[Step], None]
"""Called after every step, for instance to show progress."""


@dataclass
class History:
    """The trained network, the samples its accuracy is measured on, and every step on the way.

    ``interrupted`` is True when Ctrl-C ended the training; the steps up to then are kept.
    """

    network: Network
    x: np.ndarray
    labels: np.ndarray
    steps: list[Step] = field(default_factory=list)
    interrupted: bool = False

    @property
    def correct(self) -> int:
        """How many samples the network classifies correctly."""
        return int((self.network.predict(self.x) == self.labels).sum())

    @property
    def accuracy(self) -> float:
        """The share of samples that the network classifies correctly."""
        return self.correct / len(self.labels)

    def record(self, loss: float, on_step: OnStep | None = None) -> None:
        """Append a step with this loss and the present accuracy, then tell ``on_step``."""
        self.steps.append(Step(len(self.steps) + 1, loss, self.accuracy))
        if on_step is not None:
            on_step(self.steps[-1])

    def record_all(
        self, losses: np.ndarray, accuracies: np.ndarray, on_step: OnStep | None = None
    ) -> None:
        """Append the steps of a whole training, then tell ``on_step`` of each, unless Ctrl-C."""
        found = zip(losses.tolist(), accuracies.tolist(), strict=True)
        self.steps += [Step(i, loss, accuracy) for i, (loss, accuracy) in enumerate(found, start=1)]
        if on_step is not None:
            with suppress(KeyboardInterrupt):
                for step in self.steps:
                    on_step(step)
