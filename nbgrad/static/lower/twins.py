"""Elementwise ops of which a program reads the results in two shapes, computed in one of them.

A reshape moves through elementwise ops to their arguments, so that they need no buffer. If an
expensive one is read in its own shape as well, as by the sum for a bias beside a product of
matrices that takes the rows of all samples as one matrix, this would compute it twice. There the
reshape stays behind the ops, and the value has a buffer.
"""

from collections.abc import Sequence

from .chains import replaced
from .graph import Graph
from .layout import even_maps, is_even
from .values import Reshape, Value, topological

# An exponential costs 12, a division 4.
_DEAR = 12


def with_twins_as_one(graph: Graph, outputs: Sequence[Value]) -> list[Value]:
    """The outputs, with reshapes behind ops of which an expensive one is there unreshaped, too."""
    order = topological(outputs)
    read = set(order)
    twice = {
        v for v in order if graph.moved.get(v) in read and is_even(v) and v.body.price >= _DEAR
    }
    behind: dict[Value, Value] = {
        v: graph.new(Reshape, v.shape, v.dtype, (graph.moved[v],))
        for v in order
        if twice and v in graph.moved and is_even(v) and twice.intersection(even_maps(v))
    }
    return replaced(outputs, behind) if behind else list(outputs)
