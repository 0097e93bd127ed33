"""Static forms of inverses, systems, determinants, factors and exponentials: calls on pointers."""

import math
from collections.abc import Callable
from typing import Any

from ...core.symbols import Symbol
from ...errors import MatrixError
from ...ir.affine import Axis
from ...ir.reductions import MINIMUM, Reduction
from ...kernels import systems
from ...kernels.banded import banded as banded_systems
from ...kernels.cholesky import choleskied
from ...kernels.exponentials import exponentials, exponentials_along, lanes_for, room_for
from ...kernels.reflections import reflected, room_of
from ..dtypes import BOOL


def _factored(graph: Any, symbol: Symbol, x: Any) -> tuple[Any, int, int]:
    """The LU factors of matrices, shared by all ops; their number and their number of rows."""
    n, count = x.shape[-1], math.prod(x.shape[:-2])
    x = graph.reshape(graph.cast(x, symbol.dtype), (count, n, n))
    return graph.call((count, n + 1, n), x.dtype, (x,), systems.factored, (count, n)), count, n


def _diagonals(graph: Any, symbol: Symbol, lu: Any) -> Any:
    """The diagonals of the upper factors, whose products are the determinants."""
    count, n = lu.shape[0], lu.shape[-1]
    return graph.call((count, n), symbol.dtype, (lu,), systems.diagonals, (count, n))


def require(graph: Any, symbol: Symbol, numbers: Any, condition: str, what: str) -> None:
    """Raise LinAlgError at run time unless the smallest number meets the condition."""
    if numbers.size:
        least = graph.reduce(MINIMUM, numbers, range(len(numbers.shape)))
        primitive: Any = symbol.primitive
        message = f"{what} matrix in {primitive.name}{symbol.place}"
        graph.require(graph.map(condition, (least,), BOOL), MatrixError, message)


def regular(graph: Any, symbol: Symbol, x: Any) -> tuple[Any, int, int]:
    """LU factors of matrices that must be regular, with their number and size."""
    lu, count, n = _factored(graph, symbol, x)
    sizes = graph.map("abs(x)", (_diagonals(graph, symbol, lu),), symbol.dtype)
    require(graph, symbol, sizes, "x != 0.0", "a singular")
    return lu, count, n


def inv(graph, symbol, x):
    lu, count, n = regular(graph, symbol, x)
    out = graph.call((count, n, n), symbol.dtype, (lu,), systems.inverted, (count, n))
    return graph.reshape(out, symbol.shape)


def solve(graph, symbol, x, y):
    lead, (n, m) = symbol.shape[:-2], symbol.shape[-2:]
    y = graph.broadcast(graph.cast(y, symbol.dtype), (*lead, n, m))
    source = graph.untransposed(x)  # its factors serve both, as in a solution and its pullback
    base = x if source is None else source
    lu, count, _ = regular(graph, symbol, graph.broadcast(base, (*lead, n, n)))
    y, sizes = graph.reshape(y, (count, n, m)), (count, n, m, int(source is not None))
    out = graph.call(y.shape, symbol.dtype, (lu, y), systems.substituted, sizes)
    return graph.reshape(out, symbol.shape)


def of_diagonals(body: str, kind: Reduction) -> Callable:
    """The form of rows that reduce `body` of the diagonals of the upper factors."""

    def form(graph, symbol, x):
        lu, _, _ = _factored(graph, symbol, x)
        terms = graph.map(body, (_diagonals(graph, symbol, lu),), symbol.dtype)
        return graph.reshape(graph.reduce(kind, terms, [1]), symbol.shape)

    return form


def symmetric(graph: Any, symbol: Symbol, x: Any) -> Any:
    """The symmetric parts of matrices."""
    x = graph.cast(x, symbol.dtype)
    axes = (*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2)
    return graph.map("0.5 * (x + y)", (x, graph.transpose(x, axes)), symbol.dtype)


def cholesky(graph, symbol, x):
    n, count = x.shape[-1], math.prod(x.shape[:-2])
    x = graph.reshape(symmetric(graph, symbol, x), (count, n, n))
    out = graph.call((count, n, n), symbol.dtype, (x,), choleskied, (count, n))
    require(graph, symbol, out, "x == x", "not a positive definite")
    return graph.reshape(out, symbol.shape)


def qr(graph, symbol, x):
    m, n = x.shape[-2:]
    count, room = math.prod(x.shape[:-2]), room_of(n)
    x = graph.reshape(graph.cast(x, symbol.dtype), (count, m, n))
    rows, sizes = room + count * (m + n), (count, m, n, room)
    out = graph.call((rows, n), symbol.dtype, (x,), reflected, sizes)
    axes = [Axis(0, room, 1), Axis(1, 0, 1)]
    return graph.reshape(graph.view(out, axes, (rows - room, n)), symbol.shape)


def triangular(graph, symbol, a, y):
    lead, (n, m) = symbol.shape[:-2], symbol.shape[-2:]
    count, lower, unit = math.prod(lead), symbol.params["lower"], symbol.params["unit"]
    a, y = (graph.cast(x, symbol.dtype) for x in (a, y))
    if not unit and a.size:
        places = [*(Axis(i, 0, 1) for i in range(len(a.shape) - 1)), Axis(len(a.shape) - 2, 0, 1)]
        sizes = graph.map("abs(x)", (graph.view(a, places, a.shape[:-1]),), symbol.dtype)
        require(graph, symbol, sizes, "x != 0.0", "a singular")
    a = graph.reshape(graph.broadcast(a, (*lead, n, n)), (count, n, n))
    y = graph.reshape(graph.broadcast(y, symbol.shape), (count, n, m))
    sizes = (count, n, m, int(lower), int(unit))
    return graph.reshape(graph.call(y.shape, y.dtype, (a, y), systems.swept, sizes), symbol.shape)


def banded(graph, symbol, ab, y):
    """The buffer holds for each row its band, widened for pivoting, and the solution."""
    lead, (n, m) = symbol.shape[:-2], symbol.shape[-2:]
    count, (lower, upper) = math.prod(lead), (symbol.params[key] for key in ("lower", "upper"))
    bands, width = lower + upper + 1, 2 * lower + upper + 1
    ab, y = (graph.cast(x, symbol.dtype) for x in (ab, y))
    ab = graph.reshape(graph.broadcast(ab, (*lead, bands, n)), (count, bands, n))
    y = graph.reshape(graph.broadcast(y, symbol.shape), (count, n, m))
    sizes = (count, n, m, lower, upper)
    both = graph.call((count, n, width + m), y.dtype, (ab, y), banded_systems, sizes)

    def part(first, columns):
        axes = [Axis(0, 0, 1), Axis(1, 0, 1), Axis(2, first, 1)]
        return graph.view(both, axes, (count, n, columns))

    pivots = graph.map("abs(x)", (part(lower, 1),), symbol.dtype)
    require(graph, symbol, pivots, "x != 0.0", "a singular")
    return graph.reshape(part(width, m), symbol.shape)


def exponential(graph, symbol, x):
    return _exponentials(graph, symbol, exponentials, (x,), 0)


def exponential_along(graph, symbol, x, direction):
    return _exponentials(graph, symbol, exponentials_along, (x, direction), 1)


def _exponentials(graph, symbol, function, operands, block):
    """Results of functions of matrices: blocks that are side by side, behind scratch space."""
    shape, n, count = symbol.shape, symbol.shape[-1], math.prod(symbol.shape[:-2])
    operands = [
        graph.reshape(graph.broadcast(graph.cast(x, symbol.dtype), shape), (count, n, n))
        for x in operands
    ]
    lanes = lanes_for(count, n)
    room = room_for(n, lanes)
    rows, columns = room + count * n, n * len(operands)
    out = graph.call((rows, columns), symbol.dtype, operands, function, (count, n, lanes))
    axes = [Axis(0, room, 1), Axis(1, block * n, 1)]
    return graph.reshape(graph.view(out, axes, (count * n, n)), shape)
