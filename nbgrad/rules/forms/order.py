"""Static forms of orders and positions: calls on pointers, and least positions."""

import math
from collections.abc import Callable

import numpy as np

from ...ir.affine import Axis
from ...ir.reductions import MINIMUM, Reduction
from ...kernels.selection import partitioned
from ...kernels.sorting import in_lanes, ordered, ordered_together, searched
from ..dtypes import BOOL, INT


def _rows(graph, x, axis):
    """x with the axis last, and the inverse permutation."""
    n = len(x.shape)
    order = (*(i for i in range(n) if i != axis), axis)
    return graph.transpose(x, order), tuple(sorted(range(n), key=order.__getitem__))


def argsort(graph, symbol, x):
    moved, back = _rows(graph, x if x.dtype.kind != "b" else graph.cast(x, INT),
                        symbol.params["axis"])  # fmt: skip
    *lead, n = moved.shape
    rows = math.prod(lead)
    places = tuple(sorted(set(symbol.params["kth"])))
    # The second half is scratch space.
    if in_lanes(rows, n):
        found = graph.call((2, rows, n), INT, (moved,), ordered_together, (rows, n))
    elif places:
        found = graph.call((2, rows, n), INT, (moved,), partitioned, (rows, n, *places))
    else:
        found = graph.call((2, rows, n), INT, (moved,), ordered, (rows, n))
    first = graph.reshape(found, (2, *moved.shape))
    return graph.transpose(_first(graph, first), back)


def _first(graph, pair):
    axes = [Axis(None, 0, 0), *(Axis(i, 0, 1) for i in range(len(pair.shape) - 1))]
    return graph.view(pair, axes, pair.shape[1:])


def extreme(kind: Reduction) -> Callable:
    """The form of argmax or argmin: the first position, or that of the first nan."""

    def form(graph, symbol, x):
        axis = symbol.params["axis"]
        n = x.shape[axis]
        x = graph.cast(x, INT) if x.dtype == BOOL else x
        best = graph.reduce(kind, x, [axis])
        opened = tuple(1 if i == axis else m for i, m in enumerate(x.shape))
        best = graph.broadcast(graph.reshape(best, opened), x.shape)
        place = graph.iota(x.shape, axis)
        none = graph.full(n, (), INT)
        body = "select((x == y) | (x != x), z, u)"
        found = graph.map(body, (x, best, place, none), INT)
        return graph.reshape(graph.reduce(MINIMUM, found, [axis]), symbol.shape)

    return form


def searchsorted(graph, symbol, a, v):
    dtype = np.result_type(a.dtype, v.dtype)
    a, v = graph.cast(a, dtype), graph.cast(v, dtype)
    right = int(symbol.params["side"] == "right")
    if not a.size or not v.size:
        return graph.full(0, v.shape, INT)
    flat = graph.reshape(v, (v.size,))
    out = graph.call((v.size,), INT, (a, flat), searched, (a.size, v.size, right))
    return graph.reshape(out, v.shape)
