"""Sums of many blocks in zeros, such as gradients of many slices of one array, made block by block.

A few blocks are read where they are added up, and loops are cut where they begin and end. Many
would cut them to pieces. So each block is added in its place, one after another: loops that differ
only in where they begin, of one kernel.
"""

from collections.abc import Sequence
from dataclasses import replace

from ...ir.affine import Axis
from .algebra import PLUS
from .buffered import Scatter
from .graph import Graph
from .values import Inset, Pad, Value, is_map, topological

# So many blocks in a sum are read where they are added up. The gradient of squares of 9 slices of
# a 100 x 100 array runs in 9.0 microseconds in place and in 12.3 where loops are cut; with 16
# slices it compiles in 8.0 s in place and in 10.3 cut, and runs as fast.
FEW = 8


def with_sums_in_place(graph: Graph, outputs: Sequence[Value]) -> list[Value]:
    """The outputs, with sums of many blocks as additions in place."""
    order = topological(outputs)
    readers = dict.fromkeys(order, 0)
    for reader in [*order, None]:
        for arg in reader.args if reader else outputs:
            readers[arg] += 1
    terms: dict[Value, tuple[list[Pad], list[Value]]] = {}
    inner: set[Value] = set()  # sums that are part of another
    for value in reversed(order):
        if is_map(value, PLUS) and value.shape != () and value not in inner:
            terms[value] = _terms(value, readers, inner)
    many = {value for value, (pads, _) in terms.items() if len(pads) > FEW}
    if not many:
        return list(outputs)
    memo: dict[Value, Value] = {}
    for value in order:
        if value in many:
            pads, rest = terms[value]
            memo[value] = _added(graph, value, pads, rest, memo)
        else:
            args = tuple(memo[arg] for arg in value.args)
            memo[value] = value if args == value.args else replace(value, args=args)
    return [memo[value] for value in outputs]


def _terms(
    value: Value, readers: dict[Value, int], inner: set[Value]
) -> tuple[list[Pad], list[Value]]:
    """The blocks that a sum adds up, and what else it does."""
    pads: list[Pad] = []
    rest: list[Value] = []
    stack = list(value.args[::-1])
    while stack:
        term = stack.pop()
        if is_map(term, PLUS) and readers[term] == 1 and term.shape == value.shape:
            inner.add(term)
            stack += term.args[::-1]
        elif isinstance(term, Pad) and not isinstance(term, Inset) and term.shape == value.shape:
            pads.append(term)
        else:
            rest.append(term)
    return pads, rest


def _added(
    graph: Graph, value: Value, pads: list[Pad], rest: list[Value], memo: dict[Value, Value]
) -> Value:
    total: tuple[Value, ...] = ()
    for term in rest:
        total = (graph.map(PLUS, (*total, memo[term]), value.dtype) if total else memo[term],)
    total = tuple(graph.broadcast(term, value.shape) for term in total)
    for pad in pads:
        axes = tuple(Axis(axis, start, 1) for axis, start in enumerate(pad.starts))
        args = (memo[pad.block], *total)
        total = (graph.new(Scatter, value.shape, value.dtype, args, axes, 0, 0, True),)
    return total[0]
