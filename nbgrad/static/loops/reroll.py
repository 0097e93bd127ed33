"""Runs of a core's steps that differ by equal distances become loops.

A network that is unrolled in Python calls the same few kernels over and over, at places of memory
that are evenly spaced. Compile time grows with the number of steps.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...ir.affine import Affine, affine_of
from ...ir.core import Core, CoreStep, Repeat
from ...ir.statements import Address, Call, Gemm, Kernel

# A run is at least so many rounds, of at most so many steps each: fewer cost less to compile.
_ROUNDS, _LONGEST = 4, 12
_VARIABLE = "step"


class Moving(NamedTuple):
    """A place of memory that may differ from round to round: `base` must not, numbers may."""

    base: Hashable
    numbers: tuple[int, ...]


class Addressing(Protocol):
    """The printer as this module needs it: names of kernels, places of pointers, moved pointers.

    A place is `(base, numbers)`, such as scratch and a distance in bytes; `moved` gives a pointer
    whose numbers change by `steps` from round to round.
    """

    def name_of(self, kernel: Kernel) -> str: ...

    def place(self, buffer: Hashable, at: Affine, dtype: np.dtype) -> Moving | None: ...

    def moved(
        self, buffer: Hashable, at: Affine, dtype: np.dtype, steps: Sequence[int]
    ) -> tuple[Hashable, Affine]: ...


class _Form(NamedTuple):
    """The work of a step, apart from the places of memory where it is done."""

    what: Hashable
    numbers: tuple[int, ...]


def reroll(steps: Sequence[CoreStep], memory: Addressing) -> list[CoreStep]:
    """Steps with loops over those that return no number, where that is possible."""
    forms = [_form(step, memory) for step in steps]
    out: list[CoreStep] = []
    at = 0
    while at < len(steps):
        rounds, length = _run(forms, at)
        if rounds == 1:
            out.append(steps[at])
        else:
            body = []
            for i in range(at, at + length):
                one, other = forms[i], forms[i + length]
                assert one is not None and other is not None
                moves = iter(_distances(one, other))
                body.append(_stepping(steps[i], moves, memory))
            out.append(CoreStep(Repeat(_VARIABLE, rounds, False, tuple(body)), steps[at].lines))
        at += rounds * length
    return out


def _form(step: CoreStep, memory: Addressing) -> _Form | None:
    statement = step.statement
    if isinstance(statement, Call) and not (
        statement.results or isinstance(statement.function, Core)
    ):
        function, pointers = statement.function, statement.pointers
        name = memory.name_of(function) if isinstance(function, Kernel) else function
        what: tuple = (name, statement.numbers)
        pointers = [(p.buffer, p.at, p.dtype) for p in pointers]
    elif isinstance(statement, Gemm):
        what = ("gemm", *statement[3:])
        pointers = [(*place, statement.dtype) for place in statement[:3]]
    else:
        return None
    bases, numbers = [], []
    for buffer, at, dtype in pointers:
        place = memory.place(buffer, at, dtype)
        if place is None:
            return None
        bases.append((place.base, dtype))
        numbers += place.numbers
    return _Form((*what, *bases, step.lines), tuple(numbers))


def _run(forms: Sequence[_Form | None], at: int) -> tuple[int, int]:
    """The rounds, and the steps of each, of the run from `at` on that takes most steps; 1 and 1
    where there is none."""
    best = (1, 1)
    if forms[at] is None:
        return best
    for length in range(1, _LONGEST + 1):
        rounds = _rounds(forms, at, length)
        if rounds >= _ROUNDS and rounds * length > best[0] * best[1]:
            best = (rounds, length)
    return best


def _rounds(forms: Sequence[_Form | None], at: int, length: int) -> int:
    """The number of times that the steps from `at` on come again, at equal distances."""
    count = 0  # of the steps that go on with those before
    while _goes_on(forms, at + length + count, length, count >= length):
        count += 1
    return 1 + count // length


def _goes_on(forms: Sequence[_Form | None], at: int, length: int, steady: bool) -> bool:
    """Whether a step is that of the round before; where `steady`, as far from it as that one from
    the round before."""
    if at >= len(forms):
        return False
    step, last = forms[at], forms[at - length]
    if step is None or last is None or step.what != last.what:
        return False
    before = forms[at - 2 * length] if steady else None
    return before is None or _distances(before, last) == _distances(last, step)


def _distances(one: _Form, other: _Form) -> list[int]:
    return [y - x for x, y in zip(one.numbers, other.numbers, strict=True)]


def _stepping(step: CoreStep, moves: Iterator[int], memory: Addressing) -> CoreStep:
    """A step of the first round, moved by the number of the round."""

    def moved(buffer: Hashable, at: Affine, dtype: np.dtype) -> tuple[Hashable, Affine]:
        place = memory.place(buffer, at, dtype)
        assert place is not None
        return memory.moved(buffer, at, dtype, [next(moves) for _ in place.numbers])

    statement: Any = step.statement
    if isinstance(statement, Gemm):
        a, b, c = (moved(*place, statement.dtype) for place in statement[:3])
        return replace(step, statement=statement._replace(a=a, b=b, c=c))
    arguments = tuple(
        Address(*moved(x.buffer, x.at, x.dtype), x.dtype) if isinstance(x, Address) else x
        for x in statement.arguments
    )
    return replace(step, statement=replace(statement, arguments=arguments))


def along(at: Affine, distance: int) -> Affine:
    """A position that moves with the number of the round."""
    return at.plus(affine_of(0, {_VARIABLE: distance}))
