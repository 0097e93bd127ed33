"""Systems of sparse matrices, by SciPy's SuperLU, and by kernels in compiled programs; public in
`nbgrad.scipy.sparse.linalg`.

The parameter `places` has the positions, `indices` and `indptr`, if they are part of a recorded
program, which then plans the factors, else None.
"""

import threading
from typing import Any

import numpy as np

from ...compiler.forks import fork_safe
from ...core.primitive import Aval, Unplanned, bind, shape_of
from ...errors import MatrixError
from ..batching import spread
from ..dtypes import float_type
from ..families import Custom, sample
from ..forms import sparse_systems as forms
from .compressed import (
    as_columns,
    blocks,
    dense,
    one_after_another,
    pairs_row,
    product_row,
    transposed_row,
)

# Factors that are kept: a pullback, and a tangent, solve with those of the value.
_KEPT = 4
_factors: list[tuple[tuple[np.ndarray, ...], Any]] = []
_lock = fork_safe(threading.Lock())


def _factored(*parts: np.ndarray) -> Any:
    """The LU factors of the transposed matrix, of which the rows are the columns."""
    with _lock:
        for known, factors in _factors:
            if all(
                x.dtype == y.dtype and np.array_equal(x, y)
                for x, y in zip(known, parts, strict=True)
            ):
                return factors
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    parts = tuple(np.array(x) for x in parts)
    n = len(parts[2]) - 1
    try:
        factors = splu(csc_array(tuple(np.array(x) for x in parts), shape=(n, n)))
    except RuntimeError as error:
        raise MatrixError(f"spsolve: a singular matrix of shape {(n, n)}") from error
    with _lock:
        _factors.insert(0, (parts, factors))
        del _factors[_KEPT:]
    return factors


def _solved(data, b, indices, indptr, *, is_turned, places):
    dtype = float_type(np.asarray(data).dtype, np.asarray(b).dtype)
    data, b = np.asarray(data, dtype), np.asarray(b, dtype)
    if not b.size:
        return np.zeros(b.shape, dtype)
    if not np.isfinite(data).all():
        return np.full(b.shape, np.nan, dtype)
    factors = _factored(data, np.asarray(indices, np.int32), np.asarray(indptr, np.int32))
    return np.ascontiguousarray(factors.solve(b, "N" if is_turned else "T"))


def _rule(ct, out, args, need, *, is_turned, places):
    data, _, indices, indptr = args
    b_bar = bind(spsolve_row, data, ct, indices, indptr, is_turned=not is_turned, places=places)
    data_bar = None
    if need[0]:
        left, right = (out, -b_bar) if is_turned else (-b_bar, out)
        data_bar = bind(pairs_row, left, right, indices, indptr, columns=shape_of(out)[0])
    return [data_bar, b_bar if need[1] else None, None, None]


def _push(tangents, out, args, *, is_turned, places):
    data, _, indices, indptr = args
    data_dot, change = tangents[:2]
    if data_dot is not None:
        row = transposed_row if is_turned else product_row
        moved = bind(row, data_dot, out, indices, indptr, columns=shape_of(out)[0])
        change = -moved if change is None else change - moved
    return bind(spsolve_row, data, change, indices, indptr, is_turned=is_turned, places=places)


def _batch(row, size, args, batched, *, is_turned, places):
    if places is not None:  # of all samples
        args, batched = [*args[:2], *places], [*batched[:2], False, False]
    if list(batched) == [False, True, False, False]:
        return as_columns(row, args, is_turned=is_turned, places=places)
    data, b, indices, indptr = spread(size, args, batched)
    whole = map(one_after_another, (data, b))
    positions = blocks(size, indices, indptr, shape_of(b)[1])
    places = None if places is None else positions
    out = bind(row, *whole, *positions, is_turned=is_turned, places=places)
    return np.reshape(out, shape_of(b))


def _reference(data, b, indices, indptr, *, is_turned, places):
    matrix = dense(indices, indptr, len(indptr) - 1, data)
    return np.linalg.solve(matrix.T if is_turned else matrix, b)


_PLACES = np.array([0, 2, 1, 0, 2]), np.array([0, 2, 3, 5])
_DATA = np.array([2.0, 0.5, 1.5, -0.7, 1.8])

spsolve_row = Custom(
    "spsolve", _solved,
    lambda data, b, indices, indptr, *, is_turned, places: Aval.of(
        b.shape, float_type(data.dtype, b.dtype)
    ),
    _rule, _push,
    samples=[
        sample(_DATA, (3,), *_PLACES, is_turned=False, places=_PLACES),
        sample(_DATA, (3, 2), *_PLACES, is_turned=True, places=_PLACES),
        sample(_DATA, (3,), *_PLACES, is_turned=True, places=None),
    ],
    reads=(0, 2, 3), batch=_batch, reference=_reference,
    form=forms.spsolve,
    spelling="`nbgrad.scipy.sparse.linalg.spsolve`",
    notes="the pullback solves the transposed system, with the same factors",
)  # fmt: skip
spsolve_row.plans = Unplanned()  # arrays are no keys
