"""A recorded call as statements: the variants of its program, chosen by the lengths of arrays."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..compiler.front.arrays import assign, fresh, in_memory, lazy, require
from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.syntax import Unsupported
from ..compiler.front.transforms import Parts, joined
from ..compiler.front.values import (
    BOOL,
    COMPLEX,
    COMPLEX_SINGLE,
    INT,
    SINGLE,
    Array,
    Complex,
    Known,
    Number,
    Value,
    named_tuple,
    planes,
)
from ..errors import coded
from ..ir.statements import If, Raise
from ..static.lower.values import Full
from .given import Given, RealImag
from .lowered import Writer
from .variants import Variant, told

__all__ = ["chosen"]


def chosen(emit: FunctionBuilder, variants: Sequence[Variant], given: Given) -> Value:
    """The result of the first variant that holds for the lengths of a call."""
    if any(variants[0].views):
        variants = variants[:1]  # one of several copies its results
    conditions = [_holds(emit, each, given) for each in variants]
    if None in conditions:  # one that always holds is the last
        variants = variants[: conditions.index(None) + 1]
    if len(variants) == 1:
        only, holds = variants[0], conditions[0]
        if holds is not None:
            require(emit, holds, _of_others(variants))
        return _tree(emit, only.program.rebuild([_Leaf(x) for x in _written(emit, only, given)]))
    ranks = {tuple((len(x.shape), x.dtype) for x in each.outputs) for each in variants}
    if len(ranks) > 1:
        raise Unsupported(_of_others(variants))
    first = variants[0]
    shapes = [
        [Writer(emit, {}, _sizes(emit, each, given), ()).shape(x.shape) for x in each.outputs]
        for each in variants
    ]
    results = [_room(emit, x.dtype, [of[i] for of in shapes], conditions)
               for i, x in enumerate(first.outputs)]  # fmt: skip
    otherwise: list[Any] = [Raise("ValueError", _of_others(variants))]
    for each, holds in reversed(list(zip(variants, conditions, strict=False))):
        with emit.block() as body:
            for result, found in zip(results, _written(emit, each, given), strict=True):
                if isinstance(result, Array):
                    assign(emit, result, found)
                else:
                    emit.accumulate(result, found)
        otherwise = body if holds is None else [If(holds.operand, tuple(body), tuple(otherwise))]
    emit.body += otherwise
    return _tree(emit, first.program.rebuild([_Leaf(emit.settled(x)) for x in results]))


def _room(
    emit: FunctionBuilder, dtype: np.dtype, shapes: Sequence[Sequence[Number]],
    conditions: "Sequence[Number | None]",
) -> Any:  # fmt: skip
    """Room for a result that has one of several shapes."""
    if not shapes[0]:
        return emit.accumulator(Known(0), dtype)
    *others, lengths = shapes
    for shape, holds in reversed(list(zip(others, conditions, strict=False))):
        assert holds is not None
        lengths = [
            Number(emit.applied("select", [holds, x, y], INT).operand, INT, True)
            for x, y in zip(shape, lengths, strict=True)
        ]
    return fresh(emit, lengths, dtype)


def _of_others(variants: Sequence[Variant]) -> str:
    name = variants[0].program.name
    lengths = " or ".join(map(told, variants))
    return coded(f"{name} of arrays of such lengths: {lengths} is needed", "NB-SIZES")


def _sizes(emit: FunctionBuilder, variant: Variant, given: Given) -> dict[str, Number]:
    pairs = zip(variant.names, variant.groups, strict=False)
    return {name: emit.cast(given.sizes[group[0]], INT) for name, group in pairs}


def _holds(emit: FunctionBuilder, variant: Variant, given: Given) -> "Number | None":
    """Whether a variant is one for the lengths of a call; None for all."""
    sizes = _sizes(emit, variant, given)
    found: list[Value] = [
        emit.operation(operator.eq, sizes[name], emit.cast(given.sizes[other], INT))
        for name, group in zip(variant.names, variant.groups, strict=False) for other in group[1:]
    ]  # fmt: skip
    writer = Writer(emit, {}, sizes, ())
    found += [each.holds(sizes, writer.operation) for each in variant.conditions]
    if variant.least > 1:
        least = Known(variant.least)
        found += [emit.operation(operator.ge, n, least) for n in sizes.values()]
    found = [x for x in found if not (isinstance(x, Known) and x.value)]
    if not found:
        return None
    total, *others = (emit.truth(x) for x in found)
    for x in others:
        total = emit.truth(emit.operation(operator.and_, total, x))
    return total


def _written(emit: FunctionBuilder, variant: Variant, given: Given) -> list[Value]:
    """The results of a variant."""
    graph, outputs = variant.graph, variant.outputs
    count = len(given.leaves)
    known = dict(zip(graph.inputs[:count], given.leaves, strict=True))
    sizes = _sizes(emit, variant, given)
    writer = Writer(emit, known, sizes, [*outputs, *(ok for ok, _ in graph.checks)])
    for value, array in zip(graph.inputs[count:], graph.captured, strict=True):
        writer.give(value, array)
    for ok, (error, message) in graph.checks:
        home, name = error.__module__, error.__qualname__
        label = name if home == "builtins" else f"{home}.{name}"
        require(emit, writer.value(ok).element(()), message, label)
    found = [_result(emit, writer.value(x), x) for x in outputs]
    return [
        _as_view(emit, x, is_view, given) for x, is_view in zip(found, variant.views, strict=True)
    ]


def _as_view(emit: FunctionBuilder, found: Value, is_view: bool, given: Given) -> Value:
    """A result that shares memory with an argument where, and only where, it does in NumPy."""
    if not isinstance(found, Array):
        return found
    buffers = {x.place.buffer for x in given.leaves if isinstance(x, Array)}
    shares = found.place.buffer in buffers
    if is_view and not shares:
        raise Unsupported("a view that cannot be made: copy the array first")
    return in_memory(emit, lazy(emit, found)) if shares and not is_view else found


def _result(emit: FunctionBuilder, found: Any, output: Any) -> Value:
    if output.shape:
        return in_memory(emit, found)
    if isinstance(output, Full) and output.dtype == BOOL:  # such as `lower` of `cho_factor`
        return Known(bool(output.number))
    return emit.settled(lazy(emit, found).element(()))


@dataclass(frozen=True, eq=False)
class _Leaf:
    value: Value


def _complex(emit: FunctionBuilder, real: Array, imag: Array) -> Value:
    """The complex array of two parts; a view if they are, as one function made both of them."""
    dtype = COMPLEX_SINGLE if real.place.dtype == SINGLE else COMPLEX
    place = replace(real.place, dtype=dtype)
    if [x.buffer for x in planes(place)] == [real.place.buffer, imag.place.buffer]:
        return replace(real, place=place)
    return joined(emit, Parts(real, imag), None)


def _tree(emit: FunctionBuilder, result: Any) -> Value:
    """A result of values."""
    if isinstance(result, _Leaf):
        return result.value
    if isinstance(result, RealImag):
        real, imag = (_tree(emit, x) for x in result)
        if isinstance(real, Array) and isinstance(imag, Array):
            return _complex(emit, real, imag)
        return Complex((real, imag))
    if isinstance(result, (list, tuple)):
        parts = [_tree(emit, x) for x in result]
        return named_tuple(type(result))(parts) if hasattr(result, "_fields") else tuple(parts)
    return Known(result)
