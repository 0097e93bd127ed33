"""Layers: dataclasses of arrays that are called, and are trees for every transformation.

>>> rng = np.random.default_rng(0)
>>> model = nbgrad.nn.Chain(nbgrad.nn.Dense.random(rng, 2, 8), np.tanh,
...                         nbgrad.nn.Dense.random(rng, 8, 1))
>>> model(np.ones((5, 2))).shape
(5, 1)

A model is any object that is called; a layer is nothing else. `model(x)` evaluates. What acts
otherwise in training, or changes by it, has a method `training(x)` that gives the result and the
layer as it is afterwards: batch norm with new running statistics, dropout with the next random
state. `y, model = nn.training(model, x)` is right for every model, and pure, so that a whole step
of training compiles.
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
