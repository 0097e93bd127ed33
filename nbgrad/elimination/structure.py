"""What is known of a Jacobian without its numbers: its blocks, and whether it multiplies at all."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..core.primitive import Primitive


class Edge(NamedTuple):
    """The Jacobian of one vertex with respect to another, flattened in C order: block diagonal with
    `blocks` blocks of equal shape.

    One block is a dense matrix, as many blocks as elements a diagonal one. `unit` says that all
    entries are 0, 1 or -1, so that a product with it takes no multiplication.
    """

    blocks: int = 1
    unit: bool = False

    def after(self, other: "Edge", size: int) -> "Edge":
        """The product of this with the Jacobian `other` of a vertex of `size` elements. Unit ones
        stay unit where one of the two has one entry for each of these elements."""
        unit = self.unit and other.unit and size in (self.blocks, other.blocks)
        return Edge(math.gcd(self.blocks, other.blocks), unit)

    def factors(self, size: int) -> int:
        """With how many entries of such a Jacobian a number is multiplied, where the vertex at its
        other end has `size` elements."""
        return 0 if self.unit else size // self.blocks

    def parallel(self, other: "Edge") -> "Edge":
        """The sum of two such Jacobians."""
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
    """The structure of the Jacobian of a primitive with respect to the argument at `positions`,
    more than one where it stands there several times."""
    blocks = math.gcd(*(primitive.blocks(shapes, i, out, **params) for i in positions))
    return Edge(max(blocks, 1), len(positions) == 1 and primitive.is_unit(positions[0], **params))
