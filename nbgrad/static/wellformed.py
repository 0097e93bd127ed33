"""Whether the values of a lowered program fit together: for tests of what makes them."""

import math
from collections.abc import Sequence

import numpy as np

from ..errors import TraceError
from .values import Value, below_of, places_of, topological


def check_values(outputs: Sequence[Value]) -> None:
    """Raise TraceError for a value whose shape or dtype is not what its op makes of its arguments.

    >>> from nbgrad.static.ir import Graph
    >>> graph = Graph()
    >>> from nbgrad.static.wellformed import check_values
    >>> check_values([graph.reduce("sum", graph.input((2, 3), float), (0,))])
    """
    for value in topological(outputs):
        rule = _RULES.get(value.op)
        if rule is not None and not rule(value, *value.args):
            given = ", ".join(map(repr, value.args))
            raise TraceError(f"{value} of ({given}) with {value.data}: they do not fit together")


def _full(value: Value) -> bool:
    return isinstance(value.data, str)


def _map(value: Value, *args: Value) -> bool:
    return np.broadcast_shapes(value.shape, *(a.shape for a in args)) == value.shape


def _view(value: Value, source: Value) -> bool:
    if len(value.data) != len(source.shape) or value.dtype != source.dtype:
        return False
    for (out, start, step), n in zip(value.data, source.shape, strict=True):
        last = start if out is None else start + step * (value.shape[out] - 1)
        if value.size and not (0 <= start < n and 0 <= last < n):
            return False
    return True


def _reshape(value: Value, source: Value) -> bool:
    return value.size == source.size and value.dtype == source.dtype


def _placed(value: Value, block: Value) -> bool:
    ends = zip(value.data, block.shape, value.shape, strict=True)
    return value.dtype == block.dtype and all(0 <= s and s + n <= m for s, n, m in ends)


def _inset(value: Value, below: Value, block: Value) -> bool:
    return (below.shape, below.dtype) == (value.shape, value.dtype) and _placed(value, block)


def _concat(value: Value, *args: Value) -> bool:
    total = sum(a.shape[value.data] for a in args)
    return total == value.shape[value.data] and all(a.dtype == value.dtype for a in args)


def _take(value: Value, source: Value, *arrays: Value) -> bool:
    axes, place, joint = value.data
    lies = all(a.shape == value.shape[place : place + joint] for a in arrays)
    return lies and len(axes) == len(source.shape) and value.dtype == source.dtype


def _scatter(value: Value, block: Value, *rest: Value) -> bool:
    axes, place, joint, _ = value.data
    below = below_of(value)
    lies = all(a.shape == block.shape[place : place + joint] for a in places_of(value))
    same = below is None or (below.shape, below.dtype) == (value.shape, value.dtype)
    return lies and same and len(axes) == len(value.shape) and value.dtype == block.dtype


def _reduce(value: Value, source: Value) -> bool:
    _, gone = value.data
    kept = tuple(n for i, n in enumerate(source.shape) if i not in gone)
    return value.shape == kept and value.dtype == source.dtype


def _matmul(value: Value, a: Value, b: Value) -> bool:
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    fits = a.shape[-1] == b.shape[-2] and a.dtype == b.dtype == value.dtype
    return fits and value.shape == (*lead, a.shape[-2], b.shape[-1]) and math.prod(value.shape) > 0


_RULES = {
    "full": _full, "map": _map, "view": _view, "reshape": _reshape, "pad": _placed,
    "inset": _inset, "concat": _concat, "take": _take, "scatter": _scatter, "reduce": _reduce,
    "matmul": _matmul,
}  # fmt: skip
