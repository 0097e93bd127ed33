"""From a recorded program to a lowered one: each row in terms of the values of `values.py`.

The forms are in `forms/`, by subject. Elementwise rows need none: their scalar body is their form.
A row without a form is eager only.
"""

from typing import Any

import numpy as np

from ...core import Primitive
from ...emission import body_of
from ...errors import TraceError
from ...symbols import Symbol
from ..trace.program import Program
from .forms.table import forms, place_of
from .graph import Graph
from .halo import with_halos
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
        known[out] if isinstance(out, Symbol) else graph.full(out, (), np.asarray(out).dtype)
        for out in program.outputs
    ]
    checked = [ok for ok, _ in graph.checks]
    count = len(outputs)
    found = with_halos(graph, [*outputs, *checked])
    outputs, oks = found[:count], found[count:]
    graph.checks = [(ok, message) for ok, (_, message) in zip(oks, graph.checks, strict=True)]
    return graph, outputs


def _lowered(graph: Graph, symbol: Symbol, known: dict[Symbol, Value]) -> Value:
    row = symbol.primitive
    assert row is not None
    args = [known[a] if isinstance(a, Symbol) else _constant(graph, a, symbol) for a in symbol.args]
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


def _constant(graph: Graph, x: Any, symbol: Symbol) -> Value:
    if isinstance(x, (bool, np.bool_)):
        return graph.full(bool(x), (), BOOL)
    kind = np.float64 if isinstance(x, (float, np.floating)) else INT
    return graph.full(x.item() if isinstance(x, np.generic) else x, (), kind)


def _elementwise(graph: Graph, symbol: Symbol, row: Any, args: list[Value]) -> Value:
    params = symbol.params
    dtype = symbol.dtype
    if dtype == BOOL:  # a comparison: of what its arguments have in common
        strong = [
            value.dtype
            for value, arg in zip(args, symbol.args, strict=True)
            if isinstance(arg, Symbol) and not arg.weak
        ]
        common = np.result_type(*(strong or [value.dtype for value in args]))
        if row.name.startswith("logical"):
            common = BOOL
        elif common.kind in "bui" and any(a.dtype.kind == "f" for a in args):
            common = np.dtype(np.float64)
    else:
        common = dtype
    if row.name == "exp" and isinstance(symbol.args[0], Symbol):
        source = symbol.args[0]
        if source.primitive is not None and source.primitive.name == "logsoftmax":
            # Its exponentials are known: exp(logsoftmax(x)) is softmax(x).
            exponentials = graph.notes.get(id(args[0]))
            if exponentials is not None:
                return exponentials
    conditions = getattr(row, "conditions", ())
    typed = [
        _truth(graph, a) if i in conditions or common == BOOL else graph.cast(a, common)
        for i, a in enumerate(args)
    ]
    return graph.map(body_of(row, params), typed, dtype, symbol.shape)


def _truth(graph: Graph, value: Value) -> Value:
    if value.dtype == BOOL:
        return value
    zero = graph.full(0, (), value.dtype)
    return graph.map("x != y", (value, zero), BOOL, value.shape)
