"""Static forms of rows that only move elements, and of differences between neighbours."""

from ....codegen.affine import Axis
from ....codegen.loops import SUM
from ..graph import Graph
from ..values import BOOL, Value
from .table import form


@form("full")
def _full(graph, symbol):
    return graph.full(symbol.params["number"], symbol.shape, symbol.dtype)


@form("copy")
def _copy(graph, symbol, x):
    return x


@form("astype")
def _astype(graph, symbol, x):
    return graph.cast(x, symbol.dtype)


@form("reshape")
def _reshape(graph, symbol, x):
    return graph.reshape(x, symbol.shape)


@form("broadcast_to")
def _broadcast_to(graph, symbol, x):
    return graph.broadcast(x, symbol.shape)


@form("transpose")
def _transpose(graph, symbol, x):
    return graph.transpose(x, symbol.params["axes"])


@form("unbroadcast")
def _unbroadcast(graph, symbol, x):
    shape = symbol.shape
    lost = len(x.shape) - len(shape)
    x = graph.cast(x, symbol.dtype)
    gone = [i for i, n in enumerate(x.shape) if i < lost or (shape[i - lost] == 1 and n != 1)]
    return graph.reshape(graph.reduce(SUM, x, gone), shape)


@form("concatenate")
def _concatenate(graph, symbol, *args):
    args = [graph.cast(a, symbol.dtype) for a in args]
    return graph.concat(args, symbol.params["axis"])


@form("stack")
def _stack(graph, symbol, *args):
    axis, shape = symbol.params["axis"], symbol.shape
    opened = (*shape[:axis], 1, *shape[axis + 1 :])
    parts = [graph.reshape(graph.cast(a, symbol.dtype), opened) for a in args]
    return graph.concat(parts, axis)


@form("flip")
def _flip(graph, symbol, x):
    gone = symbol.params["axis"]
    axes = [Axis(i, n - 1, -1) if i in gone else Axis(i, 0, 1) for i, n in enumerate(x.shape)]
    return graph.view(x, axes, x.shape)


def _cut(graph: Graph, x: Value, axis: int, start: int, stop: int) -> Value:
    axes = [Axis(i, start if i == axis else 0, 1) for i in range(len(x.shape))]
    shape = (*x.shape[:axis], stop - start, *x.shape[axis + 1 :])
    return graph.view(x, axes, shape)


@form("roll")
def _roll(graph, symbol, x):
    for axis, shift in zip(symbol.params["axis"], symbol.params["shift"], strict=True):
        n = x.shape[axis]
        at = -shift % n if n else 0
        if at:
            parts = [_cut(graph, x, axis, at, n), _cut(graph, x, axis, 0, at)]
            x = graph.concat(parts, axis)
    return x


@form("diff")
def _diff(graph, symbol, x):
    axis = symbol.params["axis"]
    n = x.shape[axis]
    if n < 2:
        return graph.full(0.0, symbol.shape, symbol.dtype)
    right, left = _cut(graph, x, axis, 1, n), _cut(graph, x, axis, 0, n - 1)
    body = "x != y" if symbol.dtype == BOOL else "x - y"
    return graph.whole(body, (right, left), symbol.dtype)
