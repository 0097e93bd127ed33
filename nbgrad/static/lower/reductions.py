"""Reductions in a lowered program: rewritten until the axes that go come first or last."""

import math
from typing import TYPE_CHECKING

from ...errors import EmptyError
from ...ir.affine import Axis
from ...ir.reductions import MAXIMUM, MINIMUM, SUM, Reduction
from .algebra import MINUS, NEGATIVE, PLUS, TIMES
from .buffered import Matmul, Reduce
from .products import summed_products
from .values import Full, Value, View, is_map

if TYPE_CHECKING:
    from .graph import Graph


def reduction(graph: "Graph", kind: Reduction, value: Value, axes: tuple[int, ...]) -> Value:
    """The reduction over `axes`, which go. Raises ValueError for the largest or least of
    nothing."""
    if not math.prod(value.shape[i] for i in axes):
        return _of_nothing(graph, kind, value, axes)
    value, axes = _without_single(graph, value, axes)
    if not axes:
        return _of_one(graph, value) if kind is SUM else value
    shape = tuple(n for i, n in enumerate(value.shape) if i not in axes)
    if kind is SUM:
        simpler = _simpler_sum(graph, value, axes, shape)
        if simpler is not None:
            return simpler
    if isinstance(value, Full) and kind in (MAXIMUM, MINIMUM):
        return graph.full(value.number, shape, value.dtype)
    n = len(value.shape)
    if axes != tuple(range(len(axes))) and axes != tuple(range(n - len(axes), n)):
        rest = tuple(i for i in range(n) if i not in axes)
        value = graph.transpose(value, (*rest, *axes))
        axes = tuple(range(len(rest), n))
    return graph.new(Reduce, shape, value.dtype, (value,), kind, axes)


def _without_single(
    graph: "Graph", value: Value, axes: tuple[int, ...]
) -> tuple[Value, tuple[int, ...]]:
    """The value without those of the axes that have one position, and the others of them."""
    single = {i for i in axes if value.shape[i] == 1}
    if not single:
        return value, tuple(sorted(axes))
    rest = [i for i in range(len(value.shape)) if i not in single]
    places = {i: k for k, i in enumerate(rest)}
    index = [
        Axis(None, 0, 0) if i in single else Axis(places[i], 0, 1) for i in range(len(value.shape))
    ]
    view = graph.view(value, index, tuple(value.shape[i] for i in rest))
    return view, tuple(places[i] for i in sorted(axes) if i not in single)


def _of_one(graph: "Graph", value: Value) -> Value:
    """The sum of one term each, which is never -0.0."""
    return graph.map(PLUS, (value, graph.full(0, (), value.dtype)), value.dtype)


def _of_nothing(graph: "Graph", kind: Reduction, value: Value, axes: tuple[int, ...]) -> Value:
    shape = tuple(n for i, n in enumerate(value.shape) if i not in axes)
    if kind in (MAXIMUM, MINIMUM):
        if math.prod(shape):
            raise EmptyError(f"{kind.name}: an array of shape {value.shape} is empty")
        return graph.full(0, shape, value.dtype)
    return graph.full(kind.neutral(value.dtype), shape, value.dtype)


def _simpler_sum(
    graph: "Graph", value: Value, axes: tuple[int, ...], shape: tuple[int, ...]
) -> Value | None:
    """The sum without adding up equal numbers, and with a sign outside of it. Other factors stay
    inside: the sum of 1e308 and 1e308 is inf, of both by 1e-10 it is not."""
    dtype = value.dtype
    if isinstance(value, Full):
        total = value.number * math.prod(value.shape[i] for i in axes)
        return graph.full(total + 0, shape, dtype)  # sums of -0.0 are 0.0
    if is_map(value, NEGATIVE) and value.args[0].shape == value.shape:
        terms = graph.full(0.0, shape, dtype), graph.reduce(SUM, value.args[0], axes)
        return graph.map(MINUS, terms, dtype, shape)
    if isinstance(value, Matmul):
        return summed_products(graph, value, axes)
    if not isinstance(value, View):
        return None
    used = {axis.out for axis in value.axes}
    equal = [i for i in axes if i not in used]  # axes along which all elements are equal
    if not equal:
        return None
    rest = [i for i in range(len(value.shape)) if i not in equal]
    places = {i: k for k, i in enumerate(rest)}
    index = [
        axis if axis.out is None else Axis(places[axis.out], axis.start, axis.step)
        for axis in value.axes
    ]
    one = graph.view(value.source, index, tuple(value.shape[i] for i in rest))
    total = graph.reduce(SUM, one, [places[i] for i in axes if i not in equal])
    factor = graph.full(float(math.prod(value.shape[i] for i in equal)), (), dtype)
    return _of_one(graph, graph.map(TIMES, (factor, total), dtype, shape))


__all__ = ["reduction"]
