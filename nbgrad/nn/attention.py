"""Multi-head attention."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.primitive import shape_of
from ..errors import ArgumentError
from ..rules.softmax import softmax
from ..transforms.trees import register
from .layers import Layer, Random, glorot_uniform, require_last


@dataclass(repr=False)
class Attention(Layer):
    """Multi-head self-attention (Vaswani and others, 2017).

    For each head and time, the result is the mean of the values of all times with the weights
    softmax(query . key / sqrt(n)). Input and output have shape (samples, times, width). `weight`
    has shape (width, 3, heads, n), for queries, keys and values of n = width / heads features, and
    `output` has shape (heads, n, width). With `causal`, later times are masked.

    >>> layer = nbgrad.nn.Attention.random(0, 8, heads=2)
    >>> layer(np.ones((2, 5, 8))).shape
    (2, 5, 8)
    """

    weight: Any
    output: Any
    causal: bool = False

    @classmethod
    def random(
        cls, rng: Random, width: int, heads: int, *, causal: bool = False, dtype: Any = np.float64
    ) -> "Attention":
        """Initialise with Glorot uniform weights.

        Raises ValueError if the width is not divisible by the number of heads.
        """
        if width % heads:
            raise ArgumentError(f"Attention: the width {width} is not divisible by {heads} heads")
        rng = np.random.default_rng(rng)
        n = width // heads
        return cls(
            glorot_uniform(rng, (width, 3, heads, n), width, width, dtype),
            glorot_uniform(rng, (heads, n, width), width, width, dtype),
            causal,
        )

    def __call__(self, x: Any) -> Any:
        width, _, heads, n = shape_of(self.weight)
        require_last(self, x, width, f"its weight has shape {shape_of(self.weight)}", axes=3)
        samples, times, _ = shape_of(x)
        flat = np.reshape(x, (samples * times, width)) @ np.reshape(self.weight, (width, -1))
        parts = np.transpose(np.reshape(flat, (samples, times, 3, heads, n)), (2, 0, 3, 1, 4))
        query, key, value = parts[0], parts[1], parts[2]
        scores = (query @ np.swapaxes(key, 2, 3)) * (1.0 / float(np.sqrt(n)))
        if self.causal:
            scores = np.where(np.tri(times, dtype=bool), scores, -np.inf)
        seen = np.transpose(softmax(scores) @ value, (0, 2, 1, 3))
        flat = np.reshape(seen, (samples * times, heads * n))
        return np.reshape(flat @ np.reshape(self.output, (-1, width)), (samples, times, width))


register(Attention, fields=["weight", "output"])
