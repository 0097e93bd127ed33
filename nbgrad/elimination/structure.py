"""What is known of a Jacobian without its numbers: its blocks, and whether it multiplies at all."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..core import Primitive
from ..rules.families import Elementwise


class Edge(NamedTuple):
    """The Jacobian of one vertex with respect to another, flattened in C order: block diagonal with
    `blocks` blocks of equal shape.

    One block is a dense matrix, as many blocks as elements a diagonal one. `unit` says that all
    entries are 0, 1 or -1, so that a product with it takes no multiplication.
    """

    blocks: int = 1
    unit: bool = False

    def parallel(self, other: "Edge") -> "Edge":
        """The sum of two such Jacobians."""
        return Edge(math.gcd(self.blocks, other.blocks))


# Rows whose partials are 0, 1 and -1 everywhere.
_UNIT = {
    "add", "subtract", "negative", "copy", "astype", "reshape", "transpose", "broadcast_to",
    "unbroadcast", "concatenate", "stack", "flip", "roll", "index", "scatter", "scatter_at",
    "gather", "assign", "sum", "cumsum", "diff",
}  # fmt: skip
# Rows that work along the axes of their parameter `axis` or `axes`, and keep those before them.
_ALONG = {
    "concatenate", "stack", "flip", "roll", "sum", "mean", "max", "min", "prod", "norm", "cumsum",
    "diff", "softmax", "logsoftmax", "logsumexp",
}  # fmt: skip

Shape = tuple[int, ...]


def local(
    row: Primitive, shapes: Sequence[Shape], positions: Sequence[int], out: Shape, params: dict
) -> Edge:
    """The structure of the Jacobian of a row with respect to the argument at `positions`, more than
    one where it stands there several times."""
    blocks = math.gcd(*(_blocks(row, shapes, i, out, params) for i in positions))
    return Edge(max(blocks, 1), row.name in _UNIT and len(positions) == 1)


def _blocks(row: Primitive, shapes: Sequence[Shape], i: int, out: Shape, params: dict) -> int:
    """In how many blocks an argument falls that each reach one block of the result."""
    shape = shapes[i]
    if isinstance(row, Elementwise) or row.name in ("broadcast_to", "astype"):
        return _common(_padded(shape, len(out)), out)
    if row.name == "reshape":
        return math.prod(shape)
    if row.name == "matmul":
        return _matmul_blocks(shapes, i, out)
    if row.name in _ALONG:
        axes = params["axes"] if "axes" in params else params["axis"]
        first = min(axes, default=len(shape)) if isinstance(axes, tuple) else axes
        return math.prod(shape[:first])
    return 1


def _matmul_blocks(shapes: Sequence[Shape], i: int, out: Shape) -> int:
    """Rows of the left factor for themselves, and stacks of matrices."""
    left, right = shapes
    if len(left) < 2:
        return 1
    rows = out if len(right) == 1 else out[:-1]
    if i == 0:
        return _common(_padded(left, len(rows) + 1)[:-1], rows)
    stacks = rows[:-1]
    return _common(_padded(right, len(stacks) + 2)[:-2], stacks)


def _padded(shape: Shape, ndim: int) -> Shape:
    return (1,) * (ndim - len(shape)) + shape


def _common(shape: Shape, other: Shape) -> int:
    """The number of elements along the leading axes that two shapes share."""
    blocks = 1
    for n, m in zip(shape, other, strict=False):
        if n != m:
            break
        blocks *= n
    return blocks
