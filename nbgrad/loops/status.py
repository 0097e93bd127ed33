"""Functions that store the number of an exception where they would raise it.

A compiled program calls functions that do not raise, and memory that they asked for is to be freed
in any case.
"""

import builtins
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..adjoints.build import BOOL, Names, defined_names, literal, operation
from ..adjoints.inline import inlined
from ..ir.affine import Affine
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

__all__ = ["error_of", "names_in", "with_status"]


def with_status(
    function: Function,
    place: tuple[str, Affine, np.dtype],
    errors: Sequence[tuple[str, str]],
    scratch: Sequence[str],
) -> Function:
    """A function without results that stores the number of an exception at a place, and frees the
    memory at the addresses `scratch`, instead of raising. Exceptions are numbered from 1 on,
    as in `errors`; the last number is for all others."""
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
            else:
                made.append(with_inner(each, lambda body: change(body, place, freed)))
        return tuple(made)

    def in_pieces(spread: Spread, place: Any, freed: Sequence[Any]) -> list[Any]:
        """A piece ends alone, with a number of its own; that of the first piece counts."""
        own, each = names.new("numbers"), names.new("each")
        number, failed = names.new("number"), names.new("failed")
        here = own, Affine(0, ((spread.piece, 1),)), dtype
        changed = with_inner(spread, lambda body: change(body, here, ()))
        before = (_stored(here, literal(0, dtype)), *changed.before)
        ends = (*change(spread.at_error, place, ()), *freed, _stored(place, number), Return())
        look = [
            Load(number, own, Affine(0, ((each, 1),)), dtype),
            operation(failed, "not_equal", (number, literal(0, dtype)), BOOL, dtype),
            If(failed, ends),
        ]
        count = spread.count
        stop = int(count.number) if isinstance(count, Literal) else count
        return [
            Allocate(own, MOST_PIECES, dtype),
            replace(changed, before=before, at_error=()),
            For(each, 0, stop, tuple(look)),
        ]

    body = (*flat.declared, *change(flat.body))
    return replace(function, body=body)


def _stored(place: tuple[str, Affine, np.dtype], number: Any) -> Store:
    buffer, at, dtype = place
    return Store(buffer, at, number, dtype)


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
    kind = getattr(builtins, name, None) or getattr(np.linalg, name.rpartition(".")[2], None)
    return kind or RuntimeError, message
