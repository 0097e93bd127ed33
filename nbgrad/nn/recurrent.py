"""Recurrent layers, from (samples, times, inputs) to (samples, times, width).

The inputs of all times are multiplied by the weights in one matrix product, before a scan over the
times.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..control import scan
from ..core.primitive import shape_of
from ..rules.activation import sigmoid
from .layers import Layer, Random, glorot_uniform, require_last


@dataclass(repr=False)
class _Recurrent(Layer):
    """The concatenated weights of all gates.

    `inputs` has shape (inputs, gates * width), `hidden` (width, gates * width), and `bias`
    (gates * width,).
    """

    inputs: Any
    hidden: Any
    bias: Any
    gates: ClassVar[int]

    @classmethod
    def random(cls, rng: Random, inputs: int, width: int, *, dtype: Any = np.float64) -> Any:
        """Initialise with Glorot uniform weights and zero biases."""
        rng = np.random.default_rng(rng)
        gates = cls.gates * width
        return cls(
            glorot_uniform(rng, (inputs, gates), inputs, width, dtype),
            glorot_uniform(rng, (width, gates), width, width, dtype),
            np.zeros(gates, dtype),
        )

    @property
    def width(self) -> int:
        return shape_of(self.hidden)[0]

    def _driven(self, x: Any) -> Any:
        """Return x @ inputs + bias, with shape (times, samples, gates * width)."""
        shape = shape_of(self.inputs)
        require_last(self, x, shape[0], f"its input weights have shape {shape}", axes=3)
        return np.transpose(x @ self.inputs + self.bias, (1, 0, 2))

    def _start(self, driven: Any) -> Any:
        return np.zeros((shape_of(driven)[1], self.width), driven.dtype)


@dataclass(repr=False)
class GRU(_Recurrent):
    """A gated recurrent unit (Cho and others, 2014), whose initial state h is zero.

    h = (1 - z) * tanh(n) + z * h, where z and r are sigmoids of inputs and h, and
    n = x @ W + b + r * (h @ U).

    >>> cell = nbgrad.nn.GRU.random(0, 3, 5)
    >>> cell(np.ones((2, 4, 3))).shape
    (2, 4, 5)
    """

    gates: ClassVar[int] = 3

    def __call__(self, x: Any) -> Any:
        driven = self._driven(x)
        _, states = scan(lambda h, drive: (self.step(h, drive),) * 2, self._start(driven), driven)
        return np.transpose(states, (1, 0, 2))

    def step(self, h: Any, drive: Any) -> Any:
        """The next state for `drive`, x @ inputs + bias."""
        w = self.width
        held = h @ self.hidden
        both = sigmoid(drive[:, : 2 * w] + held[:, : 2 * w])
        z, r = both[:, :w], both[:, w:]
        n = np.tanh(drive[:, 2 * w :] + r * held[:, 2 * w :])
        return n + z * (h - n)


@dataclass(repr=False)
class LSTM(_Recurrent):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997), with zero initial states.

    c = f * c + i * tanh(g) and h = o * tanh(c), where i, f and o are sigmoids of inputs and h. The
    initial bias of the forget gate is one.

    >>> cell = nbgrad.nn.LSTM.random(0, 3, 5)
    >>> cell(np.ones((2, 4, 3))).shape
    (2, 4, 5)
    """

    gates: ClassVar[int] = 4

    @classmethod
    def random(cls, rng: Random, inputs: int, width: int, *, dtype: Any = np.float64) -> Any:
        """Initialise with Glorot uniform weights and zero biases, ones for the forget gate."""
        layer = super().random(rng, inputs, width, dtype=dtype)
        layer.bias[width : 2 * width] = 1.0
        return layer

    def __call__(self, x: Any) -> Any:
        driven = self._driven(x)

        def body(state: tuple[Any, Any], drive: Any) -> tuple[Any, Any]:
            h, c = self.step(*state, drive)
            return (h, c), h

        zeros = self._start(driven)
        _, states = scan(body, (zeros, zeros), driven)
        return np.transpose(states, (1, 0, 2))

    def step(self, h: Any, c: Any, drive: Any) -> tuple[Any, Any]:
        """The next state for `drive`, x @ inputs + bias."""
        w = self.width
        z = drive + h @ self.hidden
        gates, g = sigmoid(z[:, : 3 * w]), np.tanh(z[:, 3 * w :])
        i, f, o = gates[:, :w], gates[:, w : 2 * w], gates[:, 2 * w :]
        c = f * c + i * g
        return o * np.tanh(c), c
