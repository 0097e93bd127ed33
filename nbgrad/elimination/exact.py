"""Elimination orders of least cost: of a chain by bracketing, of a small graph by trying all."""

import math
from itertools import pairwise

from .graph import Graph, Partial

Order = tuple[int, ...]


def chain(graph: Graph) -> Order:
    """The best order of a chain: the best bracketing of the product of its Jacobians.

    To eliminate `k` last among the vertices between `i` and `j` is to multiply the product of all
    Jacobians after `k` with that of all before it, so the best order of a stretch is made from the
    best orders of two shorter ones (Godbole, On efficient computation of matrix chain products,
    1973): n^3 / 6 steps for n vertices.
    """
    path = graph.vertices
    sizes = [graph.sizes[v] for v in path]
    edges = {(i, i + 1): graph.edges[pair] for i, pair in enumerate(pairwise(path))}
    best: dict[tuple[int, int], tuple[int, Order]] = dict.fromkeys(edges, (0, ()))
    for length in range(2, len(path)):
        for i in range(len(path) - length):
            j = i + length
            ways = []
            for k in range(i + 1, j):
                last = Partial(sizes, {(i, k): edges[i, k], (k, j): edges[k, j]})
                (before, first), (after, second) = best[i, k], best[k, j]
                ways.append((before + after + last.eliminate(k), (*first, *second, path[k])))
                edges[i, j] = last.out_of[i][j]
            best[i, j] = min(ways)
    return best[0, len(path) - 1][1]


def exhaustive(graph: Graph, bound: float = math.inf, known: Order = ()) -> Order:
    """The best order among all; `known` where none costs less than `bound`.

    What is left of a graph depends on the vertices that are gone and not on their order, so it is
    enough to know the best order of each set of them, layer by layer: of n vertices there are 2^n
    sets, of which those are left out that cost `bound` already. 12 vertices take some tenths of a
    second, 16 some seconds.
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
