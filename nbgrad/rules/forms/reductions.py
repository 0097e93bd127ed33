"""Static forms of reductions, running sums and products of matrices."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.reductions import MAXIMUM, MINIMUM, SUM, Reduction
from ...ir.sizes import require_least
from ...kernels import running
from ..dtypes import INT


def opened(graph: Any, value: Any, shape: tuple, axes: Sequence[int]) -> Any:
    """A reduced value with its axes restored, of length 1."""
    return graph.reshape(value, tuple(1 if i in axes else n for i, n in enumerate(shape)))


def _wide(dtype: np.dtype) -> np.dtype:
    """The dtype in which elements are added: 64 bits for narrow integers and bools."""
    return dtype if dtype.itemsize == 8 or dtype.kind == "f" else INT


def reduction(kind: Reduction) -> Callable:
    """The form of reductions over `axes`."""

    def form(graph, symbol, x):
        wide = _wide(symbol.dtype)
        if kind in (MAXIMUM, MINIMUM):  # undefined for no elements
            for axis in symbol.params["axes"]:
                require_least(x.shape[axis], 1)
        total = graph.reduce(kind, graph.cast(x, wide), symbol.params["axes"])
        return graph.reshape(total, symbol.shape)

    return form


def mean(graph, symbol, x):
    """The mean of integers and bools; that of floats is recorded as a sum."""
    axes = symbol.params["axes"]
    x = graph.cast(x, symbol.dtype)
    count = math.prod(x.shape[i] for i in axes)
    share = graph.full(1.0 / count if count else math.nan, (), x.dtype)
    total = graph.map("x * y", (graph.reduce(SUM, x, axes), share), x.dtype)
    return graph.reshape(total, symbol.shape)


def norm(graph, symbol, x):
    square = graph.map("x * x", (graph.cast(x, symbol.dtype),), symbol.dtype)
    total = graph.reduce(SUM, square, symbol.params["axes"])
    return graph.reshape(graph.map("sqrt(x)", (total,), symbol.dtype), symbol.shape)


def row_sums(graph, symbol, x, y):
    wide = _wide(symbol.dtype)
    products = graph.map("x * y", (graph.cast(x, wide), graph.cast(y, wide)), wide)
    total = graph.reduce(SUM, products, range(symbol.params["kept"], len(x.shape)))
    return graph.cast(total, symbol.dtype)


def cumsum(graph, symbol, x):
    axis = symbol.params["axis"]
    sums = running.cumsum_back if symbol.params["reverse"] else running.cumsum
    sizes = (math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :]))
    return graph.call(symbol.shape, symbol.dtype, (graph.cast(x, symbol.dtype),), sums, sizes)


def recurrence(graph, symbol, a, b):
    a, b = graph.cast(a, symbol.dtype), graph.cast(b, symbol.dtype)
    backward = symbol.params["reverse"]
    solve = running.recurred_back if backward else running.recurred
    sizes = (math.prod(b.shape[:-1]), b.shape[-1])
    return graph.call(symbol.shape, symbol.dtype, (a, b), solve, sizes)


def of_rows(device: Callable) -> Callable:
    """The form of a function of two vectors that calls a device function with their sizes."""

    def form(graph, symbol, x, y):
        x, y = graph.cast(x, symbol.dtype), graph.cast(y, symbol.dtype)
        return graph.call(symbol.shape, symbol.dtype, (x, y), device, (x.size, y.size))

    return form


def sliding(graph, symbol, v, x):
    v, x = graph.cast(v, symbol.dtype), graph.cast(x, symbol.dtype)
    lead, length, n = symbol.shape[:-1], v.shape[-1], x.shape[-1]
    rows = math.prod(lead)
    v = graph.reshape(graph.broadcast(v, (*lead, length)), (rows, length))
    x = graph.reshape(graph.broadcast(x, (*lead, n)), (rows, n))
    out = graph.call((rows, length - n + 1), v.dtype, (v, x), running.slid, (rows, length, n))
    return graph.reshape(out, symbol.shape)


def matmul(graph, symbol, x, y):
    wide = _wide(symbol.dtype)
    x, y = graph.cast(x, wide), graph.cast(y, wide)
    a = graph.reshape(x, (1, *x.shape)) if len(x.shape) == 1 else x
    b = graph.reshape(y, (*y.shape, 1)) if len(y.shape) == 1 else y
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if lead and math.prod(b.shape[:-2]) == 1:  # a shared matrix: one product
        rows = math.prod(a.shape[:-1])
        one = graph.matmul(graph.reshape(a, (rows, a.shape[-1])), graph.reshape(b, b.shape[-2:]))
        return graph.reshape(one, symbol.shape)
    if lead:
        a = graph.broadcast(a, (*lead, *a.shape[-2:]))
        b = graph.broadcast(b, (*lead, *b.shape[-2:]))
    return graph.reshape(graph.matmul(a, b), symbol.shape)
