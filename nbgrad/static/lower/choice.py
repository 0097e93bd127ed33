"""The static form of the row `cond`.

A `Choice` takes a truth and operands, and gives items: `("y", k)` for each result, `("check", k)`
for what must hold on the side that runs.
"""

from collections.abc import Callable, Sequence

from ...core.symbols import Symbol
from ..trace.choice_row import Sides
from .buffered import Choice, Item
from .graph import Graph
from .loop import apart, checked, solid
from .step import LoweredSide
from .values import BOOL, Value


def choice(graph: Graph, symbol: Symbol, args: Sequence[Value], lower: Callable) -> Value:
    """The wanted results of the side that is taken, joined in one flat array."""
    sides: Sides = symbol.params["body"]
    pred, *given = args
    operands = [
        solid(graph, graph.cast(x, a.dtype)) for x, a in zip(given, sides.operands, strict=True)
    ]
    if sides.lowered is None:
        sides.lowered = tuple(lower(program) for program in sides.programs)
    pair = []
    for (inner, outputs), places in zip(sides.lowered, sides.places, strict=True):
        first = len(operands)
        operands += [graph.capture(array) for array in inner.captured]
        captured = range(first, len(operands))
        pair.append(LoweredSide(inner, apart(outputs), (*places, *captured)))
    chosen = graph.new(
        Choice, (), BOOL, (graph.cast(pred, BOOL), *operands), tuple(pair), label=str(id(sides))
    )
    checked(graph, chosen, [message for side in pair for _, message in side.graph.checks])
    parts = []
    for k in symbol.params["outs"]:
        aval = sides.avals[k]
        item = graph.new(Item, aval.shape, aval.dtype, (chosen,), ("y", k))
        parts.append(graph.reshape(graph.cast(item, symbol.dtype), (aval.size,)))
    return graph.concat(parts, 0)
