"""Orders of elimination: known costs, and orders against each other."""

import math
from functools import cache
from itertools import permutations, product

import numpy as np
from eliminated import chain_of, el, naumanns
from hypothesis import given, settings
from hypothesis import strategies as st

from nbgrad.elimination import Edge, Graph, exact, orders
from nbgrad.elimination.graph import Partial
from nbgrad.elimination.orders import COMPARED, SMALL


def costs(graph):
    return {name: graph.cost(el.order(graph, name)) for name in COMPARED}


# -- graphs with known costs ----------------------------------------------------------------------


def test_naumanns_example():
    """Counted by hand: forward 2*1 + 2*1 + 2*2, reverse 2*2 + 1*2 + 2*2; first the sine, which has
    one neighbour on each side, then the product, then t, 1 + 2 + 4."""
    graph = el.record(naumanns, np.array([0.7, 1.3]))
    assert [graph.labels[v] for v in graph.inputs] == ["[0]", "[1]"]
    assert [graph.labels[v] for v in graph.outputs] == ["cos", "divide"]
    assert costs(graph) == {"forward": 8, "reverse": 10, "markowitz": 7, "optimal": 7}
    product, sine, t = graph.intermediates
    assert el.order(graph) == (sine, product, t)
    assert graph.costs((sine, product, t)) == [1, 2, 4]


def test_a_bottleneck_in_the_middle():
    """n inputs, n outputs, one number between: the outer product of two gradients."""
    n = 100
    a, b = np.random.default_rng(0).normal(size=(2, n))
    found = el.costs(lambda x: np.sin(b * np.sin(a @ np.sin(x))), np.ones(n))
    # Diagonal, 1 x n, 1 x 1, n x 1, diagonal: a mode that goes through meets n x n twice.
    mode = n + n + 2 * n * n
    assert found == {"forward": mode, "reverse": mode, "optimal": 3 * n + n * n}


def test_speelpennings_product():
    """x0 x1 ... x5: reverse mode takes two products for each of the inner factors."""
    n = 6

    def f(x):
        out = x[0]
        for i in range(1, n):
            out = out * x[i]
        return out

    graph = el.record(f, np.ones(n) + 0.5)
    found = costs(graph)
    assert found["reverse"] == 2 * (n - 2) == found["optimal"]
    assert found["forward"] == sum(range(2, n))


def test_only_parts_that_nothing_else_needs_are_outputs():
    """Of the first, the sine goes on into the product, so the result stays in the graph."""
    both = lambda x: np.stack([np.sin(x[0]), np.sin(x[0]) * x[1]])  # noqa: E731
    graph = el.record(both, np.ones(2))
    assert [graph.labels[v] for v in graph.outputs] == ["stack"]
    # Forward: the sine meets the product once; reverse: a column of two with one derivative.
    assert (graph.cost(orders.forward(graph)), graph.cost(orders.reverse(graph))) == (1, 2)
    apart = lambda x: np.stack([np.sin(x[0]), np.cos(x[1])])  # noqa: E731
    graph = el.record(apart, np.ones(2))
    assert [graph.labels[v] for v in graph.outputs] == ["sin", "cos"]


def test_both_ends_of_a_ladder():
    """Two inputs through one vertex into a chain and out to two: as the lion of Naumann, whose
    vertices have one neighbour on one side each, either mode pays at one of its ends."""
    graph = Graph([1] * 8, [(0, 2), (1, 2), (2, 3), (3, 4), (2, 5), (4, 5), (5, 6), (5, 7)])
    # Forward: 2*2 + 2*1 + 2*1 + 2*2; reverse: 2*2 + 1*2 + 1*2 + 2*2; inside first: 1 + 1 + 2 + 4.
    assert costs(graph) == {"forward": 12, "reverse": 12, "markowitz": 8, "optimal": 8}


def test_the_chain_of_the_textbooks():
    graph = chain_of(50, 5, 100, 10)
    assert costs(graph) == {"forward": 75000, "reverse": 7500, "markowitz": 7500, "optimal": 7500}
    # Cormen, Leiserson, Rivest and Stein, Introduction to Algorithms, section 15.2.
    assert graph.is_chain and costs(chain_of(25, 20, 10, 5, 15, 35, 30))["optimal"] == 15125


# -- orders against each other --------------------------------------------------------------------


@cache
def brackets(dims):
    """The costs of all bracketings of a product of dense matrices."""
    if len(dims) == 2:
        return [0]
    return [
        before + after + dims[0] * dims[k] * dims[-1]
        for k in range(1, len(dims) - 1)
        for before, after in product(brackets(dims[: k + 1]), brackets(dims[k:]))
    ]


@given(st.lists(st.integers(0, 30), min_size=3, max_size=8))
def test_chains_against_all_bracketings(dims):
    graph = chain_of(*dims)
    assert graph.cost(exact.chain(graph)) == min(brackets(tuple(dims[::-1])))


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


@st.composite
def graphs(draw, most=5):
    """Random graphs with dense, block diagonal and unit edges."""
    n = draw(st.integers(3, most + 2))
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 4, 6, 12]), min_size=n, max_size=n))
    edges = {}
    for j in range(1, n):
        for i in draw(st.sets(st.integers(0, j - 1), max_size=3)):
            blocks = draw(st.sampled_from(divisors(math.gcd(sizes[i], sizes[j]))))
            edges[i, j] = Edge(blocks, draw(st.booleans()))
    return Graph(sizes, edges)


@given(graphs())
def test_exhaustive_search_against_all_orders(graph):
    least = min(map(graph.cost, permutations(graph.intermediates)))
    assert graph.cost(exact.exhaustive(graph)) == least
    assert graph.cost(el.order(graph, "exhaustive")) == least == graph.cost(el.order(graph))
    assert not graph.intermediates or exact.exhaustive(graph, least, (-1,)) == (-1,)


@given(graphs(most=14))
@settings(deadline=None, max_examples=40)
def test_no_order_is_above_what_it_starts_from(graph):
    found = costs(graph)
    assert found["optimal"] <= min(found.values())
    assert found["optimal"] <= graph.cost(orders.local(graph, effort=1000)) <= found["markowitz"]


def test_local_search_finds_what_markowitz_misses():
    """On a graph that is too large to try all orders."""
    rng = np.random.default_rng(3)
    n = 22
    edges = [(i, j) for j in range(2, n) for i in range(j) if rng.random() < 0.25]
    graph = Graph(rng.integers(1, 12, n).tolist(), edges)
    assert len(graph.intermediates) > SMALL
    found = costs(graph)
    assert found["optimal"] < min(found["forward"], found["reverse"], found["markowitz"])


@given(graphs(), st.randoms())
def test_what_is_left_does_not_depend_on_the_order(graph, random):
    """The edges between the ends, and the multiplications of each structure."""
    left = []
    for _ in range(2):
        order = list(graph.intermediates)
        random.shuffle(order)
        partial = Partial(graph.sizes, graph.edges)
        for vertex in order:
            partial.eliminate(vertex)
        left.append({v: {i: e.blocks for i, e in into.items()} for v, into in partial.into.items()})
    assert left[0] == left[1]
