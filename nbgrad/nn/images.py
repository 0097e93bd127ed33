"""Convolution and pooling of images: (samples, height, width, channels)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.primitive import shape_of
from ..errors import ArgumentError, DimensionMismatch
from ..transforms.trees import register
from .layers import Layer, Random, glorot_uniform, require_last


def flatten(x: Any) -> Any:
    """Reshape (samples, ...) to (samples, n).

    >>> nbgrad.nn.flatten(np.ones((2, 3, 4))).shape
    (2, 12)
    """
    return np.reshape(x, (shape_of(x)[0], -1))


@dataclass(repr=False)
class Conv2d(Layer):
    """Two-dimensional convolution, computed as one matrix product.

    `weight` has shape (height, width, channels in, channels out) and `bias` (channels out,). Images
    have shape (samples, height, width, channels). `padding` zeros are added on every side, and
    windows are `stride` pixels apart.

    >>> layer = nbgrad.nn.Conv2d.random(0, 1, 4, 3)
    >>> layer(np.ones((5, 8, 8, 1))).shape
    (5, 6, 6, 4)
    """

    weight: Any
    bias: Any = None
    stride: int = 1
    padding: int = 0

    def __post_init__(self) -> None:
        if self.stride < 1 or self.padding < 0:
            raise ArgumentError(
                f"Conv2d: stride is {self.stride} and padding is {self.padding}; stride must be at "
                "least 1 and padding at least 0"
            )

    @classmethod
    def random(
        cls,
        rng: Random,
        inputs: int,
        outputs: int,
        size: int = 3,
        *,
        stride: int = 1,
        padding: int = 0,
        dtype: Any = np.float64,
    ) -> "Conv2d":
        """Initialise windows of `size` x `size` with Glorot uniform weights, and a zero bias."""
        area = size * size
        shape = (size, size, inputs, outputs)
        weight = glorot_uniform(rng, shape, area * inputs, area * outputs, dtype)
        return cls(weight, np.zeros(outputs, dtype), stride, padding)

    def __call__(self, x: Any) -> Any:
        rows, columns, inputs, outputs = shape_of(self.weight)
        why = f"its weight has shape {shape_of(self.weight)}"
        require_last(self, x, inputs, why, axes=4)
        if self.padding:
            around = (self.padding, self.padding)
            x = np.pad(x, ((0, 0), around, around, (0, 0)))
        n, height, width, _ = shape_of(x)
        if height < rows or width < columns:
            raise DimensionMismatch(
                f"Conv2d: images of {height} x {width} pixels, with padding, are smaller than the "
                f"windows of {rows} x {columns}"
            )
        s = self.stride
        down, across = (height - rows) // s + 1, (width - columns) // s + 1
        windows = [
            x[:, i : i + s * (down - 1) + 1 : s, j : j + s * (across - 1) + 1 : s]
            for i in range(rows)
            for j in range(columns)
        ]
        size = rows * columns * inputs
        flat = np.reshape(np.concatenate(windows, axis=3), (n * down * across, size))
        y = flat @ np.reshape(self.weight, (size, outputs))
        y = y if self.bias is None else y + self.bias
        return np.reshape(y, (n, down, across, outputs))


register(Conv2d, fields=["weight", "bias"])


@dataclass(repr=False)
class MaxPool2d(Layer):
    """The maximum of each square of `size` x `size` pixels, for each channel.

    Incomplete squares at the right and the bottom are dropped. Ties share the gradient evenly.

    >>> nbgrad.nn.MaxPool2d()(np.arange(16.0).reshape(1, 4, 4, 1))[0, :, :, 0]
    array([[ 5.,  7.],
           [13., 15.]])
    """

    size: int = 2

    def __call__(self, x: Any) -> Any:
        return np.max(_squares(self, x, self.size), axis=(2, 4))


@dataclass(repr=False)
class MeanPool2d(Layer):
    """The mean of each square of `size` x `size` pixels, for each channel.

    Incomplete squares at the right and the bottom are dropped.

    >>> nbgrad.nn.MeanPool2d()(np.arange(16.0).reshape(1, 4, 4, 1))[0, :, :, 0]
    array([[ 2.5,  4.5],
           [10.5, 12.5]])
    """

    size: int = 2

    def __call__(self, x: Any) -> Any:
        return np.mean(_squares(self, x, self.size), axis=(2, 4))


register(MaxPool2d, fields=[])
register(MeanPool2d, fields=[])


def _squares(layer: Layer, x: Any, size: int) -> Any:
    shape = shape_of(x)
    if size < 1:
        raise ArgumentError(f"{type(layer).__name__}: size is {size}; it must be at least 1")
    if len(shape) != 4 or min(shape[1:3]) < size:
        raise DimensionMismatch(
            f"{type(layer).__name__}: an input of shape {shape}; expected images (samples, height, "
            f"width, channels) of at least {size} x {size} pixels"
        )
    n, height, width, channels = shape
    down, across = height // size, width // size
    if (height, width) != (down * size, across * size):
        x = x[:, : down * size, : across * size]
    return np.reshape(x, (n, down, size, across, size, channels))
