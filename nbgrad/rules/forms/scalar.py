"""The static form of primitives given by scalar code: their body."""

from typing import Any

import numpy as np

from ...core.symbols import Symbol
from ...errors import ArgumentError, IntegerOverflow
from ..dtypes import BOOL, INT, kind_of


def elementwise(primitive: Any, graph: Any, symbol: Symbol, args: tuple) -> Any:
    """The body of a primitive, with arguments cast to the dtypes of NumPy's loop."""
    params, dtype = symbol.params, symbol.dtype
    *types, result = primitive.loop_types(*map(_kind, symbol.args), **params)
    whole = all(kind.kind in "iub" for kind in types)
    if whole and result == BOOL and BOOL not in types and all(v.dtype.kind in "iu" for v in args):
        typed = args  # integers of any kind are compared as they are
    else:
        typed = [
            _truth(graph, v) if kind == BOOL else _typed(graph, symbol, x, v, kind)
            for x, v, kind in zip(symbol.args, args, types, strict=True)
        ]
    body = graph.body_of(primitive, params, whole)
    if whole and primitive.requires:
        condition, message = primitive.requires
        holds = graph.map(condition, typed, BOOL, symbol.shape)
        graph.require_all(holds, ArgumentError, f"{primitive.name}: {message}{symbol.place}")
    if (whole and result != BOOL) or (primitive.differentiable and dtype == BOOL):
        return graph.whole(body, typed, dtype, symbol.shape)
    return graph.map(body, typed, dtype, symbol.shape)


def _kind(x: Any) -> Any:
    """The dtype of an argument, or the type of a Python number, for promotion."""
    if not isinstance(x, Symbol):
        return kind_of(x)
    return x.dtype if not x.weak else int if x.dtype.kind == "i" else float


def _typed(graph: Any, symbol: Symbol, x: Any, value: Any, dtype: np.dtype) -> Any:
    """An argument cast to the dtype of an op. A Python integer must be in its range: constants are
    checked now, others at run time."""
    if dtype.kind in "iu" and dtype != INT and _kind(x) is int:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        if not isinstance(x, Symbol):
            if not low <= x <= high:
                primitive: Any = symbol.primitive
                raise IntegerOverflow(
                    f"{primitive.name}: Python integer {x} out of bounds for {dtype}{symbol.place}"
                )
        else:
            most = graph.full(min(high, np.iinfo(INT).max), (), INT)
            fits = (graph.map("x >= y", (value, graph.full(low, (), INT)), BOOL),
                    graph.map("x <= y", (value, most), BOOL))  # fmt: skip
            message = f"a Python integer is out of bounds for {dtype}{symbol.place}"
            graph.require_all(graph.map("x & y", fits, BOOL), IntegerOverflow, message)
    return graph.cast(value, dtype)


def _truth(graph: Any, value: Any) -> Any:
    if value.dtype == BOOL:
        return value
    zero = graph.full(0, (), value.dtype)
    return graph.map("x != y", (value, zero), BOOL, value.shape)
