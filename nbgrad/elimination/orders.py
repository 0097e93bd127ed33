"""Elimination orders by name, and the heuristics among them."""

from collections.abc import Callable
from functools import lru_cache

from .exact import Order, chain, exhaustive
from .graph import Graph, Partial, require_graph

SMALL = 12
"""Up to so many intermediate vertices all orders are compared."""
TRIALS = 4000
"""How many orders the local search tries at most."""


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


def local_search(graph: Graph, order: Order, trials: int = TRIALS) -> Order:
    """`order` with single vertices moved to other places for as long as that makes it cheaper, or
    until `trials` orders have been tried."""
    best, cost = order, graph.cost(order)
    improved = True
    while improved:
        improved = False
        for vertex in order:
            rest = tuple(v for v in best if v != vertex)
            for place in range(len(order)):
                if trials == 0:
                    return best
                trials -= 1
                moved = (*rest[:place], vertex, *rest[place:])
                if (found := graph.cost(moved)) < cost:
                    best, cost, improved = moved, found, True
    return best


@lru_cache(maxsize=256)
def optimal(graph: Graph) -> Order:
    """The best order that is known: see `order`."""
    if graph.is_chain:
        return chain(graph)
    known = min((forward(graph), reverse(graph), markowitz(graph)), key=graph.cost)
    known = local_search(graph, known)
    if len(graph.intermediates) > SMALL:
        return known
    return exhaustive(graph, graph.cost(known), known)


NAMED: dict[str, Callable[[Graph], Order]] = {
    "forward": forward,
    "reverse": reverse,
    "markowitz": markowitz,
    "optimal": optimal,
    "exhaustive": exhaustive,
}


def order(graph: Graph, name: str = "optimal") -> Order:
    """The intermediate vertices of `graph` in the order of that name.

    * "forward": as they are computed, which is forward mode.
    * "reverse": from the last to the first, which is reverse mode.
    * "markowitz": always the one that is cheapest to eliminate next.
    * "exhaustive": the best of all orders; 12 vertices take some tenths of a second, 16 some
      seconds, and each more twice that.
    * "optimal": the best that is known, never above forward, reverse and Markowitz. Of a chain it
      is the best of all, found in n^3 steps, and of graphs of at most 12 intermediate vertices too;
      of larger ones it is what a local search makes of the three. It is kept for the next graph of
      the same sizes and edges.

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
