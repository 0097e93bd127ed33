"""Sums of many pads, such as gradients of many slices of one array, made block by block.

A few pads are read where they are added up, and loops are cut where they begin and end. Many would
cut them to pieces. So each block is added in its place, one after another: loops that differ only
in where they begin, of one kernel.
"""

from collections.abc import Sequence

from .ir import Graph
from .values import Axis, Value, topological

# So many pads in a sum are read where they are added up.
_FEW = 8


def add_in_place(graph: Graph, outputs: Sequence[Value]) -> None:
    """Rewrite the sums of many pads among the values that `outputs` need."""
    order = topological(outputs)
    readers = dict.fromkeys(order, 0)
    for value in order:
        for arg in value.args:
            readers[arg] += 1
    for value in outputs:
        readers[value] += 1
    inner: set[Value] = set()  # sums that are part of another
    for value in reversed(order):
        if value in inner or not _is_sum(value):
            continue
        pads, rest, stack = [], [], list(value.args[::-1])
        while stack:
            term = stack.pop()
            if _is_sum(term) and readers[term] == 1 and term.shape == value.shape:
                inner.add(term)
                stack += term.args[::-1]
            else:
                (pads if term.op == "pad" and term.shape == value.shape else rest).append(term)
        if len(pads) > _FEW:
            _rewrite(graph, value, pads, rest)


def _is_sum(value: Value) -> bool:
    return value.op == "map" and value.data == "x + y" and value.shape != ()


def _rewrite(graph: Graph, value: Value, pads: list[Value], rest: list[Value]) -> None:
    """Make `value`, whose readers know it already, the last of many additions."""
    total: list[Value] = []
    for term in rest:
        total = [graph.map("x + y", (*total, term), value.dtype) if total else term]
    total = [graph.broadcast(term, value.shape) for term in total]
    for pad in pads:
        axes = tuple(Axis(axis, start, 1) for axis, start in enumerate(pad.data))
        given = (pad.args[0], *total), (axes, 0, 0, True)
        total = [graph.new("scatter", value.shape, value.dtype, *given)]
    (last,) = total
    value.op, value.args, value.data = last.op, last.args, last.data
