"""Elements that a round of a loop leaves to the next one, as numbers.

The adjoint of `v[i] = p * v[i + 1] + q * v[i]` sets the cotangent of `v[i]`, and the next round,
that of `v[i - 1]`, adds to it. LLVM does not vectorise a loop that loads what the round before
stored. It does if that number is a variable.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..ir.affine import Affine, affine_of
from ..ir.reductions import SUM
from ..ir.spread import Spread
from ..ir.statements import (
    Accumulate,
    Assign,
    Call,
    For,
    If,
    Load,
    Operand,
    PointTo,
    Position,
    Store,
    Variable,
)
from ..ir.walk import inner, walk, with_inner
from .build import BOOL, INT, buffers_of, copy, defined_names, literal, names_of, operation
from .forms import Form
from .lengths import Shapes
from .positions import Positions

__all__ = ["Carried"]

_PLAIN = (Accumulate, Assign, Call, Position)


class _Pair(NamedTuple):
    """Accesses to a buffer at two positions: each round is at `early` where the next one is at
    `late`. `first` is `late` in the first round."""

    early: int
    late: int
    first: Affine


class Carried:
    """Rewrites the loops whose variables are `axes`. `new(hint, dtype)` gives new names; the
    variables that it makes are added to `declared`."""

    def __init__(self, axes: Collection[str], new: Callable[..., str], variables: Collection[str]):
        self._axes, self._new, self._variables = axes, new, variables
        self._pointed: set[Any] = set()
        self.declared: list[Variable] = []

    def of(self, statements: Sequence[Any]) -> list[Any]:
        """The statements of a function with such loops rewritten."""
        self._pointed = {
            x for each in walk(statements) if isinstance(each, PointTo)
            for x in (*buffers_of(each), each.target)
        }  # fmt: skip
        return self._body(statements)

    def _body(self, statements: Sequence[Any]) -> list[Any]:
        made: list[Any] = []
        for each in statements:
            if isinstance(each, Spread):
                made.append(replace(each, loop=self._inside(each.loop)))
            elif isinstance(each, For) and each.axis in self._axes and _is_plain(each.body):
                made += self._loop(each)
            else:
                made.append(self._inside(each))
        return made

    def _inside(self, each: Any) -> Any:
        return with_inner(each, lambda body: tuple(self._body(body))) if inner(each) else each

    def _loop(self, loop: For) -> list[Any]:
        """A loop, with the loads of its first round before it."""
        stored = dict.fromkeys(x.buffer for x in loop.body if isinstance(x, Store))
        outside = {name for each in loop.body for name in names_of(each)}
        outside = outside.difference(defined_names(loop.body))
        steps = [x for x in loop.body if getattr(x, "target", None) not in self._variables]
        positions = Positions([loop, *steps], Shapes({}, ()), outside, self._variables)
        before: list[Any] = []
        for buffer in stored:
            if buffer in self._pointed:
                continue
            accesses = [x for x in loop.body if isinstance(x, (Load, Store)) and x.buffer == buffer]
            places = {x.at: _form(positions, x.at) for x in accesses}
            pair = _pair(loop, places)
            if pair is not None and _carries(accesses, places, pair):
                loop, first = self._rewritten(loop, buffer, accesses[0].dtype, places, pair)
                before += first
        if not before:
            return [loop]
        some = self._new("some", BOOL)
        ends = [literal(x, INT) if isinstance(x, int) else x for x in (loop.start, loop.stop)]
        return [operation(some, "less", ends, BOOL, INT), If(some, tuple(before)), loop]

    def _rewritten(
        self, loop: For, buffer: Any, dtype: np.dtype, places: dict[Affine, Any], pair: _Pair
    ) -> tuple[For, list[Any]]:
        """The loop with a variable for the element that the round before has left."""
        kept, left = self._new("left", dtype), self._new("left", dtype)
        self.declared.append(Variable(kept, literal(0, dtype), dtype))
        known: dict[int, Operand] = {pair.late: left}
        last: dict[int, Store] = {}
        made: list[Any] = [copy(left, kept, dtype)]
        for each in loop.body:
            if not isinstance(each, (Load, Store)) or each.buffer != buffer:
                made.append(each)
                continue
            place = places[each.at].const
            if isinstance(each, Load):
                made.append(copy(each.target, known[place], dtype) if place in known else each)
                known.setdefault(place, each.target)
                continue
            value: Operand = each.value
            if value in self._variables:  # which may change before the end of the round
                value = self._new("value", dtype)
                made.append(copy(value, each.value, dtype))
            if each.kind is not None:
                if place not in known:
                    known[place] = old = self._new("old", dtype)
                    made.append(Load(old, buffer, each.at, dtype))
                total = self._new("total", dtype)
                made.append(operation(total, "add", (known[place], value), dtype))
                value = total
            known[place], last[place] = value, each
        ends = [last[place] for place in (pair.early, pair.late) if place in last]
        made += [Store(buffer, x.at, known[places[x.at].const], dtype) for x in ends]
        made.append(copy(kept, known[pair.early], dtype))
        first = self._new("left", dtype)
        return (
            replace(loop, body=tuple(made)),
            [Load(first, buffer, pair.first, dtype), copy(kept, first, dtype)],
        )


def _is_plain(body: Sequence[Any]) -> bool:
    """Whether statements run one after the other, and use buffers in loads and stores alone."""
    return all(
        isinstance(x, (Load, Store)) or (isinstance(x, _PLAIN) and not [*buffers_of(x)])
        for x in body
    )


def _form(positions: Positions, at: Affine) -> Form | None:
    """A position as a linear form in the variable of the loop and in numbers from outside of it."""
    found = Form(at.const, {})
    for name, factor in at.terms:
        form = positions.form(name)
        if form is None or not isinstance(factor, int):
            return None
        found = found.plus(form, factor)
    return found


def _pair(loop: For, places: dict[Affine, Form | None]) -> _Pair | None:
    """The two positions, if there are no others and they are a round apart."""
    forms = [form for form in places.values() if form is not None]
    if len(forms) < len(places) or any(x.terms != forms[0].terms for x in forms):
        return None
    consts = {form.const for form in forms}
    step = forms[0].terms.get(loop.axis, 0)
    if loop.step != 1 or len(consts) != 2 or max(consts) - min(consts) != abs(step):
        return None
    early, late = sorted(consts, reverse=step > 0)
    terms: dict[Any, int] = dict(forms[0].terms)
    factor, const = terms.pop(loop.axis), late
    if isinstance(loop.start, int):
        const += factor * loop.start
    else:
        terms[loop.start] = terms.get(loop.start, 0) + factor
    return _Pair(early, late, affine_of(const, terms))


def _carries(accesses: Sequence[Any], places: dict[Affine, Any], pair: _Pair) -> bool:
    """Whether a round stores an element that the next one reads first."""
    early = [x for x in accesses if places[x.at].const == pair.early]
    late = next(x for x in accesses if places[x.at].const == pair.late)
    stores = [x for x in accesses if isinstance(x, Store)]
    return (
        any(isinstance(x, Store) for x in early)
        and (isinstance(late, Load) or late.kind is not None)
        and all(x.kind is None or x.kind is SUM for x in stores)
    )
