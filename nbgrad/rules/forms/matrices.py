"""Static forms of inverses, systems, determinants, Cholesky and QR factors: calls on pointers."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...codegen.loops import MINIMUM, Reduction
from ...core.symbols import Symbol
from ..dtypes import BOOL


def _factored(graph: Any, symbol: Symbol, x: Any) -> tuple[Any, int, int]:
    """The factors of matrices, which every op on them shares; how many, and of how many rows."""
    n, count = x.shape[-1], math.prod(x.shape[:-2])
    x = graph.reshape(graph.cast(x, symbol.dtype), (count, n, n))
    return graph.call((count, n + 1, n), x.dtype, (x,), "factored", (count, n)), count, n


def _diagonals(graph: Any, symbol: Symbol, lu: Any) -> Any:
    """Numbers of each matrix whose product is its determinant."""
    count, n = lu.shape[0], lu.shape[-1]
    return graph.call((count, n), symbol.dtype, (lu,), "diagonals", (count, n))


def _require(graph: Any, symbol: Symbol, numbers: Any, condition: str, what: str) -> None:
    """LinAlgError where the least number is not so, once the program has run."""
    if numbers.size:
        least = graph.reduce(MINIMUM, numbers, range(len(numbers.shape)))
        primitive: Any = symbol.primitive
        message = f"{what} matrix in {primitive.name}{symbol.place}"
        graph.require(graph.map(condition, (least,), BOOL), np.linalg.LinAlgError, message)


def _regular(graph: Any, symbol: Symbol, x: Any) -> tuple[Any, int, int]:
    """Factors of matrices that must have an inverse, with their number and size."""
    lu, count, n = _factored(graph, symbol, x)
    sizes = graph.map("abs(x)", (_diagonals(graph, symbol, lu),), symbol.dtype)
    _require(graph, symbol, sizes, "x != 0.0", "a singular")
    return lu, count, n


def inv(graph, symbol, x):
    lu, count, n = _regular(graph, symbol, x)
    out = graph.call((count, n, n), symbol.dtype, (lu,), "inverted", (count, n))
    return graph.reshape(out, symbol.shape)


def solve(graph, symbol, x, y):
    lead, (n, m) = symbol.shape[:-2], symbol.shape[-2:]
    y = graph.broadcast(graph.cast(y, symbol.dtype), (*lead, n, m))
    lu, count, _ = _regular(graph, symbol, graph.broadcast(x, (*lead, n, n)))
    y = graph.reshape(y, (count, n, m))
    out = graph.call(y.shape, symbol.dtype, (lu, y), "substituted", (count, n, m))
    return graph.reshape(out, symbol.shape)


def of_diagonals(body: str, kind: Reduction) -> Callable:
    """The form of rows that join `body` of the elements on the diagonal of an upper factor."""

    def form(graph, symbol, x):
        lu, _, _ = _factored(graph, symbol, x)
        terms = graph.map(body, (_diagonals(graph, symbol, lu),), symbol.dtype)
        return graph.reshape(graph.reduce(kind, terms, [1]), symbol.shape)

    return form


def cholesky(graph, symbol, x):
    n, count = x.shape[-1], math.prod(x.shape[:-2])
    x = graph.cast(x, symbol.dtype)
    axes = (*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2)
    even = graph.map("0.5 * (x + y)", (x, graph.transpose(x, axes)), symbol.dtype)
    even = graph.reshape(even, (count, n, n))
    out = graph.call((count, n, n), symbol.dtype, (even,), "choleskied", (count, n))
    _require(graph, symbol, out, "x == x", "not a positive definite")
    return graph.reshape(out, symbol.shape)


def qr(graph, symbol, x):
    m, n = x.shape[-2:]
    count = math.prod(x.shape[:-2])
    x = graph.reshape(graph.cast(x, symbol.dtype), (count, m, n))
    out = graph.call((count, m + n, n), symbol.dtype, (x,), "reflected", (count, m, n))
    return graph.reshape(out, symbol.shape)
