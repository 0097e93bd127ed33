"""Products of matrices in a lowered program: a `Matmul` only where no simpler code is equal."""

import math
from typing import TYPE_CHECKING

import numpy as np

from ...codegen.affine import Axis
from ...codegen.loops import SUM
from .algebra import TIMES
from .buffered import Matmul
from .values import Full, Value

if TYPE_CHECKING:
    from .graph import Graph


def product(graph: "Graph", a: Value, b: Value) -> Value:
    """The product of matrices (…, m, k) and (…, k, n) whose leading axes are equal or gone."""
    (*_, m, k), n = a.shape, b.shape[-1]
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape, dtype = (*lead, m, n), a.dtype
    if not math.prod(shape) or not k:
        return graph.full(0.0, shape, dtype)
    if dtype.kind != "f":  # BLAS knows floats
        return _summed(graph, a, b, shape, k)
    # Rows and columns of ones only sum; one term only multiplies; one element is a dot product.
    if isinstance(a, Full):
        total = graph.reduce(SUM, b, [len(b.shape) - 2])
        total = graph.map(TIMES, (graph.full(a.number, (), dtype), total), dtype)
        return graph.broadcast(graph.reshape(total, (*b.shape[:-2], 1, n)), shape)
    if isinstance(b, Full):
        total = graph.reduce(SUM, a, [len(a.shape) - 1])
        total = graph.map(TIMES, (graph.full(b.number, (), dtype), total), dtype)
        return graph.broadcast(graph.reshape(total, (*a.shape[:-1], 1)), shape)
    if k == 1:
        return graph.map(TIMES, (graph.broadcast(a, shape), graph.broadcast(b, shape)), dtype)
    if m == n == 1:
        row = graph.reshape(a, (*a.shape[:-2], k))
        column = graph.reshape(b, (*b.shape[:-2], k))
        terms = graph.map(TIMES, (row, column), dtype)
        return graph.reshape(graph.reduce(SUM, terms, [len(lead)]), shape)
    return graph.new(Matmul, shape, dtype, (a, b))


def _summed(graph: "Graph", a: Value, b: Value, shape: tuple[int, ...], k: int) -> Value:
    """The product as a sum of k terms."""
    n, lead = len(shape), len(shape) - 2
    rows = [*_leading_axes(a, lead), Axis(n - 2, 0, 1), Axis(n, 0, 1)]
    columns = [*_leading_axes(b, lead), Axis(n, 0, 1), Axis(n - 1, 0, 1)]
    operands = graph.view(a, rows, (*shape, k)), graph.view(b, columns, (*shape, k))
    return graph.reduce(SUM, graph.map(TIMES, operands, a.dtype, (*shape, k)), [n])


def _leading_axes(matrices: Value, lead: int) -> list[Axis]:
    """The leading axes of matrices in a result that has `lead` of them."""
    own = len(matrices.shape) - 2
    return [Axis(i + lead - own, 0, 1) for i in range(own)]


__all__ = ["product"]
