"""Many rolls of one array: views of that array written out twice.

A roll joins the end of an array to its beginning, so a loop over it is cut where they meet. A sum
of many rolls would be cut into as many pieces, each with all of the terms. In a copy that goes on
with the beginning after the end, each roll is a window that nothing cuts.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ...ir.affine import Axis
from .graph import Graph
from .layout import is_even
from .values import Concat, Map, Value, View, topological

# So many rolls of one array along one axis are views of a copy. The value and the gradient of a sum
# of 8 take 1.5 microseconds for 1000 elements, with loops cut in pieces 2.0; 145 and 175 for
# 300 x 300. A sum of 100 compiles in 1.6 s in place of 8.5.
MANY = 8


class Roll(NamedTuple):
    """The elements of `source` along `axis` from `start` on, and then those before."""

    source: Value
    axis: int
    start: int


def with_rolls_as_views(graph: Graph, outputs: Sequence[Value]) -> list[Value]:
    """The outputs, with many rolls of one array as views of a copy of it."""
    order = topological(outputs)
    rolls = _rolls_among(order)
    if len(rolls) < MANY:
        return list(outputs)
    outputs = _with_rolls_inside(graph, outputs, rolls)
    order = topological(outputs)
    rolls = _rolls_among(order)
    starts: dict[tuple[Value, int], set[int]] = {}
    for source, axis, start in rolls.values():
        starts.setdefault((source, axis), set()).add(_nearest(start, source.shape[axis]))
    copies: dict[Value, Value] = {}
    for value in order:
        roll = rolls.get(value)
        if roll is None or len(starts[roll[:2]]) < MANY:
            args = tuple(copies[arg] for arg in value.args)
            copies[value] = value if args == value.args else replace(value, args=args)
        else:
            every = starts[roll[:2]]
            copies[value] = _window(graph, roll, copies[roll.source], min(every), max(every))
    return [copies[value] for value in outputs]


def _nearest(start: int, n: int) -> int:
    """The beginning of a roll of n elements, as the distance from 0 in the shorter direction."""
    return start if start <= n // 2 else start - n


def _rolls_among(order: Sequence[Value]) -> dict[Value, Roll]:
    """The joins that are rolls; a roll of a roll is one of what that one rolls."""
    rolls: dict[Value, Roll] = {}
    for value in order:
        roll = _roll_of(value, rolls) if isinstance(value, Concat) else None
        if roll is not None:
            rolls[value] = roll
    return rolls


def _roll_of(value: Concat, rolls: dict[Value, Roll]) -> Roll | None:
    """The roll that a join of slices is, where each goes on where the one before ends, and the
    first element follows the last."""
    slices = [_slice_of(part, value.axis, rolls) for part in value.args]
    first = slices[0]
    if first is None or first.source.shape != value.shape:
        return None
    at, n = first.start, value.shape[value.axis]
    for part, roll in zip(value.args, slices, strict=True):
        if roll is None or roll.source is not first.source or roll.start != at % n:
            return None
        at += part.shape[value.axis]
    return first


def _slice_of(part: Value, axis: int, rolls: dict[Value, Roll]) -> Roll | None:
    """The array of which a part of a join is a slice along an axis, and where that begins."""
    source, start = part, 0
    if isinstance(part, View):
        source = part.source
        if len(source.shape) != len(part.shape):
            return None
        start = part.axes[axis].start
        if part.axes != _slice(source, axis, start, part.shape[axis]):
            return None
    inner = rolls.get(source)
    if inner is not None and inner.axis == axis:
        return Roll(inner.source, axis, (start + inner.start) % source.shape[axis])
    return Roll(source, axis, start)


def _slice(source: Value, axis: int, start: int, length: int) -> tuple[Axis, ...]:
    """The axes of a view of `length` positions from `start` on."""
    axes = [Axis(None, 0, 0) if n == 1 else Axis(i, 0, 1) for i, n in enumerate(source.shape)]
    axes[axis] = Axis(None, start, 0) if length == 1 else Axis(axis, start, 1)
    return tuple(axes)


def _part(graph: Graph, source: Value, axis: int, start: int, length: int) -> Value:
    shape = (*source.shape[:axis], length, *source.shape[axis + 1 :])
    return graph.view(source, _slice(source, axis, start, length), shape)


def _with_rolls_inside(
    graph: Graph, outputs: Sequence[Value], rolls: dict[Value, Roll]
) -> list[Value]:
    """The outputs, with a roll of scalar code as scalar code over rolls, and a roll of a roll as
    one: in a gradient each term is rolled, and all terms are of few arrays."""
    order = topological(outputs)
    readers = dict.fromkeys(order, 0)
    for arg in (*outputs, *(arg for value in order for arg in value.args)):
        readers[arg] += 1
    copies: dict[Value, Value] = {}
    for value in order:
        if value not in rolls:
            args = tuple(copies[arg] for arg in value.args)
            copies[value] = value if args == value.args else replace(value, args=args)
            continue
        source, axis, start = rolls[value]
        # Code that the parts of this roll alone read is computed once, rolled or not.
        alone = readers[source] == len(value.args) and all(
            part.args == (source,) and readers[part] == 1 for part in value.args
        )
        known: dict[Value, Value] = {}
        for each in _maps_alone(source, readers) if alone else []:
            for arg in each.args:
                if arg.shape != () and arg not in known:
                    known[arg] = _rolled(graph, Roll(copies[arg], axis, start))
            args = [known.get(arg) or copies[arg] for arg in each.args]
            known[each] = graph.map(each.body, args, each.dtype, each.shape)
        copies[value] = known.get(source) or _rolled(graph, Roll(copies[source], axis, start))
    return [copies[value] for value in outputs]


def _maps_alone(source: Value, readers: dict[Value, int]) -> list[Map]:
    """The scalar code over arrays of one shape that `source` is, and what it alone reads of such
    code, each after its arguments."""
    maps: list[Map] = []
    stack = [source]
    while stack:
        value = stack.pop()
        if is_even(value) and (value is source or readers[value] == 1):
            maps.append(value)
            stack += value.args
    return maps[::-1]


def _rolled(graph: Graph, roll: Roll) -> Value:
    """The value of a roll."""
    source, axis, start = roll
    inner = _roll_of(source, {}) if isinstance(source, Concat) else None
    if inner is not None and inner.axis == axis:
        start = (start + inner.start) % source.shape[axis]
        source = inner.source
    if not start:
        return source
    n = source.shape[axis]
    parts = (_part(graph, source, axis, start, n - start), _part(graph, source, axis, 0, start))
    return graph.concat(parts, axis)


def _window(graph: Graph, roll: Roll, source: Value, first: int, last: int) -> Value:
    """The roll as a view of the source from position `first`, which may be before its beginning,
    to the end of the roll that starts `last`."""
    axis, n = roll.axis, source.shape[roll.axis]
    parts, at = [], first
    while at < n + last:
        length = min(n - at % n, n + last - at)
        parts.append(_part(graph, source, axis, at % n, length))
        at += length
    at = _nearest(roll.start, n) - first
    return _part(graph, graph.concat(parts, axis), axis, at, n)
