"""The static form of the row `loop`.

A `Scan` takes constants, the first state and stacked xs, and gives items: `("state", k)` at the
end, `("y", k)` stacked, `("states", k)` before and after each step, `("marks", k)` before some,
`("check", k)` for what must hold in each.
"""

from collections.abc import Callable, Sequence

from ...core.symbols import Symbol
from ..trace.body import Body
from .algebra import PLUS, SAME
from .buffered import Item, Scan, Scatter
from .graph import Graph
from .step import LoweredStep
from .values import BOOL, Full, Input, Iota, Map, Value, is_map, topological


def loop(graph: Graph, symbol: Symbol, args: Sequence[Value], lower: Callable) -> Value:
    """The wanted results of a loop, joined in one flat array; `lower` lowers its body."""
    body: Body = symbol.params["body"]
    if body.lowered is None:
        body.lowered = _step(body, lower)
    step: LoweredStep = body.lowered
    avals = [x.aval for x in body.program.inputs[1:]]
    operands = [solid(graph, graph.cast(x, a.dtype)) for x, a in zip(args, avals, strict=True)]
    operands += [graph.capture(array) for array in step.graph.captured]
    loop = graph.new(Scan, (), BOOL, operands, step)
    checked(graph, loop, [message for _, message in step.graph.checks])
    if body.stops:
        goes_on = graph.new(Item, (), BOOL, (loop,), ("state", body.states - 1))
        graph.require(graph.map("x == False", (goes_on,), BOOL), RuntimeError, body.too_long)
    parts = []
    for k in symbol.params["outs"]:
        aval = body.avals[k]
        item = graph.new(Item, aval.shape, aval.dtype, (loop,), body.key(k))
        parts.append(graph.reshape(graph.cast(item, symbol.dtype), (aval.size,)))
    return graph.concat(parts, 0)


def checked(graph: Graph, nested: Value, messages: Sequence[str]) -> None:
    """Note what must hold inside of a loop or a choice."""
    for k, message in enumerate(messages):
        ok = graph.new(Item, (), BOOL, (nested,), ("check", k))
        if all(ok is not known for known, _ in graph.checks):
            graph.checks.append((ok, message))


def _step(body: Body, lower: Callable) -> LoweredStep:
    graph, outputs = lower(body.program)
    first = 1 + body.constants
    for k in range(body.states):
        outputs[k] = _gathered(graph, outputs[k], graph.inputs[first + k], outputs)
    outputs = apart(outputs)
    span = body.spans[0] if body.spans else 0
    counts = (body.constants, body.states, body.xs)
    return LoweredStep(graph, outputs, body.n, *counts, body.reverse, span, body.ending)


def apart(outputs: Sequence[Value]) -> list[Value]:
    """The outputs, each with a place of its own to be written to."""
    found: list[Value] = []
    seen: set[Value] = set()
    for value in outputs:
        if value.shape != () and (value in seen or isinstance(value, Input)):
            value = Map(value.shape, value.dtype, (value,), value.line, SAME)
        seen.add(value)
        found.append(value)
    return found


def _gathered(graph: Graph, value: Value, state: Value, outputs: list[Value]) -> Value:
    """A state that only grows, with what is added at an index added to it in place: not the sum of
    it and of an array that is zero elsewhere."""
    terms = _terms(value)
    scatters = [term for term in terms if isinstance(term, Scatter) and term.below is None]
    rest = [term for term in terms if term is not state and not isinstance(term, Scatter)]
    if not scatters or len(terms) != 1 + len(rest) + len(scatters):
        return value
    if any(state in topological([other]) for other in [*rest, *scatters, *outputs]
           if other is not value):  # fmt: skip
        return value
    total = state
    for term in rest:
        total = graph.map(PLUS, (total, term), value.dtype)
    for term in scatters:
        args, fields = (*term.args, total), (term.axes, term.place, term.joint, term.adds)
        total = graph.new(Scatter, term.shape, term.dtype, args, *fields)
    return total


def _terms(value: Value) -> list[Value]:
    """The terms of a sum of arrays of one shape."""
    terms: list[Value] = []
    stack = [value]
    while stack:
        term = stack.pop()
        adds = is_map(term, PLUS) and all(
            arg.shape == term.shape and arg.dtype == term.dtype for arg in term.args
        )
        if adds:
            stack += term.args[::-1]
        else:
            terms.append(term)
    return terms


def solid(graph: Graph, value: Value) -> Value:
    """A value that has a buffer."""
    is_free = isinstance(value, (Full, Iota)) and value.shape != ()
    return _copied(graph, value) if is_free else value


def _copied(graph: Graph, value: Value) -> Value:
    return graph.new(Map, value.shape, value.dtype, (value,), SAME)
