"""The structure of Jacobians: diagonal blocks, and entries of 0, 1 and -1."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..core.primitive import Primitive


class Edge(NamedTuple):
    """The structure of the Jacobian of a vertex with respect to another, flattened in C order.

    It is block diagonal with `blocks` blocks of equal shape: one block is a dense matrix, and as
    many blocks as elements are a diagonal matrix. `unit` means that all entries are 0, 1 or -1, so
    products with it take no multiplications.

    >>> nbgrad.elimination.Edge(blocks=4)  # of an elementwise operation on four numbers
    Edge(blocks=4, unit=False)
    """

    blocks: int = 1
    unit: bool = False

    def after(self, other: "Edge", size: int) -> "Edge":
        """Return the structure of the product with the Jacobian `other` of a vertex.

        `size` is the size of the vertex. The product of unit Jacobians is unit if one of them has
        one entry for each element.
        """
        unit = self.unit and other.unit and size in (self.blocks, other.blocks)
        return Edge(math.gcd(self.blocks, other.blocks), unit)

    def factors(self, size: int) -> int:
        """Return the number of entries that a number is multiplied by.

        `size` is the size of the vertex at the other end.
        """
        return 0 if self.unit else size // self.blocks

    def parallel(self, other: "Edge") -> "Edge":
        """Return the structure of the sum of two Jacobians."""
        return Edge(math.gcd(self.blocks, other.blocks))


DENSE = Edge()

Shape = tuple[int, ...]


def local(
    primitive: Primitive,
    shapes: Sequence[Shape],
    positions: Sequence[int],
    out: Shape,
    params: dict,
) -> Edge:
    """Return the structure of the Jacobian of a primitive with respect to an argument.

    There are several `positions` if the argument occurs several times.
    """
    blocks = math.gcd(*(primitive.blocks(shapes, i, out, **params) for i in positions))
    return Edge(max(blocks, 1), len(positions) == 1 and primitive.is_unit(positions[0], **params))
