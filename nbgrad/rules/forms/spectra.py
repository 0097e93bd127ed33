"""Static forms of eigenvalues and singular values: calls of LAPACK on pointers."""

import math
from collections.abc import Callable
from typing import Any

from ...core.symbols import Symbol
from ...errors import MatrixError
from ...ir.affine import Axis
from ...kernels import lapack
from ..dtypes import BOOL
from .matrices import symmetric

__all__ = ["complex_eig", "complex_eigh", "complex_svd", "eig", "eigh", "pinv", "svd"]


def _called(
    graph: Any, symbol: Symbol, x: Any, function: Callable, sizes: tuple, room: int, parts: int = 1
) -> Any:
    """The results for matrices of one or two planes; the function writes them behind `room` numbers
    of scratch space."""
    shape = symbol.shape
    if not symbol.size:
        return graph.full(0.0, shape, symbol.dtype)
    planes = math.prod(shape[:-2])
    x = graph.reshape(graph.cast(x, symbol.dtype), (planes, *x.shape[-2:]))
    sizes = (planes // parts, *sizes, room)
    out = graph.call((room + symbol.size,), symbol.dtype, (x,), function, sizes)
    return graph.reshape(graph.view(out, [Axis(0, room, 1)], (symbol.size,)), shape)


def _require(graph: Any, symbol: Symbol, out: Any, row: int, condition: str, message: str) -> None:
    """Raise LinAlgError at run time unless the values, a row of each result, meet a condition."""
    if symbol.size:
        lead = len(symbol.shape) - 2
        axes = [*(Axis(i, 0, 1) for i in range(lead)), Axis(None, row, 0), Axis(lead, 0, 1)]
        values = graph.view(out, axes, (*symbol.shape[:-2], symbol.shape[-1]))
        holds = graph.map(condition, (values,), BOOL)
        primitive: Any = symbol.primitive
        graph.require_all(holds, MatrixError, f"{message} in {primitive.name}{symbol.place}")


def _found(graph: Any, symbol: Symbol, out: Any, row: int, values: str) -> Any:
    _require(graph, symbol, out, row, "x == x", f"LAPACK found no {values} of a matrix")
    return out


def eigh(graph, symbol, x):
    x = symmetric(graph, symbol, x)
    out = _called(graph, symbol, x, lapack.symmetric_eigen, x.shape[-1:], 0)
    return _found(graph, symbol, out, 0, "eigenvalues")


def complex_eigh(graph, symbol, x):
    n = x.shape[-1]
    out = _called(graph, symbol, x, lapack.hermitian_eigen, (n,), 2 * n * n, 2)
    return _found(graph, symbol, out, 0, "eigenvalues")


def eig(graph, symbol, x):
    n = x.shape[-1]
    out = _called(graph, symbol, x, lapack.eigen, (n,), lapack.room_of_eigen(n))
    what = "a real matrix that has complex eigenvalues and is not taken as x.astype(complex)"
    _require(graph, symbol, out, 0, "not (x == inf)", what)
    return _found(graph, symbol, out, 0, "eigenvalues")


def complex_eig(graph, symbol, x):
    n = x.shape[-1]
    room = lapack.room_of_complex_eigen(n)
    out = _called(graph, symbol, x, lapack.complex_eigen, (n,), room, 2)
    return _found(graph, symbol, out, 0, "eigenvalues")


def svd(graph, symbol, x):
    m, n = x.shape[-2:]
    out = _called(graph, symbol, x, lapack.singular, (m, n), lapack.room_of_singular(m, n))
    return _found(graph, symbol, out, m, "singular values")


def complex_svd(graph, symbol, x):
    m, n = x.shape[-2:]
    room = lapack.room_of_complex_singular(m, n)
    out = _called(graph, symbol, x, lapack.complex_singular, (m, n), room, 2)
    return _found(graph, symbol, out, m, "singular values")


def pinv(graph, symbol, x):
    m, n = x.shape[-2:]
    room = lapack.room_of_pseudo_inverses(m, n)
    out = _called(graph, symbol, x, lapack.pseudo_inverses, (m, n), room)
    return _found(graph, symbol, out, 0, "singular values")
