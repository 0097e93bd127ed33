"""Static forms of rows that only move elements, and of differences between neighbours."""

from typing import Any

from ...ir.affine import Axis
from ...ir.reductions import SUM
from ..dtypes import BOOL


def copy(graph, symbol, x):
    return x


def astype(graph, symbol, x):
    return graph.cast(x, symbol.dtype)


def reshape(graph, symbol, x):
    return graph.reshape(x, symbol.shape)


def broadcast_to(graph, symbol, x):
    return graph.broadcast(x, symbol.shape)


def transpose(graph, symbol, x):
    return graph.transpose(x, symbol.params["axes"])


def unbroadcast(graph, symbol, x):
    shape = symbol.shape
    lost = len(x.shape) - len(shape)
    x = graph.cast(x, symbol.dtype)
    gone = [i for i, n in enumerate(x.shape) if i < lost or (shape[i - lost] == 1 and n != 1)]
    return graph.reshape(graph.reduce(SUM, x, gone), shape)


def concatenate(graph, symbol, *args):
    args = [graph.cast(a, symbol.dtype) for a in args]
    return graph.concat(args, symbol.params["axis"])


def runs(graph, symbol, *args):
    axis = symbol.params["axis"]
    parts = []
    for owner, first, count, step in symbol.params["runs"]:
        x = graph.cast(args[owner], symbol.dtype)
        axes = [Axis(i, first, step) if i == axis else Axis(i, 0, 1) for i in range(len(x.shape))]
        if step == 0:
            axes[axis] = Axis(None, first, 0)
        parts.append(graph.view(x, axes, (*x.shape[:axis], count, *x.shape[axis + 1 :])))
    return graph.concat(parts, axis)


def hcat(graph, symbol, *args):
    args = [graph.cast(a, symbol.dtype) for a in args]
    columns = [a if len(a.shape) > 1 else graph.reshape(a, (symbol.shape[0], 1)) for a in args]
    return graph.concat(columns, 1)


def stack(graph, symbol, *args):
    axis, shape = symbol.params["axis"], symbol.shape
    opened = (*shape[:axis], 1, *shape[axis + 1 :])
    parts = [graph.reshape(graph.cast(a, symbol.dtype), opened) for a in args]
    return graph.concat(parts, axis)


def flip(graph, symbol, x):
    gone = symbol.params["axis"]
    axes = [Axis(i, n - 1, -1) if i in gone else Axis(i, 0, 1) for i, n in enumerate(x.shape)]
    return graph.view(x, axes, x.shape)


def _cut(graph: Any, x: Any, axis: int, start: int, stop: int) -> Any:
    axes = [Axis(i, start if i == axis else 0, 1) for i in range(len(x.shape))]
    shape = (*x.shape[:axis], stop - start, *x.shape[axis + 1 :])
    return graph.view(x, axes, shape)


def roll(graph, symbol, x):
    for axis, shift in zip(symbol.params["axis"], symbol.params["shift"], strict=True):
        n = x.shape[axis]
        at = -shift % n if n else 0
        if at:
            parts = [_cut(graph, x, axis, at, n), _cut(graph, x, axis, 0, at)]
            x = graph.concat(parts, axis)
    return x


def diff(graph, symbol, x):
    axis = symbol.params["axis"]
    n = x.shape[axis]
    if n < 2:
        return graph.full(0.0, symbol.shape, symbol.dtype)
    right, left = _cut(graph, x, axis, 1, n), _cut(graph, x, axis, 0, n - 1)
    if symbol.dtype == BOOL:
        return graph.map("x != y", (right, left), BOOL)
    return graph.whole("x - y", (right, left), symbol.dtype)
