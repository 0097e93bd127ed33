"""Elimination orders by name, and the heuristics among them."""

from collections.abc import Callable

from .exact import Order, chain, exhaustive
from .graph import Graph, Partial

SMALL = 12
"""Up to so many intermediate vertices all orders are compared."""
TRIALS = 4000
"""How many orders the local search tries at most."""


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


def optimal(graph: Graph) -> Order:
    """The best order: of a chain exactly, in n^3 steps; of a graph of at most 12 intermediate
    vertices exactly, by comparing all orders; of a larger one the best that is found from forward,
    reverse and Markowitz order by local search, never dearer than these."""
    if graph.is_chain:
        return chain(graph)
    known = min((forward(graph), reverse(graph), markowitz(graph)), key=graph.cost)
    known = local_search(graph, known)
    if len(graph.intermediates) > SMALL:
        return known
    return exhaustive(graph, graph.cost(known)) or known


NAMED: dict[str, Callable[[Graph], Order]] = {
    "forward": forward,
    "reverse": reverse,
    "markowitz": markowitz,
    "optimal": optimal,
}
