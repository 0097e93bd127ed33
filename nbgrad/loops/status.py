"""Functions that store the number of an exception where they would raise it.

A compiled program calls functions that do not raise, and memory that they asked for is to be freed
in any case. A kernel that Python calls has a `Status`, with the memory that its record may take and
the facts that it notes (`adjoints/record.py`); a compiled program has room for the number alone.
"""

import builtins
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import errors
from ..adjoints.build import BOOL, INT, Names, defined_names, literal, operation
from ..adjoints.inline import inlined
from ..adjoints.record import Fact
from ..ir.affine import Affine, variable
from ..ir.spread import MOST_PIECES, Spread
from ..ir.statements import (
    Allocate,
    Call,
    For,
    Function,
    If,
    Literal,
    Load,
    Raise,
    Return,
    Store,
)
from ..ir.walk import walk, with_inner

__all__ = ["ALLOWED", "FACTS", "WORDS", "copied", "error_of", "names_in", "with_status"]

NUMBER, ALLOWED, FACTS = 0, 1, 2
WORDS = FACTS + len(Fact)
"""The words of a status: the number of an exception, the bytes that the record may take, facts."""


def with_status(
    function: Function,
    place: tuple[str, Affine, np.dtype],
    errors: Sequence[tuple[str, str]],
    scratch: Sequence[str],
    doublings: int,
    has_words: bool,
) -> Function:
    """A function without results that stores the number of an exception at a place, and frees the
    memory at the addresses `scratch`, instead of raising. Exceptions are numbered from 1 on,
    as in `errors`; the last number is for all others. The record is doubled so many times; the
    status `has_words` where Python calls the function."""
    names = Names(names_in(function))
    flat = inlined(function, names)
    dtype = place[-1]
    numbers = {error: i + 1 for i, error in enumerate(errors)}
    freed = [Call("freed", (name,)) for name in scratch]

    def change(body: Sequence[Any], place: Any = place, freed: Sequence[Any] = freed) -> tuple:
        made: list[Any] = []
        for each in body:
            if isinstance(each, Raise):
                number = numbers.get((each.error, each.message), len(errors))
                made += [*freed, _stored(place, literal(number, dtype)), Return()]
            elif isinstance(each, Spread) and any(isinstance(x, Raise) for x in walk([each])):
                made += in_pieces(each, place, freed)
            elif isinstance(each, Call) and each.function in ("allowed", "known", "noted"):
                made += told(each, place)
            else:
                made.append(with_inner(each, lambda body: change(body, place, freed)))
        return tuple(made)

    def in_pieces(spread: Spread, place: Any, freed: Sequence[Any]) -> list[Any]:
        """A piece ends alone, with a status of its own; that of the first piece counts."""
        own, each = names.new("statuses"), names.new("each")
        number, failed = names.new("number"), names.new("failed")
        words = WORDS if has_words else 1
        here, there = ((own, Affine(0, ((x, words),)), dtype) for x in (spread.piece, each))
        changed = with_inner(spread, lambda body: change(body, here, ()))
        before = (copied(place, here, words, names.new), *changed.before)
        ends = (*change(spread.at_error, place, ()), *freed)
        ends += copied(there, place, words, names.new), Return()
        look = [
            Load(number, *there),
            operation(failed, "not_equal", (number, literal(0, dtype)), BOOL, dtype),
            If(failed, ends),
        ]
        count = spread.count
        stop = int(count.number) if isinstance(count, Literal) else count
        return [
            Allocate(own, words * MOST_PIECES, dtype),
            replace(changed, before=before, at_error=()),
            For(each, 0, stop, tuple(look)),
        ]

    def told(call: Call, place: Any) -> list[Any]:
        """Read the memory that is allowed, or note a fact, where records have tangents; or read a
        fact."""
        buffer, at, _ = place
        if call.function == "known":
            (fact,), (target,) = call.arguments, call.results
            return [Load(target, buffer, at.shifted(FACTS + int(fact.number)), INT)]
        if call.function == "noted":
            fact, value = call.arguments
            word, here = names.new("word"), at.shifted(FACTS + int(fact.number))
            factor = literal(1 if fact.number in (Fact.LOOP, Fact.ROUNDS) else 1 << doublings, INT)
            whole = operation(word, "multiply", (value, factor), INT)
            return [whole, Store(buffer, here, word, INT)] if has_words else []
        every, (target,) = names.new("allowed"), call.results
        share = operation(target, "right_shift", (every, literal(doublings, INT)), INT)
        if has_words:
            return [Load(every, buffer, at.shifted(ALLOWED), INT), share]
        return [replace(call, results=(every,)), share]

    body = (*flat.declared, *change(flat.body))
    return replace(function, body=body)


def _stored(place: tuple[str, Affine, np.dtype], number: Any) -> Store:
    buffer, at, dtype = place
    return Store(buffer, at, number, dtype)


def copied(source: Any, target: Any, words: int, new: Callable[[str], str]) -> For:
    """Copy a status from one place to another."""
    each, word = new("each"), new("word")
    (buffer, at, dtype), (goal, there, _) = source, target
    load = Load(word, buffer, at.plus(variable(each)), dtype)
    return For(each, 0, words, (load, Store(goal, there.plus(variable(each)), word, dtype)))


def names_in(function: Function) -> Iterator[str]:
    """The names in a function, and in those that it calls."""
    yield from (name for name, _ in function.parameters)
    yield from defined_names(function.body)
    for each in walk(function.body):
        if isinstance(each, Call) and isinstance(each.function, Function):
            yield from names_in(each.function)


def error_of(error: tuple[str, str]) -> tuple[type[Exception], str]:
    """The class of an exception, and its message."""
    name, message = error
    last = name.rpartition(".")[2]
    kinds = (getattr(home, last, None) for home in (builtins, np.linalg, errors))
    return next(filter(None, kinds), RuntimeError), message
