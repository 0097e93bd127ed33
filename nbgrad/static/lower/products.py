"""Products of matrices in a lowered program: a `Matmul` only where no simpler code is equal."""

import math
from typing import TYPE_CHECKING

import numpy as np

from ...ir.affine import Axis
from ...ir.reductions import SUM
from .algebra import TIMES
from .buffered import Matmul
from .values import Full, Value, View

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
        terms = graph.map(TIMES, (graph.full(a.number, (), dtype), b), dtype)
        total = graph.reduce(SUM, terms, [len(b.shape) - 2])
        return graph.broadcast(graph.reshape(total, (*b.shape[:-2], 1, n)), shape)
    if isinstance(b, Full):
        terms = graph.map(TIMES, (graph.full(b.number, (), dtype), a), dtype)
        total = graph.reduce(SUM, terms, [len(a.shape) - 1])
        return graph.broadcast(graph.reshape(total, (*a.shape[:-1], 1)), shape)
    if k == 1:
        return graph.map(TIMES, (graph.broadcast(a, shape), graph.broadcast(b, shape)), dtype)
    if m == n == 1:
        row = graph.reshape(a, (*a.shape[:-2], k))
        column = graph.reshape(b, (*b.shape[:-2], k))
        terms = graph.map(TIMES, (row, column), dtype)
        return graph.reshape(graph.reduce(SUM, terms, [len(lead)]), shape)
    return graph.new(Matmul, shape, dtype, (a, b))


def summed_products(graph: "Graph", value: Matmul, axes: tuple[int, ...]) -> Value | None:
    """The sum of products over leading axes as one product, whose inner axis is all of them; None
    where the factors would have to be moved for that, or where it is none of theirs."""
    lead = len(value.shape) - 2
    a, b = value.args
    if axes[-1] >= lead or any(x.shape[:-2] != value.shape[:-2] for x in (a, b)):
        return None
    rest = [i for i in range(lead) if i not in axes]
    left = _joined(graph, a, [*rest, lead], [*axes, lead + 1])
    right = _joined(graph, b, [*rest, lead + 1], [*axes, lead])
    if left is None or right is None:
        return None
    order = [*range(len(rest)), len(rest) + 1, len(rest)]
    return graph.matmul(left, graph.transpose(right, order))


def _joined(graph: "Graph", x: Value, kept: list[int], joined: list[int]) -> Value | None:
    """`x` with the axes `kept`, and `joined` as the last one; None where elements would have to
    be moved: they are in order with the last of `kept` in its place, or behind the joined ones."""
    shape = tuple(x.shape[i] for i in kept)
    count = math.prod(x.shape[i] for i in joined)
    straight = graph.transpose(x, [*kept, *joined])
    if not isinstance(straight, View):
        return graph.reshape(straight, (*shape, count))
    turned = graph.transpose(x, [*kept[:-1], *joined, kept[-1]])
    if isinstance(turned, View):
        return None
    flat = graph.reshape(turned, (*shape[:-1], count, shape[-1]))
    n = len(shape) - 1
    return graph.transpose(flat, [*range(n), n + 1, n])


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
