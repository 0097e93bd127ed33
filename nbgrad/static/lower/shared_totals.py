"""Totals of blocks, made in the loop that puts such blocks in zeros.

A function of neighbours, `np.sum((x[1:] - x[:-1]) ** 2)`, adds up fewer elements than `x` has; its
gradient puts blocks of that shape in zeros of the shape of `x`. The sum of a block is that of the
block in zeros, so both can run over `x`, in one loop that loads and computes once what both read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...ir.reductions import SUM
from .buffered import Reduce
from .graph import Graph
from .values import Full, Inset, Map, Pad, Value, View, topological

# The most values that the search for equal terms looks at.
SEARCHED = 64


def with_totals_of_blocks(graph: Graph, outputs: Sequence[Value]) -> list[Value]:
    """The outputs, with sums of everything taken over zeros around it too, where a block that reads
    the same lies in these."""
    order = topological(outputs)
    pads: dict[tuple[int, ...], list[Pad]] = {}
    for value in order:
        if isinstance(value, Pad) and not isinstance(value, Inset):
            pads.setdefault(value.block.shape, []).append(value)
    beside = {value: pad for value in order if (pad := _beside(value, pads)) is not None}
    if not beside:
        return list(outputs)
    memo: dict[Value, Value] = {}
    for value in order:
        args = tuple(memo[arg] for arg in value.args)
        pad = beside.get(value)
        if pad is not None:
            args = (graph.pad(args[0], pad.starts, pad.shape),)
        memo[value] = value if args == value.args else replace(value, args=args)
    return [memo[value] for value in outputs]


def _beside(value: Value, pads: dict[tuple[int, ...], list[Pad]]) -> Pad | None:
    """The block in zeros that reads most of what a total does, where there is one."""
    if not isinstance(value, Reduce) or not value.is_total or value.kind is not SUM:
        return None
    found = pads.get(value.source.shape, ())
    read = set(_read(value.source)) if found else set()
    shared = {pad: len(read.intersection(_read(pad.block))) for pad in found}
    best = max(shared, key=lambda pad: shared[pad], default=None)
    return best if best is not None and shared[best] else None


def _read(value: Value) -> Iterator[Value]:
    """Elements at the same place that an element is computed from."""
    stack, seen = [value], {value}
    while stack and len(seen) < SEARCHED:
        one = stack.pop()
        if one.shape == value.shape and not isinstance(one, Full):
            yield one
        if isinstance(one, (Map, View)):
            new = [arg for arg in one.args if arg not in seen]
            stack += new
            seen.update(new)
