"""Adjoints of recurrences with the partial derivatives multiplied beforehand.

In the backward sweep of a recurrence, each iteration needs the cotangent that the previous one has
computed. If this cotangent passes through several operations, their latencies add up, and divisions
take longest. The adjoint is linear in the cotangent, so the partial derivatives of the operations
are multiplied first, which does not depend on it. One product with the cotangent remains.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..ir.reductions import SUM
from ..ir.scalar import Apply
from ..ir.statements import Accumulate, Assign, For, Literal, Load, Operand, Store
from ..ir.walk import inner
from .build import COPY, copy, literal, operation
from .sums import with_sums

__all__ = ["Preaccumulated", "preaccumulated"]

_CYCLES = {"add": 4, "subtract": 4, "multiply": 4, "divide": 14, "select": 1, "strong": 1}
_LEAST = 9  # cycles between the cotangents of two rounds: more than a product and a sum


class Preaccumulated(NamedTuple):
    """Statements that compute the partial derivatives, which read no cotangent, the adjoint, and
    the derivatives that it reads."""

    slopes: list[Any]
    adjoint: list[Any]
    read: list[str]


def preaccumulated(
    adjoint: Sequence[Any], bars: Container[str], new: Callable[[str, np.dtype], str],
    is_ahead: Callable[[Load, Store], bool],
) -> Preaccumulated | None:  # fmt: skip
    """The adjoint of a segment with partial derivatives that are multiplied beforehand; None where
    it reads several cotangents or is no recurrence, or where that is not faster. `bars` are
    cotangents that are variables; `is_ahead` says whether a round that follows backward may load
    what is stored."""
    if any(map(inner, adjoint)):
        return None
    made = _Linear(bars, new, is_ahead)
    try:
        for each in with_sums(For("", 0, 0, tuple(adjoint)), bars.__contains__).body:
            made.add(each)
        return made.result() if made.delay >= _LEAST else None
    except _NotLinear:
        return None


class _NotLinear(Exception):
    pass


class _Slope(NamedTuple):
    """The derivative of a value by the cotangent that is read, up to its sign; the cycles from one
    to the other; whether a cotangent of 0 gives 0, also where the derivative is infinite."""

    value: Operand
    is_minus: bool = False
    cycles: int = 0
    is_guarded: bool = False


class _Linear:
    delay = 0

    def __init__(
        self, bars: Container[str], new: Callable[[str, np.dtype], str],
        is_ahead: Callable[[Load, Store], bool],
    ):  # fmt: skip
        self._bars, self._new, self._is_ahead = bars, new, is_ahead
        self._slopes: dict[Any, _Slope] = {}
        self._before: list[Any] = []
        self._adjoint: list[Any] = []
        self._source: Any = None
        self._read: dict[str, None] = {}

    def result(self) -> Preaccumulated:
        """The slopes and the adjoint of the statements so far."""
        return Preaccumulated(self._before, self._adjoint, list(self._read))

    def add(self, each: Any) -> None:
        """Go through the next statement of an adjoint."""
        match each:
            case Load(target=target, dtype=dtype):
                self._start(each, target, dtype)
            case Assign(target=target, operands=(str(x),), dtype=dtype) if (
                each.body is COPY and x in self._bars
            ):
                self._start(each, target, dtype)
            case Assign(target=target, operands=(x,)) if target in self._bars:
                if each.body is not COPY:
                    raise _NotLinear
                is_own = target == getattr(self._source, "operands", (None,))[0]
                if not isinstance(x, Literal):
                    self._adjoint.append(copy(target, self._product(x, is_own), each.dtype))
                elif x.number == 0 and is_own:
                    self._adjoint.append(each)
                else:
                    raise _NotLinear
            case Accumulate(target=target, value=value, dtype=dtype):
                before, total = self._new("g", dtype), self._new("g", dtype)
                self._adjoint += [
                    copy(before, target, dtype),
                    operation(total, "add", (before, self._product(value, False)), dtype),
                    copy(target, total, dtype),
                ]
            case Store(kind=None, value=Literal(number=0)):
                self._adjoint.append(each)
            case Store(value=value, kind=kind) if kind is SUM:
                is_own = isinstance(self._source, Load) and each.buffer == self._source.buffer
                is_own = is_own and self._is_ahead(self._source, each)
                self._adjoint.append(replace(each, value=self._product(value, is_own)))
            case Assign():
                self._assign(each)
            case _:
                raise _NotLinear

    def _start(self, each: Any, target: str, dtype: np.dtype) -> None:
        if self._source is not None:
            raise _NotLinear
        self._source = each
        self._slopes[target] = _Slope(literal(1, dtype))
        self._adjoint.append(each)

    def _product(self, name: Operand, is_own: bool) -> Operand:
        """The cotangent times a slope. It delays the next round if it `is_own`, that is, if it is
        added to where the cotangent was read."""
        if name not in self._slopes:
            raise _NotLinear
        slope = self._slopes[name]
        if is_own:
            self.delay = max(self.delay, slope.cycles)
        found, dtype = self._source.target, self._source.dtype
        if slope.value != literal(1, dtype):
            found = self._times(found, slope, dtype)
        if slope.is_minus:
            product, found = found, self._new("g", dtype)
            self._adjoint.append(operation(found, "negative", (product,), dtype))
        return found

    def _times(self, g: str, slope: _Slope, dtype: np.dtype) -> str:
        product = self._new("g", dtype)
        self._adjoint.append(operation(product, "multiply", (g, slope.value), dtype))
        if isinstance(slope.value, Literal):
            return product
        self._read[slope.value] = None
        if not slope.is_guarded:
            return product
        kept = self._new("g", dtype)
        self._adjoint.append(operation(kept, "strong", (g, product), dtype))
        return kept

    def _assign(self, each: Assign) -> None:
        operands, name = each.operands, ""
        if isinstance(each.body, Apply):
            name = each.body.function.name
        if not any(x in self._slopes for x in operands):
            self._before.append(each)
            return
        if each.dtype != self._source.dtype:
            raise _NotLinear
        known = [self._slopes.get(x) for x in operands]
        values = tuple([x if s is None else s.value for x, s in zip(operands, known, strict=True)])
        minus = [x is not None and x.is_minus for x in known]
        zero = literal(0, each.dtype)
        match name, known:
            case "negative", [_Slope() as slope]:
                self._slopes[each.target] = slope._replace(is_minus=not slope.is_minus)
            case "add" | "subtract", [_Slope(), _Slope()]:
                is_sum = (name == "add") == (minus[0] == minus[1])
                self._define(each, "add" if is_sum else "subtract", values, known, minus[0])
            case "multiply", [_Slope(), None] | [None, _Slope()]:
                self._define(each, name, values, known, any(minus))
            case "divide", [_Slope(), None]:
                self._define(each, name, values, known, minus[0])
            case "select", [None, _Slope(), None] if operands[2] == zero:
                self._define(each, name, values, known, minus[1])
            case "select", [None, None, _Slope()] if operands[1] == zero:
                self._define(each, name, values, known, minus[2])
            case "strong", [_Slope(value=Literal(number=number)), _Slope() as slope] if number:
                self._slopes[each.target] = slope._replace(is_guarded=True)
            case "strong", [_Slope(), _Slope()]:
                self._define(each, name, values, known, minus[1], is_guard=True)
            case "strong", [None, _Slope()]:
                self._define(each, name, values, known, minus[1])
            case _:
                raise _NotLinear

    def _define(
        self, each: Assign, name: str, values: tuple, known: Sequence[_Slope | None],
        is_minus: bool, is_guard: bool = False,
    ) -> None:  # fmt: skip
        """The slope of the value that a statement computes from values with slopes."""
        cycles = max(x.cycles for x in known if x is not None) + _CYCLES[name]
        value = _folded(name, values, each.dtype)
        if value is None:
            value = self._new("slope", each.dtype)
            self._before.append(operation(value, name, values, each.dtype, each.inner))
        guarded = is_guard or any(x.is_guarded for x in known if x is not None)
        self._slopes[each.target] = _Slope(value, is_minus, cycles, guarded)


def _folded(name: str, values: tuple, dtype: np.dtype) -> Operand | None:
    """The value of an operation with a 1 or with two numbers; None for others."""
    one = literal(1, dtype)
    if name == "multiply" and one in values:
        return values[1] if values[0] == one else values[0]
    if name == "divide" and values[1] == one:
        return values[0]
    if all(isinstance(x, Literal) for x in values) and name in _NUMBERS:
        with np.errstate(all="ignore"):
            found = _NUMBERS[name](*(dtype.type(x.number) for x in values))
        return literal(found, dtype)
    return None


_NUMBERS: dict[str, Callable] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
}  # fmt: skip
