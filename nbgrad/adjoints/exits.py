"""Statements with one way through them: `Continue`, `Return` and `Break` become conditions.

Afterwards a function ends at its last statement, and a `Break` is the last statement of a loop's
body, under a condition.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..ir.statements import (
    Break,
    Continue,
    For,
    If,
    Operand,
    Raise,
    Return,
    Statement,
    Variable,
    While,
)
from ..ir.walk import walk
from .build import BOOL, Names, copy, literal

__all__ = ["single_exit"]

_TRUE, _FALSE = literal(True, BOOL), literal(False, BOOL)


def single_exit(
    body: Sequence[Statement], results: Sequence[np.dtype], names: Names
) -> tuple[list[Variable], list[Statement], list[Operand]]:
    """Variables to declare, the statements, and the operands that are returned."""
    *rest, last = body or (Return(),)
    if isinstance(last, Return) and not any(isinstance(each, Return) for each in walk(rest)):
        exits = _Exits(names, [], [])
        return exits.declared, exits.sequence(rest), list(last.values)
    outs = [names.new("result") for _ in results]
    exits = _Exits(names, outs, list(results))
    zeros = [Variable(name, literal(0, d), d) for name, d in zip(outs, results, strict=True)]
    statements = exits.sequence(body)
    # A function that is called in a loop starts anew in each round.
    start = [copy(name, literal(0, d), d) for name, d in zip(outs, results, strict=True)]
    start.append(copy(exits.returned, _FALSE, BOOL))
    return [*zeros, *exits.declared], [*start, *statements], list(outs)


class _Exits:
    def __init__(self, names: Names, outs: list[str], dtypes: list[np.dtype]):
        self.declared: list[Variable] = []
        self._names, self._outs, self._dtypes = names, outs, dtypes
        self.returned = self._flag("returned")
        self._loops: list[tuple[str, str]] = []  # flags: the loop is left, the round is over

    def _flag(self, hint: str) -> str:
        name = self._names.new(hint)
        self.declared.append(Variable(name, _FALSE, BOOL))
        return name

    def sequence(self, body: Sequence[Statement]) -> list[Statement]:
        return self._sequence(body)[0]

    def _sequence(self, body: Sequence[Statement]) -> tuple[list[Statement], bool, bool]:
        """The statements, whether they may exit, and whether they always do."""
        made: list[Statement] = []
        for i, each in enumerate(body):
            match each:
                case Break() | Continue():
                    left, over = self._loops[-1]
                    flags = (left, over) if isinstance(each, Break) else (over,)
                    return [*made, *(copy(flag, _TRUE, BOOL) for flag in flags)], True, True
                case Return(values=values):
                    pairs = zip(self._outs, values, self._dtypes, strict=True)
                    made += [copy(out, value, dtype) for out, value, dtype in pairs]
                    return [*made, *self._leave()], True, True
                case Raise():
                    return [*made, each], False, True
                case If(then=then, otherwise=otherwise):
                    first, may, must = self._sequence(then)
                    second, may_too, must_too = self._sequence(otherwise)
                    if must and must_too:
                        made.append(replace(each, then=tuple(first), otherwise=tuple(second)))
                        return made, may or may_too, True
                    if must and may and not may_too:
                        more, may_more, ends = self._sequence(body[i + 1 :])
                        made.append(replace(each, then=tuple(first), otherwise=(*second, *more)))
                        return made, may or may_more, ends
                    if must_too and may_too and not may:
                        more, may_more, ends = self._sequence(body[i + 1 :])
                        made.append(replace(each, then=(*first, *more), otherwise=tuple(second)))
                        return made, may_too or may_more, ends
                    made.append(replace(each, then=tuple(first), otherwise=tuple(second)))
                    if may or may_too:
                        return self._guarded(made, body[i + 1 :])
                case For() | While():
                    before, loop, returns = self._loop(each)
                    made += [*before, loop]
                    if returns:
                        if self._loops:
                            made.append(If(self.returned, tuple(self._leave())))
                        return self._guarded(made, body[i + 1 :])
                case _:
                    made.append(each)
        return made, False, False

    def _guarded(
        self, made: list[Statement], rest: Sequence[Statement]
    ) -> tuple[list[Statement], bool, bool]:
        """The rest where nothing has left it."""
        if rest:
            more, _, _ = self._sequence(rest)
            over = self._loops[-1][1] if self._loops else self.returned
            made.append(If(over, (), tuple(more)))
        return made, True, False

    def _leave(self) -> list[Statement]:
        flags = [self.returned, *(self._loops[-1] if self._loops else ())]
        return [copy(flag, _TRUE, BOOL) for flag in flags]

    def _loop(self, loop: For | While) -> tuple[list[Statement], Statement, bool]:
        left, over = self._flag("left"), self._flag("over")
        self._loops.append((left, over))
        body, _, _ = self._sequence(loop.body)
        self._loops.pop()
        inside = walk(body)
        assigned = {getattr(each, "target", None) for each in inside}
        reset = [copy(over, _FALSE, BOOL)] if over in assigned else []
        if left not in assigned:
            return [], replace(loop, body=(*reset, *body)), False
        body += [If(left, (Break(),))]
        returns = self.returned in assigned
        return [copy(left, _FALSE, BOOL)], replace(loop, body=(*reset, *body)), returns
