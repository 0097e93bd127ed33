"""Reductions: sum, mean, max."""

import math
from typing import Any

import numpy as np

from .. import eager, shapes
from ..array import implements
from ..core import Aval, bind, shape_of
from ..kernels import reduce as kernels
from ..kernels import unbroadcast as unbroadcast_kernel
from .families import FLOATS, Custom, Linear, float_type, sample


def _infer(x: Aval, *, axes, keepdims):
    return Aval.of(shapes.reduced(x.shape, axes, keepdims), float_type(x))


def _floats(x) -> np.ndarray:
    x = np.asarray(x)
    return x if x.dtype in (np.float64, np.float32) else x.astype(np.float64)


def _opened(ct, shape, axes):
    """`ct` with the reduced axes back, of length 1."""
    return np.reshape(ct, shapes.reduced(shape, axes, True))


def _sum_transpose(ct, args, *, axes, keepdims):
    shape = shape_of(args[0])
    return [np.broadcast_to(_opened(ct, shape, axes), shape)]


def _mean_transpose(ct, args, *, axes, keepdims):
    return _sum_transpose(ct * _share(shape_of(args[0]), axes), args, axes=axes, keepdims=keepdims)


def _share(shape, axes) -> float:
    """1 over the number of elements that a reduction joins; nan for none, as NumPy has it."""
    count = math.prod(shape[i] for i in axes)
    return 1.0 / count if count else math.nan


class SumPlan(eager.Call):
    """A sum or mean with its loop sizes looked up once."""

    __slots__ = ("dtype", "factor", "sizes", "spread")
    sizes: Any

    def __init__(self, row, kinds, params):
        super().__init__(row, kinds, params)
        aval = eager.abstract(self.kinds[0])
        self.dtype, self.spread = aval.dtype, aval.shape
        self.factor = _share(aval.shape, params["axes"]) if row is mean_row else 1.0
        self.sizes = kernels.middle(aval.shape, params["axes"])
        if self.sizes and self.dtype in FLOATS:
            self.aval = row.infer(aval, **params)

    def forward(self, x):  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.aval is None:
            return super().forward(x)
        out = np.empty(self.aval.shape, self.dtype)
        outer, length, inner = self.sizes
        kernels.sum_middle.calls += 1
        kernels.sum_middle.dispatcher(x.ravel(), out.ravel(), outer, length, inner, self.factor)
        return out

    def pull_all(self, ct, out, args):
        if self.aval is None:
            return self.pull(ct, out, args, self.need)
        x_bar = np.empty(self.spread, self.dtype)
        outer, length, inner = self.sizes
        kernels.spread_middle.calls += 1
        kernels.spread_middle.dispatcher(
            ct.ravel(), x_bar.ravel(), outer, length, inner, self.factor
        )
        return (x_bar,)


_samples = [
    sample((3,), axes=(0,), keepdims=False),
    sample((2, 3), axes=(0,), keepdims=False),
    sample((2, 3), axes=(1,), keepdims=True),
    sample((2, 3, 2), axes=(0, 2), keepdims=False),
    sample((2, 3, 2), axes=(1,), keepdims=False),
    sample((), axes=(), keepdims=False),
    sample((2, 3), axes=(0, 1), keepdims=False),
]
_with_empty = [*_samples, sample((0, 3), axes=(0,), keepdims=False)]

sum_row = Linear(
    "sum", lambda x, *, axes, keepdims: kernels.total(_floats(x), axes, keepdims),
    _infer, _sum_transpose, function=np.sum, samples=_with_empty,
)  # fmt: skip
mean_row = Linear(
    "mean",
    lambda x, *, axes, keepdims: kernels.total(_floats(x), axes, keepdims, _share(x.shape, axes)),
    _infer, _mean_transpose, function=np.mean, samples=_samples,
)  # fmt: skip
sum_row.plan_class = mean_row.plan_class = SumPlan


@implements(np.sum)
def sum(x, axis=None, keepdims: bool = False):
    """Sum over `axis`: an int, a tuple of ints, or None for all. Pullback: ct spread over x."""
    axes = shapes.axes_of(axis, len(x.shape), "sum")
    return x.bind1(sum_row, x, axes=axes, keepdims=bool(keepdims))


@implements(np.mean)
def mean(x, axis=None, keepdims: bool = False):
    """Mean over `axis`; nan for none, as NumPy has it."""
    axes = shapes.axes_of(axis, len(x.shape), "mean")
    return x.bind1(mean_row, x, axes=axes, keepdims=bool(keepdims))


def _ties(x, out, axes):
    """For each element its share of the largest: 1 over the number of ties, or 0."""
    shape = shape_of(x)
    best = np.broadcast_to(_opened(out, shape, axes), shape)
    mask = np.where(x == best, 1.0, 0.0)
    return mask / np.broadcast_to(_opened(np.sum(mask, axis=axes), shape, axes), shape)


def _max_rule(ct, out, args, need, *, axes, keepdims):
    (x,) = args
    spread = np.broadcast_to(_opened(ct, shape_of(x), axes), shape_of(x))
    return [spread * _ties(x, out, axes)]


def _max_push(tangents, out, args, *, axes, keepdims):
    (x,) = args
    return np.sum(tangents[0] * _ties(x, out, axes), axis=axes, keepdims=keepdims)


def _max_fused(ct, out, args, need, *, axes, keepdims):
    return [kernels.pull_largest(ct, args[0], out, axes)] if axes else [ct]


max_row = Custom(
    "max", lambda x, *, axes, keepdims: kernels.largest(_floats(x), axes, keepdims),
    _infer, _max_rule, _max_push, fused=_max_fused, function=np.max, samples=_samples,
    kinks=[((np.array([1.0, 1.0, 0.0]),), (np.array([0.5, 0.5, 0.0]),))],
    notes="ties share the derivative evenly",
)  # fmt: skip


@implements(np.max, np.amax)
def max(x, axis=None, keepdims: bool = False):
    """Largest element over `axis`; tied elements share the cotangent evenly.

    Raises ValueError where there is no element to choose from.
    """
    shape = shape_of(x)
    axes = shapes.axes_of(axis, len(shape), "max")
    if any(shape[i] == 0 for i in axes):
        raise ValueError(f"max: the array of shape {shape} is empty along an axis in {axes}")
    return bind(max_row, x, axes=axes, keepdims=bool(keepdims))


# Broadcasting is undone by this row alone: the graph applies it to what a rule returns.
unbroadcast = Linear(
    "unbroadcast",
    lambda x, *, shape: unbroadcast_kernel.unbroadcast(_floats(x), shape),
    lambda x, *, shape: Aval.of(shape, float_type(x)),
    lambda ct, args, *, shape: [np.broadcast_to(ct, shape_of(args[0]))],
    samples=[sample((2, 3), shape=(3,)), sample((2, 3), shape=(2, 1)), sample((3,), shape=())],
)
