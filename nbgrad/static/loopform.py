"""The static form of the row `loop`."""

from .body import Body
from .emit import planned
from .forms.table import form
from .ir import Graph
from .looping import Step
from .lower import lower
from .values import BOOL, Value, below_of, topological


@form("loop")
def _loop(graph: Graph, symbol, *args: Value) -> Value:
    body: Body = symbol.params["body"]
    if body.lowered is None:
        body.lowered = _step(body)
    step: Step = body.lowered
    avals = [given.aval for given in body.program.inputs[1:]]
    given = [graph.cast(x, a.dtype) for x, a in zip(args, avals, strict=True)]
    given += [graph.capture(array) for array in step.graph.captured]
    loop = graph.new("loop", (), BOOL, given, step)
    for k, (_, message) in enumerate(step.graph.checks):
        ok = graph.new("item", (), BOOL, (loop,), ("check", k))
        if all(ok is not known for known, _ in graph.checks):
            graph.checks.append((ok, message))
    parts = []
    for k in symbol.params["outs"]:
        aval, s, ys = body.avals[k], body.states, body.ys
        key = ("state", k) if k < s else ("y", k - s) if k < s + ys else ("states", k - s - ys)
        item = graph.new("item", aval.shape, aval.dtype, (loop,), key)
        parts.append(graph.reshape(graph.cast(item, symbol.dtype), (aval.size,)))
    return graph.concat(parts, 0)


def _step(body: Body) -> Step:
    graph, outputs = lower(body.program)
    first = 1 + body.constants
    for k in range(body.states):
        outputs[k] = _gathered(graph, outputs[k], graph.inputs[first + k], outputs)
    seen: set[Value] = set()
    for i, value in enumerate(outputs):
        # Every result is written to a place of its own.
        while value.shape != () and (value in seen or value.op == "input"):
            value = graph.new("map", value.shape, value.dtype, (value,), "x")
        seen.add(value)
        outputs[i] = value
    return Step(graph, outputs, planned, body.n, body.constants, body.states, body.xs, body.reverse)


def _gathered(graph: Graph, value: Value, state: Value, outputs: list[Value]) -> Value:
    """A state that only grows, with what is added at an index added to it in place: not the sum of
    it and of an array that is zero elsewhere."""
    terms = _terms(value)
    rest = [term for term in terms if term is not state and term.op != "scatter"]
    scatters = [term for term in terms if term.op == "scatter" and below_of(term) is None]
    if not scatters or len(terms) != 1 + len(rest) + len(scatters):
        return value
    if any(state in topological([other]) for other in [*rest, *scatters, *outputs]
           if other is not value):  # fmt: skip
        return value
    total = state
    for term in rest:
        total = graph.map("x + y", (total, term), value.dtype)
    for term in scatters:
        args = (*term.args, total)
        total = graph.new("scatter", term.shape, term.dtype, args, term.data)
    return total


def _terms(value: Value) -> list[Value]:
    """What is added up in arrays of one shape."""
    if value.op == "map" and value.data == "x + y":
        if all(arg.shape == value.shape and arg.dtype == value.dtype for arg in value.args):
            return [term for arg in value.args for term in _terms(arg)]
    return [value]
