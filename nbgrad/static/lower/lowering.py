"""`lower`: from a recorded program to the values of `values.py` and `buffered.py`.

The `form` of each row makes its value by the methods of the graph; a row without one is eager only.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ...core.array import Array
from ...core.primitive import Aval
from ...core.symbols import Builder, Symbol, topological
from ...errors import CapturedError, EagerOnlyError, IntegerOverflow
from ...ir.functions import Constant
from ...ir.naming import naming
from ...rules.dtypes import known
from ..simplify.looped import arguments_in, looped
from ..simplify.loops import simplified
from ..trace.program import Program
from .choice import choice
from .graph import Graph
from .halo import with_halos
from .loop import loop
from .rolls import with_rolls_as_views
from .shared_totals import with_totals_of_blocks
from .sums import with_sums_in_place
from .twins import with_twins_as_one
from .values import Value


class Lowering(Graph):
    """A graph with loops and choices, whose programs are lowered, too."""

    def loop(self, symbol: Symbol, args: Sequence[Value]) -> Value:
        return loop(self, looped(symbol), symbol, args, lower)

    def choice(self, symbol: Symbol, args: Sequence[Value]) -> Value:
        return choice(self, symbol, args, lower)

    def recorded(
        self, symbol: Symbol, definition: Callable, args: Sequence[Value], empty: float
    ) -> Value:
        """The value of an op by its definition: other ops, which are recorded."""
        if not all(x.size for x in args):
            return self.full(empty, symbol.shape, symbol.dtype)
        builder = Builder(symbol.level)
        inputs = [builder.input(Aval.of(x.shape, x.dtype)) for x in args]
        out = definition(*inputs, **symbol.params)
        known = dict(zip(inputs, args, strict=True))
        for inner in topological([out], known):
            if inner not in known:
                inner.line = symbol.line
                known[inner] = _lowered(self, inner, known)
        return known[out]


def lower(
    program: Program, transposed: Sequence[tuple[int, int]] = ()
) -> tuple[Graph, list[Value]]:
    """The graph and its outputs. Each pair of `transposed` are the places of an input and of the
    one whose transposed matrices it holds. Raises TraceError for an eager-only row."""
    graph = Lowering()
    outputs = fill(graph, program, transposed)
    checked = [ok for ok, _ in graph.checks]
    count = len(outputs)
    values = with_twins_as_one(graph, [*outputs, *checked])
    values = with_rolls_as_views(graph, values)
    values = with_sums_in_place(graph, with_halos(graph, values))
    values = with_totals_of_blocks(graph, values)
    outputs, oks = values[:count], values[count:]
    graph.checks = [(ok, message) for ok, (_, message) in zip(oks, graph.checks, strict=True)]
    return graph, outputs


def fill(graph: Graph, program: Program, transposed: Sequence[tuple[int, int]] = ()) -> list[Value]:
    """Make the values of a program; the outputs."""
    here = naming()
    if here is not None:
        here.line = lambda: graph.line
    known: dict[Symbol, Value] = {}
    for symbol in program.inputs:
        known[symbol] = graph.input(symbol.shape, symbol.dtype)
    for place, source in transposed:
        graph.sources[graph.inputs[place]] = graph.inputs[source]
    for symbol, array in program.captured:
        known[symbol] = graph.capture(array)
    every = simplified(program)
    loops = {symbol: loop for loop in every for symbol in loop.wanted}
    results = [*program.outputs, *program.checked]
    order = topological(results, known, args_of=arguments_in(every))
    for symbol in order:
        if symbol in known:
            continue
        graph.line = symbol.line or graph.line
        if symbol in loops:
            args = _operands(graph, symbol, loops[symbol].args, known)
            known[symbol] = loop(graph, loops[symbol], symbol, args, lower)
        else:
            known[symbol] = _lowered(graph, symbol, known)
    return [
        known[out] if isinstance(out, Symbol) else _constant(graph, out) for out in program.outputs
    ]


def _lowered(graph: Graph, symbol: Symbol, known: dict[Symbol, Value]) -> Value:
    row = symbol.primitive
    assert row is not None
    args = _operands(graph, symbol, symbol.args, known)
    if row.form is None:
        why = row.eager_only or "it has no static form"
        raise EagerOnlyError(
            f"{row.name} is eager only: {why}. Compute it outside of the compiled function and "
            f"pass the result as an argument{symbol.place}"
        )
    value = row.form(graph, symbol, *args)
    assert value.shape == symbol.shape, (row.name, value.shape, symbol.shape)
    return graph.cast(value, symbol.dtype)


def _operands(
    graph: Graph, symbol: Symbol, args: Sequence, known: dict[Symbol, Value]
) -> list[Value]:
    return [known[a] if isinstance(a, Symbol) else _constant(graph, a, symbol) for a in args]


def _constant(graph: Graph, x: Constant, symbol: Symbol | None = None) -> Value:
    """A number, an argument of a symbol or a result: one of Python's in the dtype that it has
    alone; a large integer beside floats is one of them."""
    if isinstance(x, Array):
        raise CapturedError(
            f"the function closes over a tracked array of shape {x.shape}, and what is compiled "
            f"knows no graph: pass it as an argument, or its numbers by .data"
            f"{'' if symbol is None else symbol.place}"
        )
    dtype = known(np.asarray(x).dtype)
    if dtype.kind == "O":
        args = () if symbol is None else symbol.args
        if any(a.dtype.kind == "f" for a in args if isinstance(a, Symbol)):
            return graph.full(float(x))
        raise IntegerOverflow(f"Python integer {x} out of bounds for int64")
    return graph.full(x, (), dtype)
