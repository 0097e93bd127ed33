"""Tables and drawings of graphs and their elimination orders."""

from collections.abc import Iterable

from ..values.drawing import HEAD, Drawing, quoted
from .graph import Graph, require_graph
from .orders import COMPARED
from .orders import order as order_named
from .structure import Edge

_WIDTH = 60  # characters of a list of vertices, so that a table fits a terminal


def table(graph: Graph) -> str:
    """Return a table of the costs of the named orders, with the first eliminated vertices.

    >>> chain = nbgrad.elimination.Graph([50, 5, 100, 10], [(0, 1), (1, 2), (2, 3)])
    >>> print(nbgrad.elimination.table(chain))
    order      multiplications  eliminates
    forward             75,000  1 2
    reverse              7,500  2 1
    markowitz            7,500  2 1
    optimal              7,500  2 1
    """
    require_graph("table", graph)
    lines = ["order      multiplications  eliminates"]
    for name in COMPARED:
        order = order_named(graph, name)
        told = " ".join(graph.labels[v] for v in order)
        told = told if len(told) <= _WIDTH else told[: _WIDTH - 4] + " ..."
        lines.append(f"{name:<9}  {graph.cost(order):>15,}  {told}".rstrip())
    return "\n".join(lines)


def draw(graph: Graph, order: Iterable[int] | None = None) -> Drawing:
    """Draw a graph in the DOT language of Graphviz.

    Vertices show their numbers of elements, and edges the shapes of their Jacobians; dashed edges
    take no multiplications. With an `order`, intermediate vertices show their position and cost. A
    notebook displays the picture; `.svg()` returns it, and `str()` returns the text.

    Raises ValueError if `order` does not contain each intermediate vertex once.

    >>> chain = nbgrad.elimination.Graph([50, 5, 100], [(0, 1), (1, 2)])
    >>> print(nbgrad.elimination.draw(chain, (1,)))
    digraph {
      rankdir=TB
      node [shape=box style="rounded,filled" fillcolor=white fontname=Helvetica fontsize=11]
      edge [color=gray30 arrowsize=0.7]
      n0 [label="0\\n50 elements" fillcolor="#dbe9f6"]
      n1 [label="1\\n5 elements\\nno. 1: 25,000"]
      n2 [label="2\\n100 elements" penwidth=2]
      n0 -> n1 [label="5 x 50"]
      n1 -> n2 [label="100 x 5"]
    }
    """
    require_graph("draw", graph)
    notes: dict[int, str] = {}
    if order is not None:
        order = tuple(order)
        for place, (vertex, cost) in enumerate(zip(order, graph.costs(order), strict=True)):
            notes[vertex] = f"no. {place + 1}: {cost:,}"
    lines = []
    for v in graph.vertices:
        size = graph.sizes[v]
        facts = [graph.labels[v], f"{size:,} element{'s' * (size != 1)}"]
        facts += [notes[v]] if v in notes else []
        look = ' fillcolor="#dbe9f6"' if v in graph.inputs else ""
        look = " penwidth=2" if v in graph.outputs else look
        lines.append(f"  n{v} [label={quoted(*facts)}{look}]")
    for (i, j), edge in graph.edges.items():
        look = " style=dashed" if edge.unit else ""
        lines.append(f"  n{i} -> n{j} [label={quoted(_shape(graph, i, j, edge))}{look}]")
    return Drawing("\n".join([HEAD, *lines, "}"]))


def _shape(graph: Graph, i: int, j: int, edge: Edge) -> str:
    rows, columns = graph.sizes[j], graph.sizes[i]
    if edge.blocks == 1:
        return f"{rows} x {columns}"
    if edge.blocks == rows == columns:
        return f"{rows} diagonal"
    return f"{edge.blocks} of {rows // edge.blocks} x {columns // edge.blocks}"
