"""What NumPy makes of a program: values, and derivatives by complex steps and differences."""

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .programs import Program
from .reference import Reference

STEP = 1e-3


class Unusable(Exception):
    """A program, or a point of it, that says nothing: NumPy cannot run it, or it has a kink."""


class Truth(NamedTuple):
    """What a program gives: its values and, along a direction, the tangents of its values; these
    are None at kinks, and where there is nothing to move."""

    values: tuple[Any, ...]
    directions: tuple[Any, ...]
    tangents: tuple[Any, ...] | None


def results(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def values(program: Program) -> tuple[Any, ...]:
    """Raises whatever NumPy raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return results(program.function(Reference())(*program.make()))


def truth(program: Program, rng: np.random.Generator, given: Any = None) -> Truth:
    """Raises Unusable where values are no numbers."""
    args = program.make()
    library = Reference()
    f = program.function(library)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = results(f(*args))
        except Exception as error:
            raise Unusable(f"NumPy refuses it: {error}") from None
        if not all(np.all(np.isfinite(x)) for x in found):
            raise Unusable("values that are no numbers")
        directions = given or tuple(
            direction(rng, x) if k in program.floats else None for k, x in enumerate(args)
        )
        wide = "float32" not in str(program) and all(
            np.asarray(x.value).dtype.kind != "f" or np.asarray(x.value).dtype.itemsize == 8
            for x in program.inputs
        )
        if not program.floats or not wide:
            return Truth(found, directions, None)

        others: tuple[Any, ...] = tuple(
            None if u is None else direction(np.random.default_rng(k), u)
            for k, u in enumerate(directions)
        )

        def moved(t: float, s: float = 0.0) -> list[Any]:
            library.replaying = 0
            given = [
                x if u is None else np.asarray(x + t * u + s * v)
                for x, u, v in zip(args, directions, others, strict=True)
            ]
            return [np.asarray(x) for x in results(f(*given))]

        try:
            tangents = _slopes(moved, [np.asarray(x) for x in found])
            if tangents is not None and not _adds_up(moved, tangents):
                tangents = None
        except (ArithmeticError, ValueError, TypeError, IndexError, np.linalg.LinAlgError):
            tangents = None
    return Truth(found, directions, tangents)


def complex_tangents(program: Program, point: Truth) -> tuple[Any, ...] | None:
    """Derivatives along the directions by a complex step, right to the last digits however small;
    None where NumPy's functions do not take complex numbers, or mean something else for them, or
    lose their digits, as SciPy's gamma does next to negative numbers."""
    f = program.function(Reference())

    def tangents(args: Sequence[Any]) -> tuple[Any, ...]:
        moved = [
            x if u is None else np.asarray(x + 1e-30j * u)
            for x, u in zip(args, point.directions, strict=True)
        ]
        return tuple(np.imag(np.asarray(x)) / 1e-30 for x in results(f(*moved)))

    def agree(found: tuple[Any, ...], at: Truth, rtol: float) -> bool:
        size = 1.0 + max(float(np.max(np.abs(x), initial=0.0)) for x in at.values)
        pairs = zip(found, at.tangents or (), strict=True)
        return all(b is not None and near(a, b, rtol, size) for a, b in pairs)

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for middle in (0.37, 1.7):  # where differences can tell
                there = [
                    x if u is None else np.full(np.shape(x), middle)
                    for x, u in zip(program.make(), point.directions, strict=True)
                ]
                at = truth(program.at(there), np.random.default_rng(0), point.directions)
                if at.tangents is None or not agree(tangents(there), at, 1e-6):
                    return None
            found = tangents(program.make())
        except (TypeError, ValueError, Unusable):
            return None
    return found if point.tangents is None or agree(found, point, 1e-5) else None


def direction(rng: np.random.Generator, x: Any) -> Any:
    """Random numbers of the kind of x, none of them small."""
    drawn = rng.uniform(0.5, 1.0, np.shape(x)) * rng.choice([-1.0, 1.0], np.shape(x))
    if not isinstance(x, (np.ndarray, np.generic)):
        return float(drawn)
    return np.asarray(drawn, x.dtype)


def _slopes(moved: Callable[[float], list[Any]], base: list[Any]) -> tuple[Any, ...] | None:
    """Derivatives at 0 by central differences of order 4 with two steps that agree, from values
    that have no kink at 0; None otherwise."""
    at = {k: moved(k * STEP) for k in (-2, -1, -0.5, 0.5, 1, 2)}
    slopes = []
    for i, x in enumerate(base):
        if x.dtype.kind != "f":
            if any(not np.array_equal(x, there[i]) for there in at.values()):
                return None
            slopes.append(None)
            continue
        v = {k: there[i] for k, there in at.items()}
        if any(y.shape != x.shape for y in v.values()):
            return None
        wide = (8 * (v[1] - v[-1]) - (v[2] - v[-2])) / (12 * STEP)
        fine = (8 * (v[0.5] - v[-0.5]) - (v[1] - v[-1])) / (6 * STEP)
        right = _one_sided(x, v[0.5], v[1], v[2])
        left = -_one_sided(x, v[-0.5], v[-1], v[-2])
        size = float(np.max(np.abs(x), initial=0.0))
        scale = 1e-6 * (1.0 + float(np.max(np.abs(fine), initial=0.0))) + 1e-8 * size
        if not np.all(np.abs(wide - fine) <= scale):
            return None
        if not np.all(np.abs(right - left) <= 2e-5 * (1.0 + np.abs(right) + np.abs(left) + size)):
            return None
        slopes.append(fine)
    return tuple(slopes)


def _one_sided(x: Any, half: Any, one: Any, two: Any) -> Any:
    """The slope at 0, to third order, from values at 0, 1/2, 1 and 2 steps to one side."""
    return (16 / 3 * half - 7 / 2 * x - 2 * one + two / 6) / STEP


def _adds_up(moved: Callable[[float, float], list[Any]], slopes: tuple[Any, ...]) -> bool:
    """Whether the slope along two directions at once is the sum of those along each: not so where
    values are tied, though slopes from the left and the right agree in a median of them."""
    h = STEP / 2
    other = zip(moved(0.0, h), moved(0.0, -h), strict=True)
    both = zip(moved(h, h), moved(-h, -h), strict=True)
    for (a, b), (c, d), slope in zip(other, both, slopes, strict=True):
        if slope is None:
            continue
        one, two = (a - b) / (2 * h), (c - d) / (2 * h)
        if not np.all(np.abs(two - one - slope) <= 1e-2 * (1.0 + np.abs(one) + np.abs(slope))):
            return False
    return True


def near(found: Any, expected: Any, rtol: float, scale: float = 1.0) -> bool:
    """Equal up to `rtol` of the largest element and of `scale`; not-a-numbers agree."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return False
    if found.size == 0:
        return True
    if expected.dtype.kind in "iub":
        return bool(np.array_equal(found, expected))
    with np.errstate(all="ignore"):
        top = np.max(np.abs(expected), where=np.isfinite(expected), initial=0.0)
        same = np.abs(found - expected) <= rtol * (scale + top)
        same |= (found == expected) | (np.isnan(found) & np.isnan(expected))
    return bool(np.all(same))


def epsilon(*arrays: Any) -> float:
    """Rounding of the narrowest float among them."""
    kinds = [np.asarray(x).dtype for x in arrays]
    return max((float(np.finfo(k).eps) for k in kinds if k.kind == "f"), default=math.ulp(1.0))
