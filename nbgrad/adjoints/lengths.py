"""The lengths of arrays."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ..ir.statements import Function, Literal, New, Pointer
from ..ir.walk import walk

__all__ = ["Shapes", "known_lengths", "shapes_of", "with_made"]


class Shapes(NamedTuple):
    """The lengths of buffers, and those that are never below 0: a statement that makes a buffer may
    raise an exception instead."""

    lengths: Mapping[Any, Sequence[Any]]
    natural: Collection[str]


def with_made(
    passed: Mapping[Any, Sequence[Any]], body: Sequence[Any] = (), constants: Collection[Any] = ()
) -> Shapes:
    """The shapes of arrays that are passed, and of buffers that one statement of a body makes, if
    their lengths are numbers that do not change."""
    made = [each for each in walk(body) if isinstance(each, New)]
    total = Counter(each.target for each in made)
    found = dict(passed)
    for each in made:
        shape = tuple(x.number if isinstance(x, Literal) else x for x in each.shape)
        names = {x for x in shape if isinstance(x, str)}
        if shape and total[each.target] == 1 and names.issubset(constants):
            found[each.target] = shape
    return Shapes(found, {length for shape in passed.values() for length in shape})


def shapes_of(function: Function, lengths: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The names of the lengths of each array: those of the parameters that follow its pointer."""
    found: dict[str, tuple[str, ...]] = {}
    array = ""
    for name, kind in function.parameters:
        if isinstance(kind, Pointer):
            array, found[name] = name, ()
        elif name in lengths and array:
            found[array] += (name,)
    return found


def known_lengths(
    function: Function, shapes: dict[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...] | None]:
    """The lengths of each array; None where they do not tell its number of elements, as it has
    strides, or is passed without lengths. Tangents are as long as their arrays."""
    parameters = {name for name, _ in function.parameters}
    found: dict[str, tuple[str, ...] | None] = {}
    for name, shape in shapes.items():
        shape = shape or found.get(name.rpartition(".dot")[0]) or ()
        found[name] = None if not shape or f"{name}_s0" in parameters else shape
    return found
