"""Whether a difference is rounding: of derivatives, or because there is no one right answer.

What is wrong hardly changes where the inputs change a little. What is left of terms
that cancel, each of which is rounded, comes out differently every time.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .case import Case, Different
from .oracle import Unusable, direction, epsilon, near, results, values
from .programs import Input, Program
from .reference import Reference

DRAWS = 6


def is_rounding(
    program: Program, mode: Callable[[Case], None], gap: np.ndarray | None, size: float = 1.0
) -> bool:
    """Whether `gap`, by how much a mode differs, is small beside what it gives, numbers of this
    size, and another one for inputs close by."""
    unit = coarsest(program)
    small = unit**0.5 * max(1.0, size)
    if gap is None or not np.all(np.isfinite(gap)) or np.max(np.abs(gap)) > small:
        return False
    rng = np.random.default_rng(1)
    found = []
    for _ in range(DRAWS):
        inputs = tuple(_beside(x, unit, rng) for x in program.inputs)
        try:
            mode(Case(replace(program, inputs=inputs)))
            found.append(np.zeros_like(gap))
        except Different as error:
            if error.gap is None or error.gap.shape != gap.shape:
                return False
            found.append(error.gap)
        except Unusable:
            continue
    moved = [float(np.max(np.abs(other - gap))) for other in found]
    return bool(moved) and float(np.median(moved)) > 0.3 * float(np.max(np.abs(gap)))


def coarsest(program: Program) -> float:
    """Rounding of the narrowest float in a program."""
    unit = epsilon(*(x.value for x in program.inputs))
    return max(unit, float(np.finfo(np.float32).eps)) if "float32" in str(program) else unit


def _beside(x: Input, unit: float, rng: np.random.Generator) -> Input:
    if not x.is_float:
        return x
    value = np.asarray(x.value)
    moved = (value * (1 + unit**0.6 * rng.uniform(-1.0, 1.0, value.shape))).astype(value.dtype)
    return x._replace(value=moved if isinstance(x.value, np.ndarray) else float(moved))


ORDERED = {
    "argpartition", "argsort", "lexsort", "median", "nanmedian", "nanpercentile", "nanquantile",
    "partition", "percentile", "quantile", "sort", "write sort",
}  # fmt: skip
"""Ops in which NumPy leaves the order of equal numbers open; compiled programs keep it."""


def left_open(program: Program, edges: bool = False) -> bool:
    """Whether there is no one right answer: equal numbers are put in order, or a change of each
    step's result in the last digits changes the values. Of a remainder that is zero but for
    rounding, `arctan2(r, r)` may be anything.

    With `edges`, whether such a change makes them nan or infinite: `xlogy(0, -1)` is a number, and
    nan beside; `entr(0)` is, and -inf beside.
    """
    unit = coarsest(program)
    much = 64e6 * unit if unit < 1e-10 else 16e4 * unit  # 16 times what modes may differ by
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = values(program)
        if not edges and _has_ties(program):
            return True
        try:
            every = [list(zip(x, expected, strict=True)) for x in _shaken(program, 64 * unit)]
        except Exception:
            return True
    if edges:
        floats = [(np.asarray(x), np.asarray(y)) for pairs in every for x, y in pairs]
        return any(not_finite(x, y) for x, y in floats if x.dtype.kind == "f")
    return not all(near(x, y, much) for pairs in every for x, y in pairs)


def _shaken(program: Program, relative: float) -> Iterator[tuple[Any, ...]]:
    """NumPy's values, a few times, where each step's result changes by so much of it, or of what it
    was made from."""
    rng = np.random.default_rng(0)

    def shake(op: str, x: Any, *args: Any) -> Any:
        if not isinstance(x, (np.ndarray, np.generic)) or x.dtype.kind != "f":
            return x
        largest = max([float(np.max(np.abs(np.asarray(y)), initial=0.0)) for y in args], default=0)
        noise = (
            relative * rng.uniform(-1.0, 1.0, x.shape) * np.maximum(np.abs(x), min(largest, 10.0))
        )
        if isinstance(x, np.ndarray) and x.flags.writeable:
            x += noise.astype(x.dtype)  # in place: the program may hold views of it
            return x
        return np.add(x, noise).astype(x.dtype)

    for _ in range(4):
        yield results(program.function(Reference(), shake=shake)(*program.make()))


def is_within_noise(program: Program, gap: np.ndarray | None) -> bool:
    """Whether `gap` is no more than NumPy's values change by where each step is rounded otherwise:
    its float32 degrees are off by more than one rounding, and a sine of many follows."""
    unit = coarsest(program)
    if gap is None or not np.all(np.isfinite(gap)):
        return False
    moved = 0.0
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = values(program)
        for found in _shaken(program, 4 * unit):
            for x, y in zip(found, expected, strict=True):
                if np.shape(x) == np.shape(y) and np.asarray(y).dtype.kind == "f":
                    moved = max(moved, float(np.max(np.abs(x - y), initial=0.0)))
    return float(np.max(np.abs(gap))) <= 4 * moved


def _has_ties(program: Program) -> bool:
    """Whether equal numbers are put in order, or the correlation of numbers is asked for that are
    equal but for rounding."""
    tied = False

    def look(op: str, x: Any, *args: Any) -> Any:
        nonlocal tied
        tied |= op in ORDERED and bool(args) and np.unique(args[0]).size < np.size(args[0])
        tied |= op == "corrcoef" and any(map(_is_level, args))
        return x

    program.function(Reference(), shake=look)(*program.make())
    return tied


def _is_level(x: Any) -> bool:
    """Whether all numbers of a row are the same but for rounding."""
    rows = np.atleast_2d(np.asarray(x, float))
    largest = np.max(np.abs(rows), axis=-1, initial=0.0)
    spread = np.max(rows, axis=-1, initial=-np.inf) - np.min(rows, axis=-1, initial=np.inf)
    return bool(np.any(spread <= 64 * epsilon(x) * largest))


def shape_is_open(program: Program) -> bool:
    """Whether rounding decides the shapes of results: those of inputs that are multiplied by
    numbers next to 1 are others. So many zeros lead the rest of `polydiv`."""
    rng = np.random.default_rng(0)
    unit = coarsest(program)

    def beside(x: Any) -> Any:
        value = np.asarray(x.value)
        if not isinstance(x.value, np.ndarray) or value.dtype.kind != "f":
            return x
        return x._replace(value=value * value.dtype.type(1 + int(rng.integers(-9, 10)) * unit))

    shapes = set()
    for _ in range(12):
        try:
            found = values(program.with_inputs([beside(x) for x in program.inputs]))
        except Exception:
            continue
        shapes.add(tuple(map(np.shape, found)))
    return len(shapes) > 1


def is_number_by_rounding(program: Program) -> bool:
    """Whether values are numbers, and none where floats have more digits: equal numbers have a
    correlation if their mean is rounded."""

    def wider(x: Any) -> Any:
        value = np.asarray(x.value)
        if not isinstance(x.value, np.ndarray) or value.dtype.kind != "f":
            return x
        return x._replace(value=value.astype("f8" if value.dtype.itemsize < 8 else np.longdouble))

    try:
        found = values(program.with_inputs([wider(x) for x in program.inputs]))
    except Exception:
        return False  # the matrices of NumPy and SciPy have no more digits
    pairs = zip(found, values(program), strict=True)
    return any(not_finite(np.asarray(x), np.asarray(y)) for x, y in pairs)


def is_steep(program: Program) -> bool:
    """Whether slopes are infinite at the point: the nearer to it, the larger the quotients of
    differences to one side."""
    f, args = program.function(Reference()), program.make()
    rng = np.random.default_rng(0)
    directions = [direction(rng, x) if k in program.floats else None for k, x in enumerate(args)]

    def quotients(step: float) -> np.ndarray:
        given = [
            x if u is None else np.asarray(x + step * u)
            for x, u in zip(args, directions, strict=True)
        ]
        return np.abs(flat(results(f(*given))) - base) / abs(step)

    def flat(found: Sequence[Any]) -> np.ndarray:
        return np.concatenate([np.ravel(np.asarray(x, float)) for x in found])

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        base = flat(results(f(*args)))
        try:
            pairs = [(quotients(side * 1e-4), quotients(side * 1e-7)) for side in (1, -1)]
        except (ArithmeticError, ValueError, TypeError, IndexError, np.linalg.LinAlgError):
            return True
    noise = 1e-6 * (1.0 + np.abs(base))
    return any(bool(np.any(near_by > 1.3 * far + noise)) for far, near_by in pairs)


def not_finite(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether what is a number where it is expected is none where it is found."""
    return found.shape == expected.shape and bool(
        np.any(~np.isfinite(found) & np.isfinite(expected))
    )
