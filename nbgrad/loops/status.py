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
from ..ir.spread import Spread
from ..ir.statements import Call, Function, If, Load, Raise, Return, Store
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
    buffer, at, dtype = place
    numbers = {error: i + 1 for i, error in enumerate(errors)}
    freed = [Call("freed", (name,)) for name in scratch]

    def change(body: Sequence[Any], freed: Sequence[Any] = freed) -> tuple:
        made: list[Any] = []
        for each in body:
            if isinstance(each, Raise):
                number = numbers.get((each.error, each.message), len(errors))
                made += [*freed, Store(buffer, at, literal(number, dtype), dtype), Return()]
            elif isinstance(each, Spread):  # a piece ends alone
                own = with_inner(each, lambda body: change(body, ()))
                made.append(replace(own, at_error=()))
                if any(isinstance(x, Raise) for x in walk([each])):
                    made += ended(each.at_error)
            else:
                made.append(with_inner(each, lambda body: change(body, freed)))
        return tuple(made)

    def ended(at_error: Sequence[Any]) -> list[Any]:
        """End the function if a piece has stored a number."""
        number, failed = names.new("number"), names.new("failed")
        zero = literal(0, dtype)
        return [
            Load(number, buffer, at, dtype),
            operation(failed, "not_equal", (number, zero), BOOL, dtype),
            If(failed, (*at_error, *freed, Return())),
        ]

    body = (*flat.declared, *change(flat.body))
    return replace(function, body=body)


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
