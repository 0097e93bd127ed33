"""`alike`, which proves that the rounds of a run do the same, and finds their arguments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...core.keys import number_key, static_key
from ...core.symbols import Symbol
from ...rules.index import HOLE
from .periods import ROUNDS, Run

# Values of their own for each round come from at most so many runs of equations.
PIECES = 8


class Inner(NamedTuple):
    """Equation `offset` of the same round."""

    offset: int


class Before(NamedTuple):
    """Equation `offset` of the round before."""

    offset: int


class Fixed(NamedTuple):
    """The same value in all rounds."""

    value: Any


class Slice(NamedTuple):
    """A value of its own for each round: slice `number` of the xs."""

    number: int


class Moving(NamedTuple):
    """Integers in the index of an equation: the first ones, and their steps from round to round."""

    index: Any  # with holes in their places
    first: tuple[int, ...]
    steps: tuple[int, ...]


@dataclass
class Alike:
    """The rounds of a run as one step."""

    run: Run
    equations: Sequence[Symbol]  # of one round
    arguments: list[list[Inner | Before | Fixed | Slice]] = field(default_factory=list)
    moving: dict[int, Moving] = field(default_factory=dict)  # by offset
    start: dict[int, Any] = field(default_factory=dict)  # of states, by offset
    xs: list[list[Symbol]] = field(default_factory=list)

    def slice_of(self, values: list[Symbol]) -> Slice:
        for k, known in enumerate(self.xs):
            if all(x is y for x, y in zip(known, values, strict=True)):
                return Slice(k)
        self.xs.append(values)
        return Slice(len(self.xs) - 1)


def form(equation: Symbol) -> tuple:
    """Return what an equation has in common with that of another round."""
    params = [(name, _shown(equation, name)) for name in sorted(equation.params)]
    kinds = [None if isinstance(x, Symbol) else number_key(x) for x in equation.args]
    return (
        equation.primitive, equation.aval.shape, equation.dtype, equation.weak,
        (*params,), (*kinds,),
    )  # fmt: skip


def _shown(equation: Symbol, name: str) -> Any:
    value, primitive = equation.params[name], equation.primitive
    if name == "index" and primitive is not None and primitive.at is not None:
        parts = value if isinstance(value, tuple) else (value,)
        return tuple("position" if _is_position(x) else static_key(x) for x in parts)
    return static_key(value)


def _is_position(x: Any) -> bool:
    return type(x) is int and x >= 0


def alike(order: Sequence[Symbol], places: Mapping[Symbol, int], run: Run) -> Alike | int:
    """Return the rounds of a run as one step, or the number of the first ones that do the same, if
    the others do not. `places` are those of the equations in `order`."""
    start, rounds, length = run
    found, same = Alike(run, order[start : start + length]), rounds
    for offset in range(length):
        every = order[start + offset : run.stop : length]
        same = min(same, _evenly(found, offset, every))
        arguments = []
        for k, first in enumerate(every[0].args):
            where: Any = Fixed(first)
            if isinstance(first, Symbol):
                where, count = _where(found, places, [equation.args[k] for equation in every])
                same = min(same, count)
            arguments.append(where)
        found.arguments.append(arguments)
        if same < ROUNDS:
            break
    return found if same == rounds else same


def _where(
    found: Alike, places: Mapping[Symbol, int], values: list[Symbol]
) -> tuple[Inner | Before | Fixed | Slice | None, int]:
    """Return where an argument is, and in how many rounds."""
    start, rounds, length = found.run
    at = [places.get(x, -1) for x in values]
    place = at[1] - start
    if place < 0:
        count = next((r for r, x in enumerate(at) if x >= start), rounds)
        if all(x is values[0] for x in values[:count]):
            return Fixed(values[0]), count
        is_one_kind = len({x.aval for x in values}) == 1 and _pieces(at[:count]) <= PIECES
        return (found.slice_of(values), count) if is_one_kind else (None, 0)
    offset, before = place % length, place < length
    expected = range(start + offset - before * length, start + offset + rounds * length, length)
    moved = (r for r in range(before, rounds) if at[r] != expected[r])
    if not before:
        return Inner(offset), next(moved, rounds)
    if at[0] >= start or values[0].aval != values[1].aval:
        return None, 0
    if found.start.setdefault(offset, values[0]) is not values[0]:
        return None, 0
    return Before(offset), next(moved, rounds)


def _pieces(places: Sequence[int]) -> int:
    """Return the number of evenly spaced parts of places."""
    steps = np.diff(places)
    return 1 + int(np.sum(steps == 0)) + int(np.sum(np.diff(steps) != 0))


def _evenly(found: Alike, offset: int, every: Sequence[Symbol]) -> int:
    """Note the integers of an index that move with the rounds; return in how many they do so
    evenly."""
    if "index" not in every[0].params:
        return len(every)
    indices = [x.params["index"] for x in every]
    if not isinstance(indices[0], tuple):
        indices = [(x,) for x in indices]
    parts, first, steps, same = [], [], [], len(every)
    for values in zip(*indices, strict=True):
        if not _is_position(values[0]) or len({*values}) == 1:
            parts.append(values[0])
            continue
        start, step = values[0], values[1] - values[0]
        same = min(same, next((r for r, x in enumerate(values) if x != start + r * step), same))
        parts.append(HOLE)
        first.append(start)
        steps.append(step)
    if first:
        index = tuple(parts) if len(parts) > 1 else parts[0]
        found.moving[offset] = Moving(index, tuple(first), tuple(steps))
    return same
