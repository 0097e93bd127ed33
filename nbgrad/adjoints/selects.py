"""Branches that only choose between values, as selects: neither sweep then has to jump.

The sides of such a branch set the same variables and elements. The values are computed outside, or
are sums and differences: a side that did not run has a cotangent of 0, from which nothing but 0
follows.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..ir.scalar import Apply
from ..ir.statements import Assign, If, Load, Operand, PointTo, Store
from ..ir.walk import walk, with_inner
from .build import COPY, copy, operation

__all__ = ["selected"]

_CHEAP = {"add", "subtract", "negative", "select", "and", "or", "xor", "invert"}
_CHEAP |= {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
_MOST = 6  # operations that a side may have

Place = tuple[Any, Any]


def selected(
    body: Sequence[Any], variables: Collection[str], dtype_of: Callable[[Operand], np.dtype],
    new: Callable[[str, np.dtype], str],
) -> list[Any]:  # fmt: skip
    """The statements with selects for branches."""
    made = _Selects(variables, dtype_of, new)
    made.is_apart = not any(isinstance(each, PointTo) for each in walk(body))
    return made.body(body)


class _Selects:
    is_apart = False  # whether buffers do not overlap

    def __init__(self, variables: Collection[str], dtype_of: Callable, new: Callable):
        self._variables, self._dtype_of, self._new = variables, dtype_of, new

    def body(self, statements: Sequence[Any]) -> list[Any]:
        made: list[Any] = []
        for each in statements:
            each = with_inner(each, lambda body: tuple(self.body(body)))
            if isinstance(each, If):
                found = self._select(each, made)
                made += [each] if found is None else found
            else:
                made.append(each)
        return made

    def _select(self, each: If, before: Sequence[Any]) -> list[Any] | None:
        """The statements that do the same as a branch."""
        if (side := self._side(each.then)) is None:
            return None
        then, ours = side
        if (side := self._side(each.otherwise)) is None:
            return None
        otherwise, theirs = side
        if len({buffer for buffer, _ in (*ours, *theirs)}) < len({*ours, *theirs}):
            return None
        made = [*then, *otherwise]
        ends: list[Any] = []
        for place in dict.fromkeys([*ours, *theirs]):
            store = ours.get(place) or theirs[place]
            values: list[Any] = [
                side[place].value if place in side else self._old(place, before)
                for side in (ours, theirs)
            ]
            if any(x is None or self._dtype_of(x) != store.dtype for x in values):
                return None
            name = self._new("chosen", store.dtype)
            made.append(operation(name, "select", (each.condition, *values), store.dtype))
            ends.append(replace(store, value=name))
        variables: dict[str, Assign] = {}
        for side in (then, otherwise):
            for one in side:
                if one.target in self._variables:
                    variables[one.target] = one
        made = [x for x in made if x.target not in self._variables]
        for name, one in variables.items():
            values = [self._last(name, side) for side in (then, otherwise)]
            if None in values:
                old = self._new(name, one.dtype)
                made.insert(0, copy(old, name, one.dtype))
                values = [old if x is None else x for x in values]
            value = self._new("chosen", one.dtype)
            made.append(operation(value, "select", (each.condition, *values), one.dtype))
            ends.append(copy(name, value, one.dtype))
        return [*made, *ends]

    def _side(self, statements: Sequence[Any]) -> tuple[list[Assign], dict[Place, Store]] | None:
        """The values and the stores of a side; None if it is more than that."""
        values: list[Assign] = []
        stores: dict[Place, Store] = {}
        price = 0
        for each in statements:
            if isinstance(each, Store) and each.kind is None:
                stores[each.buffer, each.at] = each
            elif isinstance(each, Assign) and self._is_cheap(each):
                price += each.body.price
                values.append(each)
            else:
                return None
        alone = len({buffer for buffer, _ in stores}) == len(stores)
        count = sum(isinstance(each, Store) for each in statements)
        return (values, stores) if price <= _MOST and alone and count == len(stores) else None

    def _is_cheap(self, each: Assign) -> bool:
        if each.body is COPY:
            return self._dtype_of(each.operands[0]) == each.dtype
        return isinstance(each.body, Apply) and each.body.function.name in _CHEAP

    def _old(self, place: Place, before: Sequence[Any]) -> Any:
        """The element at a place in front of a branch, if that was loaded."""
        for each in reversed(before if self.is_apart else ()):
            if isinstance(each, Load) and (each.buffer, each.at) == place:
                return each.target
            if any((isinstance(x, Store) and x.buffer == place[0]) or getattr(x, "pointers", ())
                   for x in walk([each])):  # fmt: skip
                return None
        return None

    def _last(self, name: str, side: Sequence[Assign]) -> Any:
        """The value that a side gives a variable."""
        return next((x.operands[0] for x in reversed(side) if x.target == name), None)
