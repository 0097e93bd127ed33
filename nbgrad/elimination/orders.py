"""Named elimination orders and heuristics."""

from collections.abc import Callable
from functools import lru_cache

from ..errors import ArgumentError
from . import exact
from .exact import Order
from .graph import Graph, Partial, require_graph

SMALL = 12
"""The maximum number of intermediate vertices for which all orders are compared."""
EFFORT = 100_000
"""The maximum number of eliminations in the local search, which take about a second."""


COMPARED = ("forward", "reverse", "markowitz", "optimal")
"""Orders that are fast to compute."""


def forward(graph: Graph) -> Order:
    """Return the vertices in the order of their computation: forward mode."""
    return graph.intermediates


def reverse(graph: Graph) -> Order:
    """Return the vertices in reverse order: reverse mode."""
    return graph.intermediates[::-1]


def markowitz(graph: Graph) -> Order:
    """Return the greedy order, which always eliminates the cheapest vertex next.

    Griewank and Reese, On the calculation of Jacobian matrices by the Markowitz rule, 1991.
    """
    partial, left, order = Partial(graph.sizes, graph.edges), list(graph.intermediates), []
    while left:
        vertex = min(left, key=partial.cost)
        left.remove(vertex)
        order.append(vertex)
        partial.eliminate(vertex)
    return tuple(order)


def local(graph: Graph, effort: int = EFFORT) -> Order:
    """Improve the best of forward, reverse and Markowitz order by moving single vertices.

    The search stops at a local minimum, or after `effort` eliminations.
    """
    modes = (reverse, forward) if graph.is_wide else (forward, reverse)
    best = min((find(graph) for find in (*modes, markowitz)), key=graph.cost)
    cost = graph.cost(best)
    improved = True
    while improved:
        improved = False
        for vertex in graph.intermediates:
            rest = tuple(v for v in best if v != vertex)
            for place in range(len(best)):
                effort -= len(best)
                if effort < 0:
                    return best
                moved = (*rest[:place], vertex, *rest[place:])
                if (price := graph.cost(moved)) < cost:
                    best, cost, improved = moved, price, True
    return best


def exhaustive(graph: Graph) -> Order:
    """Return the best of all orders."""
    known = local(graph)
    return exact.exhaustive(graph, graph.cost(known), known)


@lru_cache(maxsize=256)
def optimal(graph: Graph) -> Order:
    """Return the best known order; see `order`."""
    if graph.is_chain:
        return exact.chain(graph)
    return exhaustive(graph) if len(graph.intermediates) <= SMALL else local(graph)


NAMED: dict[str, Callable[[Graph], Order]] = {
    "forward": forward,
    "reverse": reverse,
    "markowitz": markowitz,
    "local": local,
    "exhaustive": exhaustive,
    "optimal": optimal,
}


def order(graph: Graph, name: str = "optimal") -> Order:
    """Return the intermediate vertices of `graph` in a named elimination order.

    * "forward": the order of computation, which is forward mode.
    * "reverse": the reverse of it, which is reverse mode.
    * "markowitz": always the cheapest vertex next.
    * "local": the best of these, improved by moving single vertices.
    * "exhaustive": the best of all orders. It takes up to a second for 12 vertices, up to half a
      minute for 16, and twice as long for each further vertex.
    * "optimal": the best known order, never worse than the first four: the exact optimum of a chain
      in n^3 steps, "exhaustive" for up to 12 intermediate vertices, "local" for larger graphs. It
      is cached for graphs with the same sizes and edges.

    Finding the best order is NP-complete (Naumann, Optimal Jacobian accumulation is NP-complete,
    2008).

    Raises TypeError if `graph` is not a `Graph`, ValueError for an unknown name.

    >>> chain = nbgrad.elimination.Graph([50, 5, 100, 10], [(0, 1), (1, 2), (2, 3)])
    >>> nbgrad.elimination.order(chain)
    (2, 1)
    """
    require_graph("order", graph)
    if name not in NAMED:
        raise ArgumentError(
            f"elimination: unknown order {name!r}: use one of {', '.join(NAMED)}, or pass the "
            "intermediate vertices"
        )
    return NAMED[name](graph)
