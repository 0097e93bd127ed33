"""Explicit states, and checks of the arguments of draws."""

import math
import operator
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import Primitive, bind, shape_of
from ..errors import ArgumentError, ArgumentTypeError
from ..ir.sizes import is_dynamic
from ..rules.index import index_of
from ..runtime.kinds import is_a
from ..runtime.lines import user_line


def drawn(op: str, row: Primitive, state: Any, shape: Any, **params: float) -> tuple[Any, Any]:
    shape = lengths(op, shape)
    out = bind(row, checked(op, state), shape=shape, **params)
    return moved(state, (math.prod(shape) + 1) // 2), out


def affine(op: str, shift: Any, scale: Any, draws: Any) -> Any:
    out = shift + scale * draws
    if shape_of(out) != shape_of(draws):
        raise ArgumentError(
            f"random.{op}: parameters of shape {shape_of(out)} do not broadcast to the shape "
            f"{shape_of(draws)}{user_line()}"
        )
    return out


def rows(x: Any, picked: Any) -> Any:
    return index_of(x, picked) if isinstance(picked, Array) else x[picked]


def checked(op: str, state: Any) -> Any:
    """Return the state as an array. Raises TypeError for anything else."""
    fits = shape_of(state) == (2,) and getattr(state, "dtype", None) == np.int64
    if not fits:
        what = (
            "a NumPy Generator"
            if isinstance(state, (np.random.Generator, np.random.RandomState))
            else f"a {type(state).__name__}"
            + (f" of shape {shape_of(state)}" if hasattr(state, "shape") else "")
        )
        raise ArgumentTypeError(
            f"random.{op}: the state is {what}: start with nbgrad.random.key(seed), and pass the "
            f"state that each call returns to the next one{user_line()}",
            code="NB-RANDOM",
        )
    return state if isinstance(state, Array) else np.asarray(state)


def moved(state: Any, blocks: int) -> Any:
    if is_dynamic(blocks):
        return np.stack([state[0], state[1] + blocks])
    return state + np.array([0, blocks])


def lengths(op: str, shape: Any) -> tuple[int, ...]:
    try:
        parts = shape if isinstance(shape, (tuple, list)) else (shape,)
        shape = tuple(x if is_dynamic(x) else operator.index(x) for x in parts)
    except TypeError:
        raise ArgumentTypeError(
            f"random.{op}: the shape must be an integer or a tuple of integers, not "
            f"{shape!r}{user_line()}"
        ) from None
    if any(n < 0 for n in shape):
        raise ArgumentError(f"random.{op}: the shape {shape} has a negative length{user_line()}")
    return shape


def population(op: str, x: Any) -> int:
    if is_a(x, (int, np.integer)):
        if x < 0:
            raise ArgumentError(f"random.{op}: {x} is negative{user_line()}")
        return int(x)
    shape = shape_of(x)
    if not shape:
        raise ArgumentTypeError(
            f"random.{op}: pass an integer or an array with at least one axis{user_line()}"
        )
    return shape[0]
