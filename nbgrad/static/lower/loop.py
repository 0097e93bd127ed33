"""The static form of the row `loop`.

A `Scan` takes constants, the first state and stacked xs, and gives items: `("state", k)` at the
end, `("y", k)` stacked, `("states", k)` before and after each step, `("marks", k)` before some,
`("check", k)` for what must hold in each.
"""

from collections.abc import Callable, Sequence

from ...core.symbols import Symbol
from ..trace.body import Body
from .algebra import SAME
from .buffered import Item, Scan
from .chains import chain_of, only_added_to, with_chains
from .graph import Graph
from .reads import with_copies
from .step import LoweredStep
from .values import BOOL, Full, Input, Iota, Map, Value


def loop(graph: Graph, symbol: Symbol, args: Sequence[Value], lower: Callable) -> Value:
    """The wanted results of a loop, joined in one flat array; `lower` lowers its body."""
    body: Body = symbol.params["body"]
    if body.lowered is None or body.lowered[0] != body.ys:
        body.lowered = body.ys, _step(body, lower)
    step: LoweredStep = body.lowered[1]
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


def checked(graph: Graph, nested: Value, messages: Sequence[tuple[type, str]]) -> None:
    """Note what must hold inside of a loop or a choice."""
    for k, message in enumerate(messages):
        ok = graph.new(Item, (), BOOL, (nested,), ("check", k))
        if all(ok is not known for known, _ in graph.checks):
            graph.checks.append((ok, message))


def _step(body: Body, lower: Callable) -> LoweredStep:
    graph, outputs = lower(body.program)
    first = 1 + body.constants
    states = graph.inputs[first : first + body.states]
    values, written = with_chains(graph, [*outputs, *(ok for ok, _ in graph.checks)], states)
    if written:
        values = with_copies(values, [chain_of(values[k], states[k]) for k in written])
    added = only_added_to(values, states, written)
    oks = zip(values[len(outputs) :], graph.checks, strict=True)
    graph.checks = [(ok, message) for ok, (_, message) in oks]
    outputs = apart(values[: len(outputs)])
    span = body.spans[0] if body.spans else 0
    counts = (body.constants, body.states, body.xs)
    in_place = frozenset(written), frozenset(added)
    return LoweredStep(graph, outputs, body.n, *counts, body.reverse, span, body.ending, *in_place)


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


def solid(graph: Graph, value: Value) -> Value:
    """A value that has a buffer."""
    is_free = isinstance(value, (Full, Iota)) and value.shape != ()
    return _copied(graph, value) if is_free else value


def _copied(graph: Graph, value: Value) -> Value:
    return graph.new(Map, value.shape, value.dtype, (value,), SAME)
