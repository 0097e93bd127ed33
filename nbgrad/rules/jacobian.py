"""Block structure of Jacobians, for `Primitive.blocks`: the number of blocks of an argument that
each affect one block of the result. One block means a dense Jacobian."""

import math
from collections.abc import Sequence

Shape = tuple[int, ...]


def elementwise(shapes: Sequence[Shape], i: int, out: Shape, **params) -> int:
    """Diagonal along the axes that argument i shares with the result."""
    return _common(_padded(shapes[i], len(out)), out)


def each(shapes: Sequence[Shape], i: int, out: Shape, **params) -> int:
    """Each element of the argument affects one element of the result."""
    return math.prod(shapes[i])


def before(axes: int | tuple[int, ...], shape: Shape) -> int:
    """The number of blocks of an op along `axes`: positions along the axes before them."""
    first = min(axes, default=len(shape)) if isinstance(axes, tuple) else axes
    return math.prod(shape[:first])


def product(shapes: Sequence[Shape], i: int, out: Shape) -> int:
    """The blocks of matrix products: rows of the left factor, and matrices of a stack."""
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
