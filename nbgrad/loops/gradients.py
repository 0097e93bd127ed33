"""The value of a call and its gradient, by one kernel."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.primitive import bind, shape_of
from ..transforms import trees
from .call import _in, arguments, require_apart
from .calls import Bound
from .packed import Derivative
from .primitive import derived, parts_of

__all__ = ["value_and_gradients"]


def value_and_gradients(
    f: Callable, args: tuple, positions: tuple[int, ...], options: dict[str, Any]
) -> tuple[Any, tuple] | None:
    """The value of `f(*args, **options)` and its gradients with respect to the arguments at these
    positions; None if f returns anything but one float, or an argument holds no float."""
    bound = Bound(f, args, options)
    signature = bound.signature
    result = signature.entry.result
    if not (isinstance(result, np.dtype) and result.kind == "f"):
        return None
    groups = [_leaves_of(bound, position) for position in positions]
    floats = [[i for i in group if signature.leaves[i].is_float] for group in groups]
    if not all(floats):
        return None
    require_apart(signature, bound.leaves)
    wrt = tuple(sorted({i for group in floats for i in group}))
    of = Derivative(signature, (), wrt, is_seeded=True)
    leaves = arguments(bound)
    vector = bind(derived, *leaves, of=of)
    *found, value = parts_of(of, vector, [shape_of(x) for x in leaves])
    bars = {i: _in(x, signature.leaves[i].dtype) for i, x in zip(wrt, found, strict=True)}
    kinds = signature.kinds
    gradients = tuple(
        _nested(kinds[position], iter([bars.get(i) for i in group]))
        for position, group in zip(positions, groups, strict=True)
    )
    return trees.scalar(_in(value, result)), gradients


def _leaves_of(bound: Bound, position: int) -> list[int]:
    """The leaves of the argument at a position."""
    counts = [_count(kind) for kind in bound.signature.kinds]
    start = sum(counts[:position])
    return list(range(start, start + counts[position]))


def _count(kind: Any) -> int:
    if isinstance(kind, tuple):
        return sum(map(_count, kind))
    return 0 if hasattr(kind, "value") else 1


def _nested(kind: Any, bars: Any) -> Any:
    if isinstance(kind, tuple):
        return tuple(_nested(each, bars) for each in kind)
    return None if hasattr(kind, "value") else next(bars)
