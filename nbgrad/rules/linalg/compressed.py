"""Products with sparse matrices, given by their elements, the columns of these, and the starts of
the rows (CSR). Each of the three products is a transpose of the others, so derivatives of any order
are such products. The positions have no derivative."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...core.primitive import Aval, bind, shape_of
from ...kernels import compressed_rows as kernels
from .. import patterns
from ..batching import spread
from ..dtypes import INT, float_type
from ..families import Custom, sample

Shape = tuple[int, ...]


def _sizes(indices: Shape, indptr: Shape, columns: int, y: Shape) -> tuple[int, int, int, int]:
    """The numbers of rows, columns and elements of a matrix, and of columns of the dense factor."""
    return indptr[0] - 1, columns, indices[0], y[1] if len(y) > 1 else 1


def _row(
    name: str, kernel: Callable, device: Callable, lengths: Callable, bars: Callable, **facts: Any
) -> Custom:
    """A row of arguments x, y, indices, indptr, which is linear in x and in y.

    `lengths(rows, columns, count)` is the length of the result, or of its first axis; `bars(ct, x,
    y, indices, indptr, columns=...)` are two functions for the cotangents of x and y.
    """

    def infer(x, y, indices, indptr, *, columns):
        rows, _, count, _ = _sizes(indices.shape, indptr.shape, columns, y.shape)
        first, keeps = lengths(rows, columns, count)
        return Aval.of((first, *(y.shape[1:] if keeps else ())), float_type(x, y))

    def compute(x, y, indices, indptr, *, columns):
        dtype = float_type(np.asarray(x).dtype, np.asarray(y).dtype)
        x, y = (np.ascontiguousarray(a, dtype) for a in (x, y))
        indices, indptr = (np.ascontiguousarray(a, np.int64) for a in (indices, indptr))
        sizes = _sizes(indices.shape, indptr.shape, columns, y.shape)
        first, keeps = lengths(*sizes[:3])
        out = np.empty((first, *(y.shape[1:] if keeps else ())), dtype)
        kernel(x.ravel(), y.ravel(), indices, indptr, out.ravel(), *sizes)
        return out

    def form(graph, symbol, x, y, indices, indptr):
        sizes = _sizes(indices.shape, indptr.shape, symbol.params["columns"], y.shape)
        dense = (graph.cast(a, symbol.dtype) for a in (x, y))
        args = (*dense, graph.cast(indices, INT), graph.cast(indptr, INT))
        return graph.call(symbol.shape, symbol.dtype, args, device, sizes)

    def rule(ct, out, args, need, *, columns):
        pulled = bars(ct, *args, columns=columns)
        return [pulled[i]() if i < 2 and wanted else None for i, wanted in enumerate(need)]

    def push(tangents, out, args, *, columns):
        x, y, *places = args
        terms = []
        if tangents[0] is not None:
            terms.append(bind(made, tangents[0], y, *places, columns=columns))
        if tangents[1] is not None:
            terms.append(bind(made, x, tangents[1], *places, columns=columns))
        return sum(terms[1:], terms[0])

    def batch(row, size, args, batched, *, columns):
        if batched == [False, True, False, False] and lengths(1, 2, 3)[1]:
            return as_columns(row, args, columns=columns)
        x, y, indices, indptr = spread(size, args, batched)
        whole = [one_after_another(a) for a in (x, y)]
        out = bind(row, *whole, *blocks(size, indices, indptr, columns), columns=size * columns)
        length, _ = lengths(shape_of(indptr)[1] - 1, columns, shape_of(indices)[1])
        return np.reshape(out, (size, length, *shape_of(out)[1:]))

    made = Custom(name, compute, infer, rule, push, form=form, batch=batch, **facts)
    return made


def as_columns(row: Custom, args: Any, **params: Any) -> Any:
    """Samples of the dense factor are columns of one."""
    x, y, *places = args
    y = np.moveaxis(y, 0, -1)
    first, *rest = shape_of(y)
    out = bind(row, x, np.reshape(y, (first, prod(rest))), *places, **params)
    return np.moveaxis(np.reshape(out, (shape_of(out)[0], *rest)), -1, 0)


def one_after_another(x: Any) -> Any:
    """Vectors or matrices of all samples, joined along their first axis."""
    size, length, *rest = shape_of(x)
    return np.reshape(x, (size * length, *rest))


def blocks(size: int, indices: Any, indptr: Any, columns: int) -> tuple[Any, Any]:
    """The positions of a block diagonal matrix of the matrices of all samples."""
    samples, count = np.arange(size)[:, None], shape_of(indices)[1]
    ends = one_after_another(indptr[:, :-1] + samples * count)
    return (
        one_after_another(indices + samples * columns),
        np.concatenate([ends, np.full(1, size * count)]),
    )


def dense(indices, indptr, columns: int, data) -> np.ndarray:
    out = np.zeros((len(indptr) - 1, columns), np.asarray(data).dtype)
    np.add.at(out, (np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), indices), data)
    return out


def _pairs_reference(x, y, indices, indptr, *, columns):
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    terms = x[rows] * y[indices]
    return terms if terms.ndim == 1 else np.sum(terms, axis=1)


# A matrix of 3 x 4 with an empty row.
_PLACES = np.array([3, 0, 1]), np.array([0, 2, 2, 3])
_NONE = np.array([], int), np.array([0, 0, 0])

product_row = _row(
    "csr_product", kernels.product_of_arrays, kernels.product,
    lambda rows, columns, count: (rows, True),
    lambda ct, x, y, *places, columns: (
        lambda: bind(pairs_row, ct, y, *places, columns=columns),
        lambda: bind(transposed_row, x, ct, *places, columns=columns),
    ),
    samples=[
        sample((3,), (4,), *_PLACES, columns=4), sample((3,), (4, 2), *_PLACES, columns=4),
        sample((0,), (3,), *_NONE, columns=3),
    ],
    reference=lambda x, y, indices, indptr, *, columns: dense(indices, indptr, columns, x) @ y,
    pattern=patterns.sparse_product("element", "column", "row"),
    spelling="`A @ x` of a sparse matrix A",
    notes="the positions of elements have no derivative",
)  # fmt: skip
transposed_row = _row(
    "csr_transposed", kernels.transposed_of_arrays, kernels.transposed,
    lambda rows, columns, count: (columns, True),
    lambda ct, x, y, *places, columns: (
        lambda: bind(pairs_row, y, ct, *places, columns=columns),
        lambda: bind(product_row, x, ct, *places, columns=columns),
    ),
    samples=[
        sample((3,), (3,), *_PLACES, columns=4), sample((3,), (3, 2), *_PLACES, columns=4),
        sample((0,), (2,), *_NONE, columns=3),
    ],
    reference=lambda x, y, indices, indptr, *, columns: dense(indices, indptr, columns, x).T @ y,
    pattern=patterns.sparse_product("element", "row", "column"),
    spelling="`x @ A` of a sparse matrix A",
    notes="the product with the transposed matrix",
)  # fmt: skip
pairs_row = _row(
    "csr_pairs", kernels.pairs_of_arrays, kernels.pairs,
    lambda rows, columns, count: (count, False),
    lambda ct, x, y, *places, columns: (
        lambda: bind(product_row, ct, y, *places, columns=columns),
        lambda: bind(transposed_row, ct, x, *places, columns=columns),
    ),
    samples=[
        sample((3,), (4,), *_PLACES, columns=4), sample((3, 2), (4, 2), *_PLACES, columns=4),
    ],
    reference=_pairs_reference, pattern=patterns.sparse_product("row", "column", "element"),
    notes="the elements of x @ y.T at the positions of a sparse matrix: the pullback in its data",
)  # fmt: skip
