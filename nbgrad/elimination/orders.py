"""Elimination orders by name, and the heuristics among them."""

from collections.abc import Callable
from functools import lru_cache

from . import exact
from .exact import Order
from .graph import Graph, Partial, require_graph

SMALL = 12
"""Up to so many intermediate vertices all orders are compared."""
EFFORT = 100_000
"""How many eliminations the local search may count, which takes about a second."""


COMPARED = ("forward", "reverse", "markowitz", "optimal")
"""Orders that are fast to find."""


def forward(graph: Graph) -> Order:
    """The vertices as they are computed: forward mode with as many tangents as inputs."""
    return graph.intermediates


def reverse(graph: Graph) -> Order:
    """The vertices from the last to the first: reverse mode."""
    return graph.intermediates[::-1]


def markowitz(graph: Graph) -> Order:
    """Always the vertex that is cheapest to eliminate next, the earliest of equals (Griewank and
    Reese, On the calculation of Jacobian matrices by the Markowitz rule, 1991)."""
    partial, left, order = Partial(graph.sizes, graph.edges), list(graph.intermediates), []
    while left:
        vertex = min(left, key=partial.cost)
        left.remove(vertex)
        order.append(vertex)
        partial.eliminate(vertex)
    return tuple(order)


def local(graph: Graph, effort: int = EFFORT) -> Order:
    """The best of forward, reverse and Markowitz order, with single vertices moved to other places
    for as long as that makes it cheaper, or until that many eliminations have been counted."""
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
    """The best of all orders, which need to be looked at only as long as they beat `local`."""
    known = local(graph)
    return exact.exhaustive(graph, graph.cost(known), known)


@lru_cache(maxsize=256)
def optimal(graph: Graph) -> Order:
    """The best order that is known: see `order`."""
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
    """The intermediate vertices of `graph` in the order of that name.

    * "forward": as they are computed, which is forward mode.
    * "reverse": from the last to the first, which is reverse mode.
    * "markowitz": always the one that is cheapest to eliminate next.
    * "local": the best of these, improved by moving single vertices.
    * "exhaustive": the best of all orders; 12 vertices take up to a second, 16 up to half a
      minute, and each more twice that.
    * "optimal": the best that is known, never above any of the first four: of a chain the best of
      all, found in n^3 steps; of a graph with at most 12 intermediate vertices "exhaustive"; of a
      larger one "local". It is kept for the next graph of the same sizes and edges.

    To find the best order is NP-complete (Naumann, Optimal Jacobian accumulation is NP-complete,
    2008).

    Raises TypeError for what is no `Graph`, ValueError for another name.

    >>> chain = nbgrad.elimination.Graph([50, 5, 100, 10], [(0, 1), (1, 2), (2, 3)])
    >>> nbgrad.elimination.order(chain)
    (2, 1)
    """
    require_graph("order", graph)
    if name not in NAMED:
        raise ValueError(
            f"elimination: there is no order {name!r}; name one of {', '.join(NAMED)}, or give the "
            "intermediate vertices"
        )
    return NAMED[name](graph)
