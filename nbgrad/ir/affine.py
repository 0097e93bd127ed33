"""Positions in arrays as sums of loop variables: what a layout op does to an index.

An `Affine` is `const + sum(coefficient * variable)`. Variables are axes of a loop nest (ints) and
names of integers that a program has loaded (strings).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

Variable = int | str


class Axis(NamedTuple):
    """Where an axis of a source lies in a view: `start + step * (position along axis out)`; `out`
    None means `start` alone."""

    out: int | None
    start: int
    step: int


class Affine(NamedTuple):
    const: int
    terms: tuple[tuple[Variable, int], ...]

    def plus(self, other: "Affine") -> "Affine":
        if not other.terms:
            return Affine(self.const + other.const, self.terms)
        terms = dict(self.terms)
        for variable, coefficient in other.terms:
            terms[variable] = terms.get(variable, 0) + coefficient
        return affine_of(self.const + other.const, terms)

    def times(self, factor: int) -> "Affine":
        return affine_of(self.const * factor, {v: c * factor for v, c in self.terms})

    @property
    def is_zero(self) -> bool:
        """Whether it is 0 for all sizes; a size that is known at run time never is."""
        return not self.terms and type(self.const) is int and self.const == 0

    def shifted(self, by: int) -> "Affine":
        return Affine(self.const + by, self.terms)

    def axes(self) -> list[int]:
        """The loop axes that it depends on."""
        return [variable for variable, _ in self.terms if isinstance(variable, int)]


def affine_of(const: int, terms: dict[Variable, int]) -> Affine:
    """`const` and the terms whose coefficient is not 0, in one order."""
    nonzero = [(v, c) for v, c in terms.items() if c]
    if len(nonzero) > 1:
        nonzero.sort(key=lambda term: str(term[0]))
    return Affine(const, tuple(nonzero))


ZERO = Affine(0, ())


def variable(name: Variable) -> Affine:
    return Affine(0, ((name, 1),))


def identity(shape: Sequence[int]) -> tuple[Affine, ...]:
    """The index of the element that a loop nest over `shape` is at."""
    return tuple(ZERO if n == 1 else variable(axis) for axis, n in enumerate(shape))


def view_index(axes: Sequence[Axis], index: Sequence[Affine]) -> tuple[Affine, ...]:
    """The index in the source of a view."""
    return tuple(
        Affine(start, ()) if out is None else index[out].times(step).shifted(start)
        for out, start, step in axes
    )


def take_index(
    axes: Sequence[Any], places: Iterable[Affine], index: Sequence[Affine]
) -> tuple[Affine, ...]:
    """The index in the source of a gather: `places` are the positions that were loaded."""
    dynamic = list(places)
    return tuple(
        dynamic[axis] if isinstance(axis, int) else view_index((axis,), index)[0] for axis in axes
    )


def flat(shape: Sequence[int], index: Sequence[Affine]) -> Affine:
    """The position of an element in an array of `shape`, row by row."""
    position = ZERO
    for n, i in zip(shape, index, strict=True):
        position = position.times(n).plus(i)
    return position


def span(index: Affine, bounds: Callable[[int], tuple[int, int]]) -> tuple[int, int] | None:
    """The least and largest value where axis `a` runs over range(*bounds(a)); None for unknown."""
    low = high = index.const
    for name, coefficient in index.terms:
        if isinstance(name, str):
            return None
        first, stop = bounds(name)
        ends = coefficient * first, coefficient * (stop - 1)
        low, high = low + min(ends), high + max(ends)
    return low, high
