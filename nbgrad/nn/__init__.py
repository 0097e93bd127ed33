"""Layers: callable dataclasses of arrays, which all transformations accept as trees.

>>> rng = np.random.default_rng(0)
>>> model = nbgrad.nn.Chain(nbgrad.nn.Dense.random(rng, 2, 8), np.tanh,
...                         nbgrad.nn.Dense.random(rng, 8, 1))
>>> model(np.ones((5, 2))).shape
(5, 1)

A model is any callable object, and `model(x)` evaluates it. A layer that behaves differently in
training, or is updated by it, has a method `training(x)` that returns the result and the updated
layer: a batch norm with new running statistics, a dropout with the next random state.
`y, model = nn.training(model, x)` works for every model. It is a pure function, so a whole training
step can be compiled.
"""

from .attention import Attention
from .images import Conv2d, MaxPool2d, MeanPool2d, flatten
from .layers import Chain, Dense, Dropout, Embedding, glorot_uniform, training
from .norm import BatchNorm, LayerNorm
from .recurrent import GRU, LSTM
from .summary import summary

__all__ = [
    "GRU",
    "LSTM",
    "Attention",
    "BatchNorm",
    "Chain",
    "Conv2d",
    "Dense",
    "Dropout",
    "Embedding",
    "LayerNorm",
    "MaxPool2d",
    "MeanPool2d",
    "flatten",
    "glorot_uniform",
    "summary",
    "training",
]
