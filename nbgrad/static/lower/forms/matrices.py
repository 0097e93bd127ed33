"""Static forms of inverses, systems, determinants and Cholesky factors: calls on pointers."""

import math

import numpy as np

from ....codegen.loops import MINIMUM, PRODUCT, SUM
from ....symbols import Symbol
from ..graph import Graph
from ..values import BOOL, Call, Value
from .table import form, place_of


def _factored(graph: Graph, symbol: Symbol, x: Value) -> tuple[Value, int, int]:
    """The factors of matrices, which every op on them shares; how many, and of how many rows."""
    n, count = x.shape[-1], math.prod(x.shape[:-2])
    x = graph.reshape(graph.cast(x, symbol.dtype), (count, n, n))
    return graph.new(Call, (count, n + 1, n), x.dtype, (x,), "factored", (count, n)), count, n


def _diagonals(graph: Graph, symbol: Symbol, lu: Value) -> Value:
    """Numbers of each matrix whose product is its determinant."""
    count, n = lu.shape[0], lu.shape[-1]
    return graph.new(Call, (count, n), symbol.dtype, (lu,), "diagonals", (count, n))


def _require(graph: Graph, symbol: Symbol, numbers: Value, condition: str, what: str) -> None:
    """LinAlgError where the least number is not so, once the program has run."""
    if numbers.size:
        least = graph.reduce(MINIMUM, numbers, range(len(numbers.shape)))
        message = f"{what} matrix in {symbol.primitive.name}{place_of(symbol)}"  # pyright: ignore
        graph.require(graph.map(condition, (least,), BOOL), np.linalg.LinAlgError, message)


def _regular(graph: Graph, symbol: Symbol, x: Value) -> tuple[Value, int, int]:
    """The same, of matrices that must have an inverse."""
    lu, count, n = _factored(graph, symbol, x)
    sizes = graph.map("abs(x)", (_diagonals(graph, symbol, lu),), symbol.dtype)
    _require(graph, symbol, sizes, "x != 0.0", "a singular")
    return lu, count, n


@form("inv")
def _inv(graph, symbol, x):
    lu, count, n = _regular(graph, symbol, x)
    out = graph.new(Call, (count, n, n), symbol.dtype, (lu,), "inverted", (count, n))
    return graph.reshape(out, symbol.shape)


@form("solve")
def _solve(graph, symbol, x, y):
    lead, (n, m) = symbol.shape[:-2], symbol.shape[-2:]
    y = graph.broadcast(graph.cast(y, symbol.dtype), (*lead, n, m))
    lu, count, _ = _regular(graph, symbol, graph.broadcast(x, (*lead, n, n)))
    y = graph.reshape(y, (count, n, m))
    out = graph.new(Call, y.shape, symbol.dtype, (lu, y), "substituted", (count, n, m))
    return graph.reshape(out, symbol.shape)


# What is done to the diagonal of an upper factor, and to the results.
_OF_DIAGONALS = {
    "det": ("x", PRODUCT),
    "logabsdet": ("log(abs(x))", SUM),
    "detsign": ("select(x > 0.0, 1.0, select(x < 0.0, -1.0, x))", PRODUCT),
}


@form(*_OF_DIAGONALS)
def _det(graph, symbol, x):
    lu, _, _ = _factored(graph, symbol, x)
    body, kind = _OF_DIAGONALS[symbol.primitive.name]
    terms = graph.map(body, (_diagonals(graph, symbol, lu),), symbol.dtype)
    return graph.reshape(graph.reduce(kind, terms, [1]), symbol.shape)


@form("cholesky")
def _cholesky(graph, symbol, x):
    n, count = x.shape[-1], math.prod(x.shape[:-2])
    x = graph.cast(x, symbol.dtype)
    axes = (*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2)
    even = graph.map("0.5 * (x + y)", (x, graph.transpose(x, axes)), symbol.dtype)
    even = graph.reshape(even, (count, n, n))
    out = graph.new(Call, (count, n, n), symbol.dtype, (even,), "choleskied", (count, n))
    _require(graph, symbol, out, "x == x", "not a positive definite")
    return graph.reshape(out, symbol.shape)
