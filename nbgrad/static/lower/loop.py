"""The static form of the row `loop`.

A `Scan` takes constants, the first state and stacked xs, and gives items: `("state", k)` at the
end, `("y", k)` stacked, `("states", k)` before and after each step, `("marks", k)` before some,
`("check", k)` for what must hold in each.
"""

from collections.abc import Callable, Sequence

from ...core.symbols import Symbol
from ...errors import StepsError
from ..simplify.looped import Looped
from ..trace.body import Body
from .algebra import SAME
from .buffered import Item, Scan
from .chains import chain_of, only_added_to, with_chains
from .graph import Graph
from .invariant import as_inputs, computed, moved_out
from .reads import with_copies
from .step import LoweredStep
from .values import BOOL, Full, Input, Iota, Map, Value


def loop(
    graph: Graph, looped: Looped, symbol: Symbol, args: Sequence[Value], lower: Callable
) -> Value:
    """The results of a loop that the op `symbol` wants, joined in one flat array; `lower` lowers
    the body."""
    body = looped.body
    avals = [x.aval for x in body.program.inputs[1:]]
    operands = [solid(graph, graph.cast(x, a.dtype)) for x, a in zip(args, avals, strict=True)]
    key = body.ys, _transposed(graph, operands[: body.constants])
    if body.lowered is None or body.lowered[0] != key:
        body.lowered = key, _step(body, lower, key[1])
    step: LoweredStep = body.lowered[1]
    operands += [graph.capture(array) for array in step.graph.captured]
    given = dict(zip(step.graph.inputs[1:], operands, strict=False))
    operands += [solid(graph, value) for value in computed(graph, step.moved, given)]
    loop = graph.new(Scan, (), BOOL, operands, step)
    checked(graph, loop, [message for _, message in step.graph.checks])
    if body.stops:
        goes_on = graph.new(Item, (), BOOL, (loop,), ("state", body.states - 1))
        graph.require(graph.map("x == False", (goes_on,), BOOL), StepsError, body.too_long)
    parts = []
    avals = symbol.params["body"].avals
    for wanted, k in zip(looped.wanted[symbol], symbol.params["outs"], strict=True):
        aval = avals[k]
        if wanted is None:
            parts.append(graph.full(0.0, (aval.size,), symbol.dtype))
            continue
        item = graph.new(Item, aval.shape, aval.dtype, (loop,), wanted)
        parts.append(graph.reshape(graph.cast(item, symbol.dtype), (aval.size,)))
    return graph.concat(parts, 0)


def checked(graph: Graph, nested: Value, messages: Sequence[tuple[type, str]]) -> None:
    """Note what must hold inside of a loop or a choice."""
    for k, message in enumerate(messages):
        ok = graph.new(Item, (), BOOL, (nested,), ("check", k))
        if all(ok is not known for known, _ in graph.checks):
            graph.checks.append((ok, message))


def _transposed(graph: Graph, constants: Sequence[Value]) -> list[tuple[int, int]]:
    """The inputs of the step that hold transposed matrices of others, and these."""
    sources = [graph.untransposed(x) if len(x.shape) > 1 else None for x in constants]
    return [
        (1 + i, 1 + k)
        for i, source in enumerate(sources)
        for k, other in enumerate(constants)
        if other is source
    ]


def _step(body: Body, lower: Callable, transposed: Sequence[tuple[int, int]]) -> LoweredStep:
    graph, outputs = lower(body.program, transposed)
    first = 1 + body.constants
    states = graph.inputs[first : first + body.states]
    values = [*outputs, *(ok for ok, _ in graph.checks)]
    captured = graph.inputs[len(body.program.inputs) :]
    moved = moved_out(graph, values, [*graph.inputs[1:first], *captured])
    values, written = with_chains(graph, as_inputs(graph, values, moved), states)
    if written:
        values = with_copies(values, [chain_of(values[k], states[k]) for k in written])
    added = only_added_to(values, states, written)
    oks = zip(values[len(outputs) :], graph.checks, strict=True)
    graph.checks = [(ok, message) for ok, (_, message) in oks]
    outputs = apart(values[: len(outputs)])
    span = body.spans[0] if body.spans else 0
    counts = (body.constants, body.states, body.xs)
    in_place = frozenset(written), frozenset(added)
    return LoweredStep(
        graph, outputs, body.n, *counts, body.reverse, span, body.ending, tuple(moved), *in_place
    )


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
