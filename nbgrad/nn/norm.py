"""Batch and layer normalisation."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.primitive import shape_of
from ..errors import DimensionMismatch
from ..transforms.checkpoint import stop_gradient
from ..transforms.trees import register
from .layers import Layer, require_last


@dataclass(repr=False)
class BatchNorm(Layer):
    """`scale * (x - mean) / sqrt(variance + epsilon) + shift` for each feature (the last axis).

    In training, mean and variance are those of the batch over all other axes, with Bessel's
    correction, and the running statistics become `(1 - momentum) * running + momentum * batch`.
    Evaluation uses the running statistics, which are constants in derivatives.

    >>> layer = nbgrad.nn.BatchNorm.of(3)
    >>> out, layer = nbgrad.nn.training(layer, np.arange(6.0).reshape(2, 3))
    >>> out.round(4)
    array([[-0.7071, -0.7071, -0.7071],
           [ 0.7071,  0.7071,  0.7071]])
    """

    scale: Any
    shift: Any
    mean: Any
    variance: Any
    momentum: float = 0.1
    epsilon: float = 1e-5

    @classmethod
    def of(
        cls, width: int, *, momentum: float = 0.1, epsilon: float = 1e-5, dtype: Any = np.float64
    ) -> "BatchNorm":
        """A layer for `width` features that scales and shifts nothing yet."""
        ones, zeros = np.ones(width, dtype), np.zeros(width, dtype)
        return cls(ones, zeros, zeros.copy(), ones.copy(), momentum, epsilon)

    def __call__(self, x: Any) -> Any:
        self._require(x)
        return self._normalised(x, stop_gradient(self.mean), stop_gradient(self.variance))

    def training(self, x: Any) -> tuple[Any, "BatchNorm"]:
        self._require(x)
        shape = shape_of(x)
        axes = tuple(range(len(shape) - 1))
        if int(np.prod(shape[:-1])) < 2:
            raise DimensionMismatch(
                f"BatchNorm: an input of shape {shape} in training: the variance of a batch needs "
                "at least two samples"
            )
        mean, variance = np.mean(x, axis=axes), np.var(x, axis=axes, ddof=1)
        keep = 1.0 - self.momentum
        after = replace(
            self,
            mean=keep * self.mean + self.momentum * stop_gradient(mean),
            variance=keep * self.variance + self.momentum * stop_gradient(variance),
        )
        return self._normalised(x, mean, variance), after

    def _require(self, x: Any) -> None:
        (width,) = shape_of(self.scale)
        require_last(self, x, width, f"it was made for {width} features")

    def _normalised(self, x: Any, mean: Any, variance: Any) -> Any:
        return (x - mean) * (self.scale / np.sqrt(variance + self.epsilon)) + self.shift


register(BatchNorm, fields=["scale", "shift", "mean", "variance"])


@dataclass(repr=False)
class LayerNorm(Layer):
    """`scale * (x - mean) / sqrt(variance + epsilon) + shift`, with statistics of the last axis.

    >>> nbgrad.nn.LayerNorm.of(2)(np.array([[1.0, 3.0]])).round(4)
    array([[-1.,  1.]])
    """

    scale: Any
    shift: Any
    epsilon: float = 1e-5

    @classmethod
    def of(cls, width: int, *, epsilon: float = 1e-5, dtype: Any = np.float64) -> "LayerNorm":
        """A layer for `width` features that scales and shifts nothing yet."""
        return cls(np.ones(width, dtype), np.zeros(width, dtype), epsilon)

    def __call__(self, x: Any) -> Any:
        (width,) = shape_of(self.scale)
        require_last(self, x, width, f"it was made for {width} features")
        centred = x - np.mean(x, axis=-1, keepdims=True)
        variance = np.mean(centred * centred, axis=-1, keepdims=True)
        return centred / np.sqrt(variance + self.epsilon) * self.scale + self.shift


register(LayerNorm, fields=["scale", "shift"])
