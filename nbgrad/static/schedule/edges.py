"""The positions at which loops over a value are split: the edges of blocks inside of an array.

Zeros around a block, and arrays one after another, are computed by other code on each side of an
edge. A branch inside of a loop would keep it from vectorising, so the loop is split there.
"""

import math
from collections.abc import Iterable

from ...ir.sizes import require_least
from ..lower.buffered import Reduce, Scatter
from ..lower.values import Concat, Map, Pad, Take, Value, View

Edges = dict[int, frozenset[int]]
"""For axes of a value: the positions, inside of it, at which a new piece begins."""
NONE: Edges = {}


def pieces(edges: Edges) -> int:
    """The boxes that they cut an array into."""
    return math.prod(len(positions) + 1 for positions in edges.values())


def join_edges(every: Iterable[Edges]) -> Edges:
    """The edges of several values over one domain."""
    union: Edges = {}
    for edges in every:
        for axis, positions in edges.items():
            union[axis] = union.get(axis, frozenset()) | positions
    return union


def domain_edges(value: Value, known: dict[Value, Edges]) -> Edges:
    """The edges in the domain that computing `value` runs over; `known` are those of what is
    computed where it is read."""
    if isinstance(value, (Reduce, Scatter)):
        edges = known.get(value.args[0], NONE)
        if isinstance(value, Scatter):
            for positions in value.positions:
                moved = {axis + value.place: at
                         for axis, at in known.get(positions, NONE).items()}  # fmt: skip
                edges = join_edges([edges, moved])
        return edges
    return inner_edges(value, known)


def inner_edges(value: Value, known: dict[Value, Edges]) -> Edges:
    """The edges of a value that is computed where it is read."""
    if isinstance(value, Map):
        return join_edges(_of_broadcast(arg, value, known.get(arg, NONE)) for arg in value.args)
    if isinstance(value, View):
        return _seen(value, known.get(value.source, NONE))
    if isinstance(value, Pad):
        around = known.get(value.args[0], NONE) if len(value.args) > 1 else NONE
        return join_edges([around, _placed(value, known.get(value.block, NONE))])
    if isinstance(value, Concat):
        return _one_after_another(value, known)
    if isinstance(value, Take):
        # Positions run along the axes that they have in the result; its source has a buffer.
        return join_edges(
            {axis + value.place: at for axis, at in known.get(arg, NONE).items()}
            for arg in value.positions
        )
    return NONE


def _inside(positions: Iterable[int], n: int) -> frozenset[int]:
    """Those inside of n elements; the loops that are split there say that they are in order."""
    kept = []
    for at in positions:
        if 0 < at < n:
            kept.append(at)
        else:
            require_least(*((0, at) if at <= 0 else (at, n)))
    return frozenset(kept)


def _clean(edges: dict[int, frozenset[int]]) -> Edges:
    return {axis: positions for axis, positions in edges.items() if positions}


def _of_broadcast(arg: Value, value: Value, edges: Edges) -> Edges:
    lost = len(value.shape) - len(arg.shape)
    return {axis + lost: positions for axis, positions in edges.items() if arg.shape[axis] != 1}


def _seen(view: View, edges: Edges) -> Edges:
    result: Edges = {}
    for axis, positions in edges.items():
        out, start, step = view.axes[axis]
        if out is None or not step:
            continue
        # The first place from which on `start + step * i` lies on the other side.
        if step > 0:
            at = _inside((-((start - p) // step) for p in positions), view.shape[out])
        else:
            at = _inside(((start - p) // -step + 1 for p in positions), view.shape[out])
        result[out] = result.get(out, frozenset()) | at
    return _clean(result)


def _placed(value: Pad, edges: Edges) -> Edges:
    result: Edges = {}
    for axis, (start, n) in enumerate(zip(value.starts, value.block.shape, strict=True)):
        inner = (start + at for at in edges.get(axis, ()))
        result[axis] = _inside([start, start + n, *inner], value.shape[axis])
    return _clean(result)


def _one_after_another(value: Concat, known: dict[Value, Edges]) -> Edges:
    every, start = [], 0
    for arg in value.args:
        n = arg.shape[value.axis]
        edges = known.get(arg, NONE)
        moved = {axis: at for axis, at in edges.items() if axis != value.axis}
        inner = (start + at for at in edges.get(value.axis, ()))
        moved[value.axis] = _inside([start, start + n, *inner], value.shape[value.axis])
        every.append(moved)
        start += n
    return _clean(join_edges(every))
