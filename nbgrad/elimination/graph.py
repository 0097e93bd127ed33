"""Linearised computational graphs, and the cost of eliminating their vertices.

A vertex is an array, an edge the local Jacobian of an array with respect to one that it was
computed from. To eliminate a vertex is to multiply each Jacobian that leaves it with each that
enters it, and to add the products to the edges that go past it; once all intermediate vertices are
gone, the edges that are left are the Jacobian (Griewank and Walther, Evaluating Derivatives, 2008,
chapters 9 and 10; Naumann, The Art of Differentiating Computer Programs, 2012).

A product of a k x j with a j x i Jacobian costs j times the entries in a column of the first times
the entries in a row of the second: i * j * k multiplications for dense ones, the elements of the
other for a diagonal one, 1 between scalars, and none where the entries of one are 0, 1 and -1.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..runtime.kinds import is_a
from .structure import DENSE, Edge

Edges = Mapping[tuple[int, int], Edge] | Iterable[tuple[int, int]]


class Graph:
    """A linearised computational graph with static sizes.

    Arguments:
        sizes: the number of elements of each vertex; vertices are numbered in the order of their
            computation.
        edges: pairs (i, j) where j was computed from i, so i < j; a dict says the structure of each
            Jacobian, and without one they are dense.
        labels: what to call the vertices in tables and drawings; their numbers by default.

    `inputs` are the vertices that edges only leave, `outputs` those that edges only enter, and
    `intermediates` those with both, which are to be eliminated.

    Raises ValueError for an edge that does not lead from a vertex to a later one, or whose blocks
    do not fit the sizes.

    >>> g = nbgrad.elimination.Graph([50, 5, 100, 10], [(0, 1), (1, 2), (2, 3)])
    >>> g.cost((1, 2)), g.cost((2, 1))
    (75000, 7500)
    """

    def __init__(self, sizes: Sequence[int], edges: Edges, labels: Sequence[str] | None = None):
        self.sizes = tuple(sizes)
        self.labels = tuple(labels or map(str, range(len(self.sizes))))
        self.edges = dict(edges) if isinstance(edges, Mapping) else dict.fromkeys(edges, DENSE)
        for i, j in self.edges:
            if not 0 <= i < j < len(self.sizes):
                raise ValueError(
                    f"elimination: an edge from {i} to {j} among {len(self.sizes)} vertices; "
                    "number them in the order of their computation, from 0"
                )
        for (i, j), edge in self.edges.items():
            if self.sizes[i] % edge.blocks or self.sizes[j] % edge.blocks:
                raise ValueError(
                    f"elimination: {edge.blocks} blocks between {self.sizes[i]} and "
                    f"{self.sizes[j]} elements; their number must divide both"
                )
        left, entered = {i for i, _ in self.edges}, {j for _, j in self.edges}
        self.inputs = tuple(sorted(left - entered))
        self.outputs = tuple(sorted(entered - left))
        self.intermediates = tuple(sorted(left & entered))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and self.sizes == other.sizes and self.edges == other.edges

    def __hash__(self) -> int:
        return hash((self.sizes, frozenset(self.edges.items())))

    @property
    def vertices(self) -> tuple[int, ...]:
        """All that have an edge, in the order of their computation."""
        return tuple(sorted({v for edge in self.edges for v in edge}))

    def __repr__(self) -> str:
        return (
            f"<graph of {len(self.vertices)} vertices, {len(self.intermediates)} of them "
            f"intermediate, and {len(self.edges)} edges>"
        )

    @property
    def is_chain(self) -> bool:
        """Whether it is one path from one input to one output."""
        return len(self.edges) == len(self.vertices) - 1 == len(self.intermediates) + 1

    @property
    def is_wide(self) -> bool:
        """Whether the Jacobian has no more rows than columns, which is when of two orders of equal
        cost the one nearer to reverse mode is better."""
        rows, columns = (sum(self.sizes[v] for v in ends) for ends in (self.outputs, self.inputs))
        return rows <= columns

    def costs(self, order: Iterable[int]) -> list[int]:
        """The multiplications of each elimination, vertex by vertex in that order.

        Raises ValueError where `order` does not name every intermediate vertex once.
        """
        if not is_a(order, Iterable):
            raise TypeError(
                f"elimination: an order is a tuple of vertices, not of type {type(order).__name__}"
            )
        order = tuple(order)
        if sorted(order) != list(self.intermediates):
            raise ValueError(
                f"elimination: the order {order} does not name each of the intermediate vertices "
                f"{self.intermediates} once"
            )
        partial = Partial(self.sizes, self.edges)
        return [partial.eliminate(vertex) for vertex in order]

    def cost(self, order: Iterable[int]) -> int:
        """The multiplications of eliminating the intermediate vertices in that order.

        Raises ValueError where `order` does not name every intermediate vertex once.
        """
        return sum(self.costs(order))


def require_graph(op: str, graph: Any) -> None:
    """Raise TypeError for what is no graph, such as a function that is not recorded."""
    if not isinstance(graph, Graph):
        raise TypeError(
            f"elimination.{op}: a {type(graph).__name__} is no graph; make one with "
            "elimination.record(f, x)"
        )


class Partial:
    """A graph of which some vertices are eliminated; it starts with none."""

    __slots__ = ("into", "out_of", "sizes")

    def __init__(self, sizes: Sequence[int], edges: Mapping[tuple[int, int], Edge]):
        self.sizes = sizes
        self.into: dict[int, dict[int, Edge]] = {v: {} for pair in edges for v in pair}
        self.out_of: dict[int, dict[int, Edge]] = {v: {} for pair in edges for v in pair}
        for (i, j), edge in edges.items():
            self.into[j][i] = self.out_of[i][j] = edge

    def without(self, j: int) -> "Partial":
        """A copy in which `j` is eliminated."""
        new = Partial(self.sizes, {})
        new.into, new.out_of = dict(self.into), dict(self.out_of)
        for k in self.out_of[j]:
            new.into[k] = dict(self.into[k])
        for i in self.into[j]:
            new.out_of[i] = dict(self.out_of[i])
        new.eliminate(j)
        return new

    def cost(self, j: int) -> int:
        """The multiplications of eliminating `j` next: its size times the entries in a column of
        what leaves it times those in a row of what enters it."""
        sizes = self.sizes
        column = sum(edge.factors(sizes[k]) for k, edge in self.out_of[j].items())
        row = sum(edge.factors(sizes[i]) for i, edge in self.into[j].items())
        return sizes[j] * column * row

    def eliminate(self, j: int) -> int:
        """Eliminate `j`; returns the multiplications that it takes."""
        cost = self.cost(j)
        into, out_of = self.into.pop(j), self.out_of.pop(j)
        for k in out_of:
            del self.into[k][j]
        for i in into:
            del self.out_of[i][j]
        for k, left in out_of.items():
            for i, right in into.items():
                known = self.into[k].get(i)
                if known == DENSE:
                    continue  # and stays so
                edge = left.after(right, self.sizes[j])
                edge = known.parallel(edge) if known else edge
                self.into[k][i] = self.out_of[i][k] = edge
        return cost
