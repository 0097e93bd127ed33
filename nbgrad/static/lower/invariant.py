"""Loop-invariant values: steps that would compute the same value from constants alone read it as a
further constant, which is computed once, before the loop.

Only work that is worth a buffer is moved: factors and products of matrices, reductions, functions
such as exp. Cheap scalar code over arrays costs no more than to read its result.
"""

import dataclasses
from collections.abc import Mapping, Sequence

from .buffered import Held
from .chains import replaced
from .graph import Graph
from .values import Full, Input, Map, Value, topological

# Scalar code of this price and more moves; an exp has about 20.
_DEAR = 8


def moved_out(graph: Graph, values: Sequence[Value], constants: Sequence[Value]) -> list[Value]:
    """The values of a step that are computed before the loop, given its constants."""
    alike = {*constants}
    dear: dict[Value, bool] = {}  # values that are alike in all steps: whether they have dear work
    moved: dict[Value, None] = {}
    order = topological(values)
    for value in order:
        if value in alike or (not isinstance(value, Input) and all(a in dear for a in value.args)):
            dear[value] = value not in alike and (_is_dear(value) or any(map(dear.get, value.args)))
    stack = [value for value in values if value in dear]
    stack += [arg for value in order if value not in dear for arg in value.args if arg in dear]
    while stack:
        value = stack.pop()
        if not dear[value] or value in moved:
            continue
        if _is_dear(value) or (isinstance(value, Map) and _is_small(value)):
            moved[value] = None
        else:
            stack += value.args
    return list(moved)


def _is_dear(value: Value) -> bool:
    if isinstance(value, Map):
        return value.price >= _DEAR and not isinstance(value, Held)
    return value.buffered


def _is_small(value: Value) -> bool:
    """Whether a result is not longer than what it is computed from."""
    return value.shape == () or any(arg.shape == value.shape for arg in value.args)


def as_inputs(graph: Graph, values: Sequence[Value], moved: Sequence[Value]) -> list[Value]:
    """The values of a step, with further inputs in place of those that are moved."""
    return replaced(values, {value: graph.input(value.shape, value.dtype) for value in moved})


def computed(graph: Graph, moved: Sequence[Value], given: Mapping[Value, Value]) -> list[Value]:
    """The moved values of a step in the graph around it, which has the inputs `given`."""
    found = dict(given)
    for value in topological(moved):
        if value not in found:
            found[value] = _again(graph, value, [found[arg] for arg in value.args])
    return [found[value] for value in moved]


def _again(graph: Graph, value: Value, args: Sequence[Value]) -> Value:
    if isinstance(value, Full):
        return graph.full(value.number, value.shape, value.dtype)
    fields = dataclasses.fields(value)[len(dataclasses.fields(Value)) :]
    parts = [getattr(value, field.name) for field in fields]
    return graph.new(type(value), value.shape, value.dtype, args, *parts)
