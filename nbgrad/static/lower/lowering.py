"""From a recorded program to a lowered one: each row in terms of the values of `values.py`.

The forms are in `forms/`, by subject. Elementwise rows need none: their scalar body is their form.
A row without a form is eager only.
"""

from typing import Any

import numpy as np

from ...core import Primitive
from ...emission import body_of, whole_body_of
from ...errors import TraceError
from ...rules.dtypes import kind_of, known
from ...symbols import Symbol
from ..trace.program import Program
from .forms.table import forms, place_of
from .graph import Graph
from .halo import with_halos
from .sums import with_sums_in_place
from .values import BOOL, INT, Value


def has_form(row: Primitive) -> bool:
    """Whether the row has a static form."""
    return hasattr(row, "body") or row.name in forms


def lower(program: Program) -> tuple[Graph, list[Value]]:
    """The graph and its outputs. Raises TraceError for an eager-only row."""
    graph = Graph()
    known: dict[Symbol, Value] = {}
    for symbol in program.inputs:
        known[symbol] = graph.input(symbol.shape, symbol.dtype)
    for symbol, array in program.captured:
        known[symbol] = graph.capture(array)
    for symbol in program.equations:
        graph.line = symbol.line or graph.line
        known[symbol] = _lowered(graph, symbol, known)
    outputs = [
        known[out] if isinstance(out, Symbol) else _constant(graph, out) for out in program.outputs
    ]
    checked = [ok for ok, _ in graph.checks]
    count = len(outputs)
    found = with_sums_in_place(graph, with_halos(graph, [*outputs, *checked]))
    outputs, oks = found[:count], found[count:]
    graph.checks = [(ok, message) for ok, (_, message) in zip(oks, graph.checks, strict=True)]
    return graph, outputs


def _lowered(graph: Graph, symbol: Symbol, known: dict[Symbol, Value]) -> Value:
    row = symbol.primitive
    assert row is not None
    args = [known[a] if isinstance(a, Symbol) else _constant(graph, a) for a in symbol.args]
    made = forms.get(row.name)
    if made is not None:
        value = made(graph, symbol, *args)
    elif hasattr(row, "body"):
        value = _elementwise(graph, symbol, row, args)
    else:
        raise TraceError(
            f"{row.name} is eager only: it has no static form. Compute it outside of the compiled "
            f"function and pass the result as an argument{place_of(symbol)}"
        )
    assert value.shape == symbol.shape, (row.name, value.shape, symbol.shape)
    return graph.cast(value, symbol.dtype)


def _constant(graph: Graph, x: Any) -> Value:
    """A number: one of Python's in the dtype that it has alone."""
    dtype = known(np.asarray(x).dtype)
    if dtype.kind == "O":
        raise OverflowError(f"Python integer {x} out of bounds for int64")
    return graph.full(x, (), dtype)


def _elementwise(graph: Graph, symbol: Symbol, row: Any, args: list[Value]) -> Value:
    params, dtype = symbol.params, symbol.dtype
    if row.name == "exp" and isinstance(symbol.args[0], Symbol):
        source = symbol.args[0]
        if source.primitive is not None and source.primitive.name == "logsoftmax":
            # Its exponentials are known: exp(logsoftmax(x)) is softmax(x).
            exponentials = graph.notes.get(id(args[0]))
            if exponentials is not None:
                return exponentials
    *types, result = row.loop_types(*map(_kind, symbol.args), **params)
    whole = all(kind.kind in "iub" for kind in types)
    if whole and result == BOOL and BOOL not in types and all(v.dtype.kind in "iu" for v in args):
        typed = args  # integers of any kind are compared as they are
    else:
        typed = [
            _truth(graph, v) if kind == BOOL else _taken(graph, symbol, x, v, kind)
            for x, v, kind in zip(symbol.args, args, types, strict=True)
        ]
    body = whole_body_of(row, params) if whole else body_of(row, params)
    if whole and row.requires:
        condition, message = row.requires
        holds = graph.map(condition, typed, BOOL, symbol.shape)
        graph.require_all(holds, ValueError, f"{row.name}: {message}{place_of(symbol)}")
    if (whole and result != BOOL) or (row.differentiable and dtype == BOOL):
        return graph.whole(body, typed, dtype, symbol.shape)
    return graph.map(body, typed, dtype, symbol.shape)


def _kind(x: Any) -> Any:
    """What decides about dtypes: the type of numbers of Python's, of others the dtype."""
    if not isinstance(x, Symbol):
        return kind_of(x)
    return x.dtype if not x.weak else int if x.dtype.kind == "i" else float


def _taken(graph: Graph, symbol: Symbol, x: Any, value: Value, dtype: np.dtype) -> Value:
    """An argument in the dtype in which an op takes it. A number of Python's must fit into it: of a
    constant that is known, of others when the program runs."""
    if dtype.kind in "iu" and dtype != INT and _kind(x) is int:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        if not isinstance(x, Symbol):
            if not low <= x <= high:
                raise OverflowError(
                    f"{symbol.primitive.name}: Python integer {x} out of bounds for {dtype}"  # pyright: ignore
                    f"{place_of(symbol)}"
                )
        else:
            most = graph.full(min(high, np.iinfo(INT).max), (), INT)
            fits = (graph.map("x >= y", (value, graph.full(low, (), INT)), BOOL),
                    graph.map("x <= y", (value, most), BOOL))  # fmt: skip
            message = f"a Python integer is out of bounds for {dtype}{place_of(symbol)}"
            graph.require_all(graph.map("x & y", fits, BOOL), OverflowError, message)
    return graph.cast(value, dtype)


def _truth(graph: Graph, value: Value) -> Value:
    if value.dtype == BOOL:
        return value
    zero = graph.full(0, (), value.dtype)
    return graph.map("x != y", (value, zero), BOOL, value.shape)
