"""Dense layers, embeddings, dropout and chains."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from .. import random
from ..core.primitive import shape_of
from ..errors import ArgumentError, ArgumentTypeError, DimensionMismatch, IndexOutOfBounds
from ..runtime.kinds import is_a
from ..transforms.trees import register

Random = np.random.Generator | int
"""A NumPy Generator or a seed."""


class Layer:
    """Base class of layers, whose repr shows shapes and dtypes instead of values."""

    def __repr__(self) -> str:
        parts = [f"{f.name}={_shown(getattr(self, f.name))}" for f in fields(self)]  # pyright: ignore
        return f"{type(self).__name__}({', '.join(parts)})"


def _shown(x: Any) -> str:
    if hasattr(x, "dtype") and shape_of(x):
        return f"{x.dtype}{list(shape_of(x))}"
    return getattr(x, "__name__", None) or repr(x)


def training(model: Any, x: Any) -> tuple[Any, Any]:
    """Evaluate a model in training mode; return the result and the updated model.

    This calls `model.training(x)` if there is such a method; otherwise the result is `model(x)` and
    the model is unchanged.

    >>> y, after = nbgrad.nn.training(nbgrad.nn.BatchNorm.of(2), np.array([[0.0, 2.0], [2.0, 6.0]]))
    >>> y.round(3)[0], after.mean
    (array([-0.707, -0.707]), array([0.1, 0.4]))
    """
    act = getattr(model, "training", None)
    return (model(x), model) if act is None else act(x)


def require_last(layer: Any, x: Any, width: int, why: str, axes: int | None = None) -> None:
    """Raise DimensionMismatch if the last axis or the number of axes of x is wrong."""
    shape = shape_of(x)
    if not shape or shape[-1] != width or (axes is not None and len(shape) != axes):
        wanted = {3: "(samples, times, {})", 4: "(samples, height, width, {})"}
        form = wanted.get(axes or 0, "(..., {})").format(width)
        raise DimensionMismatch(
            f"{type(layer).__name__}: an input of shape {shape}; expected {form}, because {why}"
        )


def glorot_uniform(
    rng: Random, shape: tuple[int, ...], inputs: int, outputs: int, dtype: Any = np.float64
) -> np.ndarray:
    """Draw uniform numbers in +- sqrt(6 / (inputs + outputs)) (Glorot and Bengio, 2010).

    >>> w = nbgrad.nn.glorot_uniform(0, (2, 4), 2, 4)
    >>> w.shape, bool(np.all(abs(w) <= 1.0))
    ((2, 4), True)
    """
    draws = np.random.default_rng(rng).random(shape) - 0.5
    return (draws * np.sqrt(24 / (inputs + outputs))).astype(dtype)


@dataclass(repr=False)
class Dense(Layer):
    """`x @ weight + bias`. `weight` has shape (inputs, outputs); `bias` has (outputs,) or is None.

    >>> layer = nbgrad.nn.Dense(np.ones((3, 2)), np.zeros(2))
    >>> layer(np.ones((5, 3))).shape
    (5, 2)
    """

    weight: Any
    bias: Any = None

    @classmethod
    def random(
        cls, rng: Random, inputs: int, outputs: int, *, bias: bool = True, dtype: Any = np.float64
    ) -> "Dense":
        """Initialise with Glorot uniform weights and a zero bias."""
        weight = glorot_uniform(rng, (inputs, outputs), inputs, outputs, dtype)
        return cls(weight, np.zeros(outputs, dtype) if bias else None)

    def __call__(self, x: Any) -> Any:
        shape = shape_of(self.weight)
        require_last(self, x, shape[0], f"its weight has shape {shape}")
        y = x @ self.weight
        return y if self.bias is None else y + self.bias


@dataclass(repr=False)
class Embedding(Layer):
    """Rows of a table `weight`, of shape (count, width): integers (...,) give (..., width).

    Negative integers count from the end, as in NumPy. Raises IndexError for integers out of range,
    TypeError for other inputs than integers.

    >>> table = nbgrad.nn.Embedding(np.arange(6.0).reshape(3, 2))
    >>> table(np.array([2, 0]))
    array([[4., 5.],
           [0., 1.]])
    """

    weight: Any

    @classmethod
    def random(cls, rng: Random, count: int, width: int, *, dtype: Any = np.float64) -> "Embedding":
        """Initialise with standard normal rows."""
        return cls(np.random.default_rng(rng).standard_normal((count, width)).astype(dtype))

    def __call__(self, x: Any) -> Any:
        x = x if hasattr(x, "dtype") else np.asarray(x)
        if x.dtype.kind not in "iu":
            raise ArgumentTypeError(
                f"Embedding: an input of dtype {x.dtype}; expected integers: use x.astype(int)",
                code="NB-INTEGER",
            )
        count = shape_of(self.weight)[0]
        if is_a(x, np.ndarray) and x.size and not (-count <= x.min() and x.max() < count):
            raise IndexOutOfBounds(
                f"Embedding: inputs from {x.min()} to {x.max()}, but the rows are 0 to {count - 1}"
            )
        return self.weight[x]


@dataclass(repr=False)
class Dropout(Layer):
    """In training, set each element to zero with probability `rate`, and scale by 1 / (1 - rate).

    In evaluation, return x. `state` is a state of `nbgrad.random`.

    >>> layer = nbgrad.nn.Dropout.of(0.5, seed=0)
    >>> layer(np.ones(3))  # only training drops
    array([1., 1., 1.])
    >>> out, layer = nbgrad.nn.training(layer, np.ones(3))
    >>> bool(np.all((out == 0.0) | (out == 2.0)))
    True
    """

    rate: float
    state: Any

    @classmethod
    def of(cls, rate: float, seed: int = 0) -> "Dropout":
        """Create a layer with a seed. Raises ValueError for a rate outside of [0, 1)."""
        if not 0 <= rate < 1:
            raise ArgumentError(f"Dropout: rate is {rate}; it must be in [0, 1)")
        return cls(float(rate), random.key(seed))

    def __call__(self, x: Any) -> Any:
        return x

    def training(self, x: Any) -> tuple[Any, "Dropout"]:
        state, draws = random.uniform(self.state, shape_of(x))
        kept = np.where(draws >= self.rate, x * (1.0 / (1.0 - self.rate)), 0.0)
        return kept.astype(x.dtype), replace(self, state=state)


register(Dropout, fields=["state"])


@dataclass(init=False, repr=False)
class Chain(Layer):
    """A composition of callables: layers, chains and functions.

    >>> chain = nbgrad.nn.Chain(np.cos, np.sin)
    >>> value, back = nbgrad.pullback(chain, 0.9)
    >>> round(float(value), 4), round(float(back(1.0)[1]), 4)
    (0.5823, -0.6368)
    """

    layers: tuple[Any, ...]

    def __init__(self, *layers: Callable[..., Any]):
        for layer in layers:
            if not callable(layer):
                raise ArgumentTypeError(
                    f"Chain: a {type(layer).__name__} is not a layer: it is not callable",
                    code="NB-MODEL",
                )
        self.layers = layers

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def training(self, x: Any) -> tuple[Any, "Chain"]:
        after = []
        for layer in self.layers:
            x, layer = training(layer, x)
            after.append(layer)
        return x, Chain(*after)

    def __repr__(self) -> str:
        return f"Chain({', '.join(map(_shown, self.layers))})"
