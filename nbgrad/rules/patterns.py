"""Patterns of Jacobians, for `Primitive.pattern`: on which elements of its arguments each element
of the result depends.

A rule is `pattern(op)` for a recorded call, and returns a pattern that the methods of `op` make
(`nbgrad/sparse/local.py`), None if the result does not depend on the input. `op.moving` lists the
arguments that depend on it, by number and pattern. Elements are counted in C order. Values of
constants are known as `op.value(i)`, and decide where elements are at positions or beside zeros.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .forms.indexing import filled

Shape = tuple[int, ...]


def numbers(shape: Shape) -> np.ndarray:
    """The numbers of the elements of an array of this shape."""
    return np.arange(math.prod(shape)).reshape(shape)


def nothing(op: Any) -> None:
    """The result is a constant."""
    return None


def same(op: Any) -> Any:
    """Elements stay in their places."""
    return op.moving[0][1]


# -- elementwise ----------------------------------------------------------------------------------


def factors(op: Any) -> Any:
    """Elementwise products: elements beside a constant 0 do not count."""

    def used(i: int) -> Any:
        factor = op.value(1 - i) if op.patterns[1 - i] is None else None
        return None if factor is None else np.not_equal(factor, 0)

    return op.elementwise(used)


def chosen(op: Any) -> Any:
    """np.where: a constant condition takes the elements of one side."""
    condition = op.value(0)
    return op.elementwise(
        lambda i: None if condition is None else np.equal(condition, i == 1)
    )  # fmt: skip


# -- elements that are moved ----------------------------------------------------------------------


def moved(op: Any) -> Any:
    """Elements are moved: the op is applied to their numbers."""
    return op.of_numbered(lambda arrays: op.primitive.evaluate(*arrays, **op.params))


def _positions(op: Any, first: int) -> list | None:
    """The values of the arguments from `first` on, None if one is not known."""
    values = [op.value(i) for i in range(first, len(op.shapes))]
    return None if any(x is None for x in values) else values


def gathered(op: Any) -> Any:
    """Elements at an index with positions."""
    ((_, pattern),), positions = op.moving, _positions(op, 1)
    if positions is None:
        return op.all_of(pattern)
    return op.taken(pattern, numbers(op.shapes[0])[filled(op.params["index"], positions)])


def scattered(op: Any) -> Any:
    """Elements that are added at the places of an index."""
    ((_, pattern),), positions = op.moving, _positions(op, 1)
    if positions is None:
        return op.all_of(pattern)
    index = op.params["index"]
    places = numbers(op.out)[filled(index, positions) if positions else index]
    return op.joined(pattern, np.broadcast_to(places, op.shapes[0]), op.size)


def assigned(op: Any) -> Any:
    """Elements written over others, at an index with positions."""
    positions = _positions(op, 2)
    x, value = op.patterns[:2]
    if positions is None:
        return op.united([x, None if value is None else op.all_of(value)])
    index = filled(op.params["index"], positions)

    def written(arrays: list) -> Any:
        arrays[0][index] = arrays[1]
        return arrays[0]

    return op.of_numbered(written)


# -- sums -----------------------------------------------------------------------------------------


def unbroadcast(op: Any) -> Any:
    ((_, pattern),), (shape,) = op.moving, op.shapes
    return op.joined(pattern, np.broadcast_to(numbers(op.out), shape), op.size)


def differences(op: Any) -> Any:
    """Element i of the result depends on the elements i, i + 1, ... i + n."""
    ((_, pattern),), (shape,) = op.moving, op.shapes
    axis = op.params["axis"]
    length = op.out[axis]
    rows = np.moveaxis(numbers(shape), axis, 0)
    ends = range(length, shape[axis] + 1)
    return op.united(
        [op.taken(pattern, np.moveaxis(rows[end - length : end], 0, axis)) for end in ends]
    )


def running(op: Any) -> Any:
    """An element depends on those before it along an axis, or on those behind it."""
    ((_, pattern),), (shape,) = op.moving, op.shapes
    axis = op.params["axis"]
    i, j = np.tril_indices(shape[axis])
    i, j = (j, i) if op.params["reverse"] else (i, j)
    rows = np.moveaxis(numbers(shape), axis, 0).reshape(shape[axis], -1)
    return op.by_pairs(pattern, rows[i], rows[j])


def convolved(op: Any, first: int = 0) -> Any:
    """Element i + j - first of a convolution depends on elements i and j of the vectors."""
    (n,), (m,) = op.shapes
    pairs = np.divmod(np.arange(n * m), m)
    k = pairs[0] + pairs[1] - first
    inside = (0 <= k) & (k < op.size)
    return op.united([op.by_pairs(x, k[inside], pairs[i][inside]) for i, x in op.moving])


def overlapped(op: Any) -> Any:
    return convolved(op, op.shapes[1][0] - 1)


# -- products -------------------------------------------------------------------------------------


def product(op: Any) -> Any:
    """An element of a matrix product depends on a row and a column. Zeros of a constant matrix are
    left out."""
    (x, y), parts = op.shapes, []
    for i, pattern in op.moving:
        other = op.value(1 - i)
        if other is not None and len(x) <= 2 and len(y) <= 2:
            parts.append(op.by_pairs(pattern, *_by_constant(i, np.asarray(other), op.shapes[i])))
            continue
        stacks = op.out[: max(max(len(x), len(y)) - 2, 0)]
        if i == 0:  # rows
            lines = numbers(x[:-1])
            of_out = np.broadcast_to(lines, (*stacks, *x[-2:-1]))
            of_out = of_out[..., None] if len(y) > 1 else of_out
            whole = op.joined(pattern, np.broadcast_to(lines[..., None], x), lines.size)
        else:
            lines = numbers((*y[:-2], *y[-1:]) if len(y) > 1 else ())
            of_out = np.broadcast_to(lines, (*stacks, *y[-1:])) if len(y) > 1 else lines
            of_out = of_out[..., None, :] if len(x) > 1 and len(y) > 1 else of_out
            opened = lines[..., None, :] if len(y) > 1 else lines
            whole = op.joined(pattern, np.broadcast_to(opened, y), lines.size)
        parts.append(op.taken(whole, np.broadcast_to(of_out, op.out)))
    return op.united(parts)


def _by_constant(i: int, other: np.ndarray, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """The elements of a product, and those of argument i on which they depend, for the other factor
    as a constant."""
    if i == 0:
        columns, rows = np.nonzero(other.reshape(len(other), -1))
        each = np.arange(shape[0] if len(shape) > 1 else 1)[:, None]
        return each * math.prod(other.shape[1:]) + rows, each * len(other) + columns
    rows, columns = np.nonzero(np.atleast_2d(other))
    width = shape[1] if len(shape) > 1 else 1
    each = np.arange(width)[:, None]
    return rows * width + each, columns * width + each


def dots(op: Any) -> Any:
    """Sums of products over all axes but the first ones."""
    kept, parts = op.params["kept"], []
    lines = numbers(op.out)
    for i, pattern in op.moving:
        shape = op.shapes[i]
        opened = lines.reshape(*op.out, *(1,) * (len(shape) - kept))
        parts.append(op.joined(pattern, np.broadcast_to(opened, shape), lines.size))
    return op.united(parts)


def sparse_product(of_x: str, of_y: str, of_out: str) -> Callable:
    """Products of a sparse matrix by compressed rows, whose positions are constants. Each of the
    two arguments and the result has an element, or a row of a dense array, for each "element" of
    the matrix, each "row" or each "column"."""

    def pattern(op: Any) -> Any:
        positions = _positions(op, 2)
        if positions is None:
            return op.united([op.all_of(x) for _, x in op.moving])
        columns, indptr = (np.asarray(x, np.intp) for x in positions)
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        places = {"element": np.arange(len(rows)), "row": rows, "column": columns}
        width = op.shapes[1][1] if len(op.shapes[1]) > 1 else 1

        def opened(kind: str, shape: Shape) -> np.ndarray:
            """The numbers of elements, one for each column of the dense factor."""
            at = places[kind][:, None]
            if len(shape) == 1:
                return np.broadcast_to(at, (len(at), width))
            return at * width + np.arange(width)

        to = opened(of_out, op.out)
        sources = opened(of_x, op.shapes[0]), opened(of_y, op.shapes[1])
        return op.united([op.by_pairs(x, to, sources[i]) for i, x in op.moving])

    return pattern
