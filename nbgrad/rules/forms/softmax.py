"""Static forms of softmax, logsoftmax and logsumexp, losses over classes, and polynomials."""

import math
from collections.abc import Sequence
from typing import Any

from ...ir.affine import Axis
from ...ir.reductions import MAXIMUM, SUM
from ..dtypes import BOOL, INT
from .reductions import opened


def _shifted(graph: Any, x: Any, axes: Sequence[int]):
    """`x - max`, its exponentials, their sums with the axes restored, and the max."""
    dtype = x.dtype
    largest = graph.reduce(MAXIMUM, x, axes)
    finite = graph.map("abs(x) < inf", (largest,), BOOL)
    largest = graph.map("select(x, y, z)", (finite, largest, graph.full(0.0, (), dtype)), dtype)
    largest = opened(graph, largest, x.shape, axes)
    shifted = graph.map("x - y", (x, largest), dtype, x.shape)
    exponentials = graph.map("exp(x)", (shifted,), dtype)
    sums = opened(graph, graph.reduce(SUM, exponentials, axes), x.shape, axes)
    return shifted, exponentials, sums, largest


def softmax(graph, symbol, x):
    x = graph.cast(x, symbol.dtype)
    if not x.size:
        return x
    _, exponentials, sums, _ = _shifted(graph, x, (symbol.params["axis"],))
    inverse = graph.map("1.0 / x", (sums,), x.dtype)
    return graph.map("x * y", (exponentials, inverse), x.dtype, x.shape)


def logsoftmax(graph, symbol, x):
    x = graph.cast(x, symbol.dtype)
    return x if not x.size else _log_shares(graph, x, symbol.params["axis"])


def _log_shares(graph: Any, x: Any, axis: int) -> Any:
    shifted, _, sums, _ = _shifted(graph, x, (axis,))
    logs = graph.map("log(x)", (sums,), x.dtype)
    return graph.map("x - y", (shifted, logs), x.dtype, x.shape)


def logsumexp(graph, symbol, x):
    x, axes = graph.cast(x, symbol.dtype), symbol.params["axes"]
    if not math.prod(x.shape[i] for i in axes):
        return graph.full(-math.inf, symbol.shape, symbol.dtype)
    _, _, sums, largest = _shifted(graph, x, axes)
    logs = graph.map("log(x)", (sums,), x.dtype)
    return graph.reshape(graph.map("x + y", (logs, largest), x.dtype), symbol.shape)


def cross_entropy(graph, symbol, x, y):
    x, y = graph.cast(x, symbol.dtype), graph.cast(y, symbol.dtype)
    logs = _log_shares(graph, x, len(x.shape) - 1)
    product = graph.map("x * y", (y, logs), x.dtype)
    return _mean_loss(graph, product, x)


def _mean_loss(graph: Any, product: Any, x: Any) -> Any:
    rows = 1 if len(x.shape) == 1 else x.shape[0]
    total = graph.reduce(SUM, product, range(len(product.shape)))
    return graph.map("x * y", (total, graph.full(-1.0 / rows, (), x.dtype)), x.dtype)


def label_cross_entropy(graph, symbol, x, labels):
    x = graph.cast(x, symbol.dtype)
    logs = _log_shares(graph, x, len(x.shape) - 1)
    mask = _mask(graph, labels, x.shape)
    product = graph.map("select(x, y, z)", (mask, logs, graph.full(0.0, (), x.dtype)), x.dtype)
    return _mean_loss(graph, product, x)


def labels(graph, symbol, labels):
    classes = symbol.params["classes"]
    message = f"{symbol.params['op']}: a label is not one of the {classes} classes, numbered from 0"
    return graph.within(graph.cast(labels, INT), 0, classes, message, ValueError)


def _mask(graph: Any, labels: Any, shape: tuple) -> Any:
    """The mask of positions along the last axis that are the label of the row."""
    places = graph.iota(shape, len(shape) - 1)
    column = graph.reshape(graph.cast(labels, INT), (*shape[:-1], 1))
    return graph.map("x == y", (places, column), BOOL, shape)


def one_hot(graph, symbol, labels):
    mask = _mask(graph, labels, symbol.shape)
    one, zero = (graph.full(number, (), symbol.dtype) for number in (1.0, 0.0))
    return graph.map("select(x, y, z)", (mask, one, zero), symbol.dtype)


def evalpoly(graph, symbol, x, c):
    dtype = symbol.dtype
    x, c = graph.cast(x, dtype), graph.cast(c, dtype)
    terms = [graph.view(c, (Axis(None, k, 0),), ()) for k in range(c.shape[0])]
    out = graph.broadcast(terms[-1], x.shape)
    for term in terms[-2::-1]:
        out = graph.map("x * y + z", (out, x, term), dtype, x.shape)
    return out
