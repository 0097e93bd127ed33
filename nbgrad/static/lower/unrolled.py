"""Writes of a loop that is unrolled in Python: many rows of one array, one after another.

A few of them are pieces of the loops over the array. Many would go over it again for each, most of
all in the gradient, where what they overwrite gets nothing. So from some on they are a chain, as in
the steps of a loop: the array is copied once, and each write goes over what it writes.
"""

from collections.abc import Sequence

from ...ir.sizes import is_dynamic
from .algebra import PLUS
from .buffered import Held, Scatter
from .chains import block_below, block_over, chain_of, is_small_block, replaced, written_over
from .graph import Graph
from .reads import held, with_copies
from .values import Pad, Value, is_map, topological

# So many writes to one array are pieces of loops. The gradient of 8 rows of a 400 x 400 array takes
# 0.85 ms as pieces and 0.25 as a chain, that of 32 takes 25 ms and 0.28.
FEW = 4
# Between two writes, other values may read parts that are so many times smaller than the array;
# these are copied.
_PART = 8


def with_unrolled_writes(graph: Graph, outputs: Sequence[Value]) -> list[Value]:
    """The outputs, with many writes to one array as a chain, which the graph notes."""
    values = [*outputs, *(ok for ok, _ in graph.checks)]
    made = _made(graph, values)
    if not made:
        return list(outputs)
    values = replaced(values, made)
    roots = _roots(values)
    values = with_copies(values, [chain_of(head, root) for head, root in roots.items()])
    graph.chains = _roots(values)
    oks = zip(values[len(outputs) :], graph.checks, strict=True)
    graph.checks = [(ok, message) for ok, (_, message) in oks]
    return values[: len(outputs)]


def _made(graph: Graph, values: Sequence[Value]) -> dict[Value, Value]:
    """The values that are part of chains, each with a write over what it was made of."""
    order = topological(values)
    below = {value: base for value in order if (base := _below(value)) is not None}
    if sum(not is_map(value, PLUS) for value in below) <= FEW:
        return {}
    readers: dict[Value, list[Value]] = {}
    for value in order:
        for arg in dict.fromkeys(value.args):
            readers.setdefault(arg, []).append(value)
    results, made = {*values}, dict[Value, Value]()
    seen: set[Value] = set()
    for head in reversed(order):
        path: list[Value] = []
        value = head
        while value in below and value not in seen:
            path.append(value)
            seen.add(value)
            base = below[value]
            others = [reader for reader in readers[base] if reader is not value]
            if base in results or any(other.size * _PART > base.size for other in others):
                break
            value = base
        if sum(not is_map(value, PLUS) for value in path) <= FEW:
            continue
        total: Value = held(below[path[-1]])
        for value in reversed(path):
            made[value] = total = _over(graph, value, total)
    return made


def _below(value: Value) -> Value | None:
    """The value that this one is written over, or added to at an index."""
    if is_dynamic(value.size):
        return None
    if isinstance(value, Scatter) and not value.adds:
        return value.below
    if not is_map(value, PLUS) or any(arg.shape != value.shape for arg in value.args):
        return block_below(value)
    main = [arg for arg in value.args if not _is_added(arg)]
    return main[0] if len(main) == 1 and main[0].dtype == value.dtype else None


def _is_added(value: Value) -> bool:
    return is_small_block(value) or (isinstance(value, Scatter) and value.below is None)


def _over(graph: Graph, value: Value, total: Value) -> Value:
    if not is_map(value, PLUS):
        return written_over(graph, value, total)
    (added,) = [arg for arg in value.args if _is_added(arg)]
    if isinstance(added, Pad):
        return block_over(graph, added, total, True)
    assert isinstance(added, Scatter)
    fields = added.axes, added.place, added.joint, added.adds
    return graph.new(Scatter, added.shape, added.dtype, (*added.args, total), *fields)


def _roots(values: Sequence[Value]) -> dict[Value, Value]:
    """For the last write of each chain, the copy that it begins with."""
    order = topological(values)
    over = {value.args[-1] for value in order if _is_over(value)}
    roots: dict[Value, Value] = {}
    for head in order:
        if _is_over(head) and head not in over:
            root = head
            while _is_over(root):
                root = root.args[-1]
            if isinstance(root, Held):
                roots[head] = root
    return roots


def _is_over(value: Value) -> bool:
    return isinstance(value, Scatter) and value.below is not None
