"""Elimination orders of minimal cost, for chains and small graphs."""

import math
from itertools import pairwise

from .graph import Graph, Partial

Order = tuple[int, ...]


def chain(graph: Graph) -> Order:
    """Return the best order of a chain: the best bracketing of the product of its Jacobians.

    Eliminating `k` last between `i` and `j` multiplies the product of the Jacobians after `k` by
    the product of those before it. Dynamic programming over intervals therefore finds the best
    order in n^3 / 6 steps (Godbole, On efficient computation of matrix chain products, 1973).
    """
    path = graph.vertices
    sizes = [graph.sizes[v] for v in path]
    edges = {(i, i + 1): graph.edges[pair] for i, pair in enumerate(pairwise(path))}
    best = dict.fromkeys(edges, 0)
    last: dict[tuple[int, int], int] = {}
    for length in range(2, len(path)):
        for i in range(len(path) - length):
            j = i + length
            between = range(i + 1, j) if graph.is_wide else range(j - 1, i, -1)
            costs = [
                best[i, k]
                + best[k, j]
                + sizes[k] * edges[k, j].factors(sizes[j]) * edges[i, k].factors(sizes[i])
                for k in between
            ]
            best[i, j] = min(costs)
            k = last[i, j] = between[costs.index(best[i, j])]
            edges[i, j] = edges[k, j].after(edges[i, k], sizes[k])
    return tuple(path[k] for k in _splits(last, len(path) - 1))


def _splits(last: dict[tuple[int, int], int], end: int) -> list[int]:
    """Return the vertices before `end` in elimination order, from the last one of each interval."""
    order, stack = [], [(0, end)]
    while stack:
        i, j = stack.pop()
        if (i, j) in last:
            k = last[i, j]
            order.append(k)
            stack += [(i, k), (k, j)]
    return order[::-1]


def exhaustive(graph: Graph, bound: float = math.inf, known: Order = ()) -> Order:
    """Return the best of all orders, or `known` if none costs less than `bound`.

    The remaining graph depends only on the set of eliminated vertices, not on their order, so it is
    enough to store the best order of each set: 2^n sets for n vertices, without those whose cost
    reaches `bound`.
    """
    everything = frozenset(graph.intermediates)
    start = Partial(graph.sizes, graph.edges)
    layer: dict[frozenset[int], tuple[int, Order, Partial]] = {frozenset(): (0, (), start)}
    for _ in everything:
        ways: dict[frozenset[int], tuple[int, Order, Partial]] = {}
        for gone, (cost, order, partial) in layer.items():
            for vertex in everything - gone:
                total = cost + partial.cost(vertex)
                more = gone | {vertex}
                if total < bound and (more not in ways or total < ways[more][0]):
                    ways[more] = total, (*order, vertex), partial
        layer = {
            gone: (cost, order, partial.without(order[-1]))
            for gone, (cost, order, partial) in ways.items()
        }
    return layer[everything][1] if layer else known
