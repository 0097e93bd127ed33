"""The network that the experiments train: dense layers with relu between them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

import nbgrad

Last = Literal["linear", "relu"]
"""What follows the last layer: nothing, or a relu."""

Layers = list[tuple[np.ndarray, np.ndarray]]
"""Plain weights and biases."""


@dataclass(frozen=True)
class Network:
    """Dense layers of tracked weights and biases; samples are rows.

    Calling it gives tracked logits to differentiate; :meth:`logits` and :meth:`predict` compute
    the same with plain arrays.
    """

    layers: list[tuple[nbgrad.TrackedArray, nbgrad.TrackedArray]]
    last: Last = "linear"

    @classmethod
    def random(
        cls, rng: np.random.Generator, sizes: Sequence[int], last: Last = "linear"
    ) -> "Network":
        """Draw a network with layers of these sizes: Glorot uniform weights, zero biases."""
        return cls(
            [
                (
                    nbgrad.track(glorot_uniform(rng, fan_in, fan_out), name=f"w{i}"),
                    nbgrad.track(np.zeros(fan_out), name=f"b{i}"),
                )
                for i, (fan_in, fan_out) in enumerate(pairwise(sizes), start=1)
            ],
            last,
        )

    def __call__(self, x: np.ndarray) -> nbgrad.TrackedArray:
        """The logits of the rows of ``x``, tracked."""
        return forward(self.layers, self.last, x)

    def logits(self, x: np.ndarray) -> np.ndarray:
        """The logits of the rows of ``x``, as a plain array."""
        return forward(self.arrays(), self.last, x)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """The most probable class of each row of ``x``."""
        return self.logits(x).argmax(axis=1)

    def arrays(self) -> Layers:
        """The plain weights and biases, layer by layer."""
        return [(weight.data, bias.data) for weight, bias in self.layers]

    def replace(self, layers: Layers) -> None:
        """Take other weights and biases of the same shapes."""
        for (weight, bias), (new_weight, new_bias) in zip(self.layers, layers, strict=True):
            weight.data, bias.data = new_weight, new_bias

    def parameters(self) -> Iterator[nbgrad.TrackedArray]:
        """Every weight and bias, layer by layer."""
        for layer in self.layers:
            yield from layer


def glorot_uniform(rng: np.random.Generator, fan_in: int, fan_out: int) -> np.ndarray:
    """Weights uniform around zero, scaled so that signals keep their size from layer to layer."""
    return (rng.random((fan_in, fan_out)) - 0.5) * np.sqrt(24 / (fan_in + fan_out))


def forward(layers: Sequence[tuple[Any, Any]], last: Last, x: Any) -> Any:
    """The network itself: the same lines serve tracked and plain arrays."""
    for i, (weight, bias) in enumerate(layers, start=1):
        x = x @ weight + bias
        if i < len(layers) or last == "relu":
            x = nbgrad.relu(x)
    return x


def accuracy(logits: Any, labels: Any) -> Any:
    """The share of rows whose largest number, the first of equal ones, stands at their label: for
    plain arrays and in compiled functions."""
    classes = logits.shape[1]
    largest = np.max(logits, axis=1, keepdims=True)
    first = np.min(np.where(logits == largest, np.arange(classes), classes), axis=1)
    return np.sum(first == labels) / len(logits)
