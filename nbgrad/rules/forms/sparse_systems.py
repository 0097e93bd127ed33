"""The static form of systems of sparse matrices: factors by a pattern that is part of the
program."""

from typing import Any

import numpy as np

from ...core.symbols import Symbol
from ...errors import EagerOnlyError
from ...ir.affine import Axis
from ...kernels import compressed_rows, sparse_factors, systems
from ...kernels.fill import elimination
from ..dtypes import BOOL, INT
from .matrices import regular, require

_DOUBLE = np.dtype(np.float64)

# Matrices of more rows are not made dense.
_MOST = 1000


def spsolve(graph: Any, symbol: Symbol, data: Any, b: Any, indices: Any, indptr: Any) -> Any:
    """The factors are those of the transposed matrix, whose columns are the rows that are given:
    one call, which a solution and its pullback share."""
    places, turned = symbol.params["places"], symbol.params["is_turned"]
    if not symbol.size:
        return graph.full(0.0, symbol.shape, symbol.dtype)
    if places is None:
        return _dense(graph, symbol, data, b, indices, indptr)
    n, plan = symbol.shape[0], elimination(*places)
    width = sparse_factors.width(n, plan.room, max(plan.tails))
    args = (graph.cast(data, _DOUBLE), *map(graph.constant, plan[:3]))
    sizes = n, plan.room, int(plan.is_symmetric), *plan.tails
    lu = graph.call((width,), _DOUBLE, args, sparse_factors.factored, sizes)
    pivots = graph.map("abs(x)", (graph.view(lu, [Axis(0, 0, 1)], (n,)),), _DOUBLE)
    require(graph, symbol, pivots, "x != 0.0", "a singular")
    m = symbol.size // n
    sizes = n, m, plan.room, int(not turned)
    both = graph.call(
        (2 * n, m), _DOUBLE, (lu, graph.cast(b, _DOUBLE)), sparse_factors.solved, sizes
    )
    out = graph.view(both, [Axis(0, 0, 1), Axis(1, 0, 1)], (n, m))
    return graph.reshape(graph.cast(out, symbol.dtype), symbol.shape)


def _dense(graph: Any, symbol: Symbol, data: Any, b: Any, indices: Any, indptr: Any) -> Any:
    """Positions that are arguments of the program, for which no factors are planned."""
    n, dtype = symbol.shape[0], symbol.dtype
    if n > _MOST:
        raise EagerOnlyError(
            f"spsolve: the positions of a matrix of shape {(n, n)} are arguments of the compiled "
            "function, and factors are planned for known ones: close over indices and indptr, and "
            f"pass the elements alone, csr_array((data, indices, indptr), shape){symbol.place}"
        )
    rows, columns = (graph.iota((n, n), axis) for axis in (0, 1))
    unit = graph.cast(graph.map("x == y", (rows, columns), BOOL), dtype)
    args = graph.cast(data, dtype), unit, graph.cast(indices, INT), graph.cast(indptr, INT)
    sizes = n, n, data.shape[0], n
    matrix = graph.call((n, n), dtype, args, compressed_rows.product, sizes)
    lu, _, _ = regular(graph, symbol, matrix)
    m = symbol.size // n
    y = graph.reshape(graph.cast(b, dtype), (1, n, m))
    sizes = 1, n, m, int(symbol.params["is_turned"])
    out = graph.call(y.shape, dtype, (lu, y), systems.substituted, sizes)
    return graph.reshape(out, symbol.shape)
