"""Random draws as functions of an explicit state, the same in both tiers, without a derivative."""

from collections.abc import Callable

import numpy as np

from ..core.primitive import Aval, Primitive
from ..kernels import random as kernels
from .dtypes import INT
from .families import sample


class Draw(Primitive):
    """An array filled from a state of two int64: a key, and the number of the next block.

    `fill` is the device function on pointers that compiled programs call; `params`, with
    examples, are the numbers that it takes in order.
    """

    differentiable = False
    is_random = True

    def __init__(self, name: str, kernel: Callable, fill: Callable, dtype: type, **params):
        state = np.array([7, 0])
        samples = [sample(state, shape=shape, **params) for shape in ((3,), (2, 3), ())]
        super().__init__(
            name,
            None,
            samples=samples,
            notes="a function of the state alone: each sample has its own state",
        )
        self.kernel, self.fill, self.dtype = kernel, fill, np.dtype(dtype)
        self.order = tuple(params)

    def evaluate(self, *args, **params):
        state = np.array(args[0], np.int64, order="C")
        out = np.empty(params["shape"], self.dtype)
        self.kernel(state, out.reshape(-1), *(params[name] for name in self.order))
        return out

    def infer(self, *avals, **params) -> Aval:
        return Aval.of(params["shape"], self.dtype)

    def form(self, graph, symbol, state):
        n = symbol.aval.size
        sizes = (n, *(symbol.params[name] for name in self.order))
        flat = graph.call((n,), self.dtype, (graph.cast(state, INT),), self.fill, sizes)
        return graph.reshape(flat, symbol.shape)


uniform = Draw(
    "random_uniform", kernels.uniform, kernels.fill_uniform, np.float64, low=0.0, width=1.0
)
normal = Draw("random_normal", kernels.normal, kernels.fill_normal, np.float64, mean=0.0, std=1.0)
integers = Draw("random_integers", kernels.integers, kernels.fill_integers, np.int64, high=5)
permutation = Draw("random_permutation", kernels.permutation, kernels.fill_permutation, np.int64)
