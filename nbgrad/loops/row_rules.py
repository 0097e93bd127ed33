"""Ops whose code has no derivative in loops, those of LAPACK, with the rules of their rows.

The result of such an op counts as a constant, as that of a function with a `custom_rule` does: its
derivatives are the pullback and the pushforward of the row, which are recorded.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..compiler.front.calls import not_read, record_arrays
from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.values import Array, Number, Value
from ..compiler.front.views import flattened_array
from ..core.primitive import Primitive, Unplanned
from .array_rules import link
from .given import Given

__all__ = ["RowRule", "link_row", "linked", "rule_of_row"]


class _Recorded:
    """A function that is recorded where it is called."""

    def __init__(self, name: str, function: Callable, results: Sequence[int], infer: Callable):
        self.__name__, self._function = name, function
        self.results, self.infer = results, infer  # see `Given`

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)


class RowRule:
    """The rule of a row for some parameters, as that of a `custom_rule`."""

    def __init__(self, primitive: Any, params: tuple):
        self._name, self._params = primitive.name, params
        options = dict(params)
        infer = partial(primitive.infer, **options)
        self.pullback = _Recorded(
            f"the pullback of {primitive.name}",
            lambda ct, out, x: primitive.pullback(ct, out, [x], [True], **options)[0],
            (0, 1),
            infer,
        )
        self.pushforward = _Recorded(
            f"the pushforward of {primitive.name}",
            lambda tangents, out, x: primitive.pushforward(list(tangents), out, [x], **options),
            (1,),
            infer,
        )

    def __repr__(self) -> str:
        return f"{self._name} {self._params}"


@lru_cache(256)
def rule_of_row(primitive: Any, params: tuple) -> RowRule:
    return RowRule(primitive, params)


class _Linked(Primitive):
    """The first argument, which an op has computed from the second one as a constant, with the
    derivative of the op."""

    registered = False

    def infer(self, *avals, **params):
        return avals[0]

    def evaluate(self, *args, **params):
        return np.array(args[0])

    def form(self, graph, symbol, out, x):
        return graph.call(symbol.shape, symbol.dtype, (out, x), symbol.params["rule"], ())


linked = _Linked("linked_row")
linked.plans = Unplanned()


def link_row(
    emit: FunctionBuilder, rule: RowRule, out: tuple[Array, Sequence[Number]],
    x: tuple[Array, Sequence[Number]],
) -> Array:  # fmt: skip
    """The result of an op with the derivative of the row, for arrays and their shapes."""
    (y, y_shape), (source, x_shape) = out, x
    arrays = [
        Array(flattened_array(emit, array).place, tuple(shape))
        for array, shape in ((y, y_shape), (source, x_shape))
    ]
    return link(emit, rule, {}, (arrays[1],), arrays[0])


def _row(function: Any, operands: Sequence[Value], named: Mapping[str, Value]) -> Callable | None:
    return _called if isinstance(function, _Recorded) else None


@not_read
def _called(
    emit: FunctionBuilder, function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    # Here, as the stages of the static tier load with the first program.
    from .variant_calls import chosen
    from .variants import variants_of

    given = Given(emit, operands, named, results=function.results, infer=function.infer)
    return chosen(emit, variants_of(function, given, function), given)


record_arrays(_row)
