"""Pure functions on shapes: broadcasting, axes, and collapsing loops to two dimensions."""

import operator
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, groupby
from math import prod
from typing import Any, Literal

import numpy as np

from ..errors import ArgumentError, ArgumentTypeError, DimensionMismatch, TraceError, UntrackedError

Shape = tuple[int, ...]
Pattern = Literal["full", "row", "column", "number"]
"""How an operand lies in a (rows, columns) domain: everywhere, along a row (one element a column),
along a column (one element a row), or as a single number."""


# NumPy broadcasts no more axes than these.
MOST_AXES = 32


def require_axes(shape: tuple[int, ...], op: str) -> None:
    """Raise DimensionMismatch for an array of too many axes."""
    if len(shape) > MOST_AXES:
        raise DimensionMismatch(
            f"{op}: an array of {len(shape)} axes; nbgrad takes up to {MOST_AXES}, as many as "
            "NumPy broadcasts: np.reshape it first"
        )


def broadcast(op: str, *shapes: Shape) -> Shape:
    """The common shape, or DimensionMismatch that names `op` and the shapes."""
    for shape in shapes:
        require_axes(shape, op)
    try:
        common = np.broadcast_shapes(*shapes)
        if {int}.issuperset(map(type, chain.from_iterable(shapes))):
            return common
        # Integers that are more than that stay what they are, and are compared as such.
        turned = [shape[::-1] for shape in shapes]
        return tuple(
            _common([shape[i] for shape in turned if i < len(shape)]) for i in range(len(common))
        )[::-1]
    except ValueError:
        listed = ", ".join(map(str, shapes))
        raise DimensionMismatch(
            f"{op}: the shapes {listed} do not broadcast; compare them from the right: "
            "each pair of lengths must be equal or one of them 1"
        ) from None


def _common(lengths: list[int]) -> int:
    """The length to which these broadcast, a named size if there is one. Raises ValueError."""
    long = [n for n in lengths if n != 1]
    if any(n != long[0] for n in long[1:]):
        raise ValueError
    return next((n for n in long if type(n) is not int), long[0] if long else lengths[0])


def whole(n: Any, what: str) -> int:
    """`n` as an int or a named size. Raises TypeError where it is no whole number, TraceError or
    UntrackedError for a value of a transformation."""
    if type(n) is int or hasattr(n, "terms"):
        return n
    try:
        return operator.index(n)
    except (TraceError, UntrackedError):
        raise
    except TypeError:
        raise ArgumentTypeError(
            f"{what} is {n!r}; it must be a whole number", code="NB-INTEGER"
        ) from None


def axis_of(axis, ndim: int, op: str) -> int:
    """`axis` as a non-negative int. Raises NumPy's AxisError."""
    return np.lib.array_utils.normalize_axis_index(whole(axis, f"{op}: an axis"), ndim, op)


_EVERY = [tuple(range(ndim)) for ndim in range(MOST_AXES + 1)]


def axes_of(axis, ndim: int, op: str = "reduction", of_ufunc: bool = False) -> tuple[int, ...]:
    """`axis` as sorted non-negative ints; None means all. Raises NumPy's AxisError.

    The reductions of ufuncs take 0 and -1 for a number too, and reduce it along nothing.
    """
    if axis is None and type(ndim) is int:
        return _EVERY[ndim]
    try:
        return _axes_of(axis, ndim, op, of_ufunc)
    except TypeError:
        whole(axis, f"{op}: an axis")
        raise


@lru_cache(maxsize=1024, typed=True)
def _axes_of(axis, ndim: int, op: str, of_ufunc: bool) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    if of_ufunc and not ndim and axis in (0, -1):
        return ()
    listed = axis if isinstance(axis, tuple) else (axis,)
    axes = sorted(np.lib.array_utils.normalize_axis_index(a, ndim, op) for a in listed)
    if len(set(axes)) != len(axes):
        raise ArgumentError(f"{op}: the axes {axis} name one axis twice")
    return tuple(axes)


def reduced(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    """Shape after a reduction over `axes`."""
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def lost_axes(shape: Shape, wide: Shape) -> tuple[int, ...]:
    """Axes of `wide` that broadcasting `shape` to it made or stretched."""
    lead = len(wide) - len(shape)
    return (*range(lead), *(lead + i for i, n in enumerate(shape) if n == 1 != wide[lead + i]))


@lru_cache(maxsize=4096)
def collapse(shapes: tuple[Shape, ...], out: Shape) -> tuple[list[Pattern], int, int] | None:
    """How operands of `shapes` lie in `out`, seen as (rows, columns).

    Gives a pattern for each operand (`full`, `row`, `column`, `number`) with rows and columns, or
    None where neighbouring axes do not collapse to two. A domain of one dimension has one row.

    >>> collapse(((200, 16), (16,)), (200, 16))
    (['full', 'row'], 200, 16)
    """
    aligned = [(1,) * (len(out) - len(shape)) + shape for shape in shapes]
    signatures = [
        tuple(shape[axis] != 1 for shape in aligned) for axis in range(len(out)) if out[axis] != 1
    ]
    lengths = [n for n in out if n != 1]
    groups = [
        (signature, prod(lengths[i] for i, _ in items))
        for signature, items in (
            (key, list(members))
            for key, members in groupby(enumerate(signatures), key=lambda item: item[1])
        )
    ]
    if len(groups) > 2:
        return None
    if len(groups) < 2:
        present = groups[0][0] if groups else (True,) * len(shapes)
        size = groups[0][1] if groups else 1
        return ["full" if here else "number" for here in present], 1, size
    (rows_of, rows), (columns_of, columns) = groups
    names: dict[tuple[bool, ...], Pattern] = {
        (True, True): "full",
        (False, True): "row",
        (True, False): "column",
        (False, False): "number",
    }
    return [names[pair] for pair in zip(rows_of, columns_of, strict=True)], rows, columns


def lower_triangle(rows: Any, columns: Any = None, k: int = 0, dtype: Any = float) -> np.ndarray:
    """`np.tri`, which chooses the dtypes of its indices by comparing lengths: a condition for each
    comparison if these are named."""
    columns = rows if columns is None else columns
    return (np.arange(rows)[:, None] + k >= np.arange(columns)).astype(dtype)
