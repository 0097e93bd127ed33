"""Linearised computational graphs, and the cost of eliminating their vertices.

A vertex is an array, and an edge is the local Jacobian of an array with respect to an operand.
Eliminating a vertex multiplies each outgoing Jacobian by each incoming one, and adds the products
to the edges between its neighbours. When all intermediate vertices are eliminated, the remaining
edges are the Jacobian (Griewank and Walther, Evaluating Derivatives, 2008, chapters 9 and 10;
Naumann, The Art of Differentiating Computer Programs, 2012).

The product of a k x j and a j x i Jacobian takes j * (nonzeros in a column of the first) *
(nonzeros in a row of the second) multiplications: i * j * k for dense factors, the number of
elements of the other factor for a diagonal one, and none if the entries of one are 0, 1 and -1.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import ArgumentError, ArgumentTypeError
from ..runtime.kinds import is_a
from .structure import DENSE, Edge

Edges = Mapping[tuple[int, int], Edge] | Iterable[tuple[int, int]]


class Graph:
    """A linearised computational graph with static sizes.

    Arguments:
        sizes: the number of elements of each vertex; vertices are numbered in the order of their
            computation.
        edges: pairs (i, j), i < j, where j was computed from i. A dict also gives the structure of
            each Jacobian, which is dense by default.
        labels: the names of the vertices in tables and drawings; by default their numbers.

    `inputs` are the vertices with only outgoing edges, `outputs` those with only incoming edges,
    and `intermediates` those with both, which are eliminated.

    Raises ValueError for an edge that does not lead to a later vertex, or whose number of blocks
    does not divide the sizes.

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
                raise ArgumentError(
                    f"elimination: an edge from {i} to {j} among {len(self.sizes)} vertices: "
                    "number vertices in the order of their computation, from 0"
                )
        for (i, j), edge in self.edges.items():
            if self.sizes[i] % edge.blocks or self.sizes[j] % edge.blocks:
                raise ArgumentError(
                    f"elimination: {edge.blocks} blocks between {self.sizes[i]} and "
                    f"{self.sizes[j]} elements: the number of blocks must divide both"
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
        """The vertices with edges, in the order of their computation."""
        return tuple(sorted({v for edge in self.edges for v in edge}))

    def __repr__(self) -> str:
        return (
            f"<graph of {len(self.vertices)} vertices, {len(self.intermediates)} of them "
            f"intermediate, and {len(self.edges)} edges>"
        )

    @property
    def is_chain(self) -> bool:
        """Whether the graph is a path from one input to one output."""
        return len(self.edges) == len(self.vertices) - 1 == len(self.intermediates) + 1

    @property
    def is_wide(self) -> bool:
        """Whether the Jacobian has at most as many rows as columns.

        Among orders of equal cost, those closer to reverse mode are then preferred.
        """
        rows, columns = (sum(self.sizes[v] for v in ends) for ends in (self.outputs, self.inputs))
        return rows <= columns

    def costs(self, order: Iterable[int]) -> list[int]:
        """Return the number of multiplications of each elimination, in order.

        Raises ValueError if `order` does not contain each intermediate vertex once.
        """
        if not is_a(order, Iterable):
            raise ArgumentTypeError(
                f"elimination: an order must be a tuple of vertices, not {type(order).__name__}"
            )
        order = tuple(order)
        if sorted(order) != list(self.intermediates):
            raise ArgumentError(
                f"elimination: the order {order} does not contain each of the intermediate "
                f"vertices {self.intermediates} once"
            )
        partial = Partial(self.sizes, self.edges)
        return [partial.eliminate(vertex) for vertex in order]

    def cost(self, order: Iterable[int]) -> int:
        """Return the total number of multiplications of an order. Raises ValueError as `costs`."""
        return sum(self.costs(order))


def require_graph(op: str, graph: Any) -> None:
    """Raise TypeError for anything but a graph, such as a function."""
    if not isinstance(graph, Graph):
        raise ArgumentTypeError(
            f"elimination.{op}: a {type(graph).__name__} is not a graph: create one with "
            "elimination.record(f, x)"
        )


class Partial:
    """A graph during elimination."""

    __slots__ = ("into", "out_of", "sizes")

    def __init__(self, sizes: Sequence[int], edges: Mapping[tuple[int, int], Edge]):
        self.sizes = sizes
        self.into: dict[int, dict[int, Edge]] = {v: {} for pair in edges for v in pair}
        self.out_of: dict[int, dict[int, Edge]] = {v: {} for pair in edges for v in pair}
        for (i, j), edge in edges.items():
            self.into[j][i] = self.out_of[i][j] = edge

    def without(self, j: int) -> "Partial":
        """Return a copy with `j` eliminated."""
        new = Partial(self.sizes, {})
        new.into, new.out_of = dict(self.into), dict(self.out_of)
        for k in self.out_of[j]:
            new.into[k] = dict(self.into[k])
        for i in self.into[j]:
            new.out_of[i] = dict(self.out_of[i])
        new.eliminate(j)
        return new

    def cost(self, j: int) -> int:
        """Return the number of multiplications of eliminating `j` next."""
        sizes = self.sizes
        column = sum(edge.factors(sizes[k]) for k, edge in self.out_of[j].items())
        row = sum(edge.factors(sizes[i]) for i, edge in self.into[j].items())
        return sizes[j] * column * row

    def eliminate(self, j: int) -> int:
        """Eliminate `j`; return the number of multiplications."""
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
                    continue  # remains dense
                edge = left.after(right, self.sizes[j])
                edge = known.parallel(edge) if known else edge
                self.into[k][i] = self.out_of[i][k] = edge
        return cost
