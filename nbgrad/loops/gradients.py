"""The value of a call and its gradient, by one kernel."""

from collections.abc import Callable, Iterator, Sequence
from inspect import CO_VARARGS
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import bind, shape_of
from ..transforms import trees
from .call import arguments, converted, require_apart
from .calls import Bound
from .complex_values import instance_of
from .packed import derivative
from .primitive import derived, parts_of
from .signature import Signature

__all__ = ["value_and_gradients"]


def value_and_gradients(
    f: Callable, args: tuple, positions: tuple[int, ...], options: dict[str, Any]
) -> tuple[Any, tuple] | None:
    """The value of `f(*args, **options)` and its gradients with respect to the arguments at these
    positions; None if f returns anything but one float, or an argument holds no float."""
    bound = Bound(f, args, options)
    signature = bound.signature
    plan = signature.gradients.get(positions)
    if plan is None:
        plan = signature.gradients[positions] = _Plan(signature, positions)
    return plan(bound) if plan.fits else None


class _Plan:
    """The kernel of the gradients with respect to arguments at some positions. `fits` says whether
    there is one."""

    def __init__(self, signature: Signature, positions: tuple[int, ...]):
        self._signature, result = signature, signature.entry.result
        kinds = signature.kinds
        if signature.function.__code__.co_flags & CO_VARARGS:  # the last parameter is a tuple
            kinds = (*kinds[:-1], *kinds[-1])
        groups = [_leaves_of(kinds, position) for position in positions]
        floats = [[i for i in group if signature.leaves[i].is_float] for group in groups]
        self.fits = isinstance(result, np.dtype) and result.kind == "f" and all(floats)
        if not self.fits:
            return
        self._wrt = tuple(sorted({i for group in floats for i in group}))
        self._of = self._of_plain = derivative(signature, (), self._wrt, is_seeded=True)
        kinds_of_floats = {signature.leaves[i].dtype for i in self._wrt}
        if self._of.dtype == np.float64 and kinds_of_floats == {np.dtype(np.float32)}:
            self._of_plain = self._of.changed(is_narrow=True)
        self._groups = [
            (kinds[position], group) for position, group in zip(positions, groups, strict=True)
        ]
        self._dtypes = [signature.leaves[i].dtype for i in self._wrt]
        self._result: Any = result

    def __call__(self, bound: Bound) -> tuple[Any, tuple]:
        signature = self._signature
        if signature.written:
            require_apart(signature, bound.leaves)
        leaves: Sequence = bound.leaves
        shapes = [shape_of(x) for x in leaves]
        if any(isinstance(x, Array) for x in leaves):
            of = self._of
            vector = bind(derived, *arguments(bound), of=of)
        else:
            of = self._of_plain
            vector = derived.evaluate(*leaves, of=of)
        *found, value = parts_of(of, vector, shapes)
        found = [converted(x, kind) for x, kind in zip(found, self._dtypes, strict=True)]
        bars = dict(zip(self._wrt, map(trees.scalar, found), strict=True))
        gradients = tuple([
            bars[group[0]] if not isinstance(kind, tuple)
            else _nested(kind, iter([bars.get(i) for i in group]))
            for kind, group in self._groups
        ])  # fmt: skip
        return trees.scalar(converted(value, self._result)), gradients


def _leaves_of(kinds: Sequence, position: int) -> list[int]:
    """The leaves of the argument at a position."""
    counts = [_count(kind) for kind in kinds]
    start = sum(counts[:position])
    return list(range(start, start + counts[position]))


def _count(kind: Any) -> int:
    if isinstance(kind, tuple):
        return sum(map(_count, kind))
    return 0 if hasattr(kind, "value") else 1


def _nested(kind: Any, bars: Iterator[Any]) -> Any:
    if isinstance(kind, tuple):
        return instance_of(kind, [_nested(each, bars) for each in kind])
    return None if hasattr(kind, "value") else next(bars)
