"""Random numbers with an explicit state, with the same results in eager and compiled code.

>>> state = nbgrad.random.key(0)
>>> state, noise = nbgrad.random.normal(state, (2, 3))
>>> noise.shape
(2, 3)

Each function returns the next state and the numbers. The same state gives the same numbers, so pass
the returned state to the next call. The generator is Philox 4x32-10 (Salmon and others, 2011). A
state is an array of two int64, a key and the number of blocks used, and can be passed through loops
and compiled functions.
"""

import math
import operator
from typing import Any

import numpy as np

from .core.array import Array
from .core.primitive import Primitive, bind, shape_of
from .errors import ArgumentError, ArgumentTypeError, DrawnError, EmptyError
from .rules import draws
from .rules.index import index_of
from .runtime.kinds import is_a
from .runtime.lines import user_line

__all__ = ["choice", "key", "normal", "permutation", "uniform"]

_NUMBERS = (int, float)


def key(seed: int) -> np.ndarray:
    """Return the initial state for a seed, an integer of up to 64 bits.

    Raises TypeError if the seed is not an integer, ValueError if it has more than 64 bits.

    >>> nbgrad.random.key(7)
    array([7, 0])
    """
    if isinstance(seed, Array):
        raise DrawnError(
            "random.key: the seed is traced: create the key outside of the function and pass it in"
            + user_line()
        )
    try:
        seed = operator.index(seed)
    except TypeError:
        raise ArgumentTypeError(
            f"random.key: the seed must be an integer, not a {type(seed).__name__}",
            code="NB-RANDOM",
        ) from None
    if not -(2**63) <= seed < 2**64:
        raise ArgumentError(f"random.key: the seed {seed} has more than 64 bits", code="NB-RANDOM")
    return np.array([seed - 2**64 if seed >= 2**63 else seed, 0], np.int64)


def uniform(state: Any, shape: Any = (), low: Any = 0.0, high: Any = 1.0) -> tuple[Any, Any]:
    """Draw float64 numbers in [low, high). `low` and `high` may be tracked and are broadcast.

    >>> state, u = nbgrad.random.uniform(nbgrad.random.key(1), 3)
    >>> bool(np.all((0 <= u) & (u < 1)))
    True
    """
    if is_a(low, _NUMBERS) and is_a(high, _NUMBERS):
        width = float(high) - float(low)
        return _drawn("uniform", draws.uniform, state, shape, low=float(low), width=width)
    after, out = _drawn("uniform", draws.uniform, state, shape, low=0.0, width=1.0)
    return after, _affine("uniform", low, high - low, out)


def normal(state: Any, shape: Any = (), mean: Any = 0.0, std: Any = 1.0) -> tuple[Any, Any]:
    """Draw float64 normal numbers. `mean` and `std` may be tracked and are broadcast.

    >>> state, x = nbgrad.random.normal(nbgrad.random.key(0), 1000, mean=3.0)
    >>> bool(abs(x.mean() - 3.0) < 0.2)
    True
    """
    if is_a(mean, _NUMBERS) and is_a(std, _NUMBERS):
        return _drawn("normal", draws.normal, state, shape, mean=float(mean), std=float(std))
    after, out = _drawn("normal", draws.normal, state, shape, mean=0.0, std=1.0)
    return after, _affine("normal", mean, std, out)


def _drawn(op: str, row: Primitive, state: Any, shape: Any, **params: float) -> tuple[Any, Any]:
    shape = _shape(op, shape)
    out = bind(row, _state(op, state), shape=shape, **params)
    return _after(state, (math.prod(shape) + 1) // 2), out


def _affine(op: str, shift: Any, scale: Any, draws: Any) -> Any:
    out = shift + scale * draws
    if shape_of(out) != shape_of(draws):
        raise ArgumentError(
            f"random.{op}: parameters of shape {shape_of(out)} do not broadcast to the shape "
            f"{shape_of(draws)}{user_line()}"
        )
    return out


def permutation(state: Any, x: Any) -> tuple[Any, Any]:
    """Shuffle the rows of an array, or the integers 0 ... x-1 for an integer x.

    >>> state, order = nbgrad.random.permutation(nbgrad.random.key(1), 4)
    >>> sorted(order.tolist())
    [0, 1, 2, 3]
    """
    n = _population("permutation", x)
    order = bind(draws.permutation, _state("permutation", state), shape=(n,))
    return _after(state, n), order if is_a(x, (int, np.integer)) else _rows(x, order)


def choice(state: Any, a: Any, shape: Any = (), replace: bool = True) -> tuple[Any, Any]:
    """Draw rows of the array `a`, or of 0 ... a-1 for an integer, with equal probabilities.

    Raises ValueError if `a` is empty, or if `replace` is false and `shape` has more elements.

    >>> state, rows = nbgrad.random.choice(nbgrad.random.key(0), 10, 4, replace=False)
    >>> len(set(rows.tolist()))
    4
    """
    n, shape = _population("choice", a), _shape("choice", shape)
    count = math.prod(shape)
    if n == 0 and count:
        raise EmptyError("random.choice: a is empty" + user_line())
    if replace:
        after = _after(state, (count + 1) // 2)
        picked = bind(draws.integers, _state("choice", state), shape=shape, high=n)
    else:
        if count > n:
            raise ArgumentError(
                f"random.choice: {count} draws of {n} without replacement: draw at most {n}, or "
                f"use replace=True{user_line()}"
            )
        after, order = permutation(state, n)
        picked = np.reshape(order[:count], shape)
    return after, picked if is_a(a, (int, np.integer)) else _rows(a, picked)


def _rows(x: Any, picked: Any) -> Any:
    return index_of(x, picked) if isinstance(picked, Array) else x[picked]


def _state(op: str, state: Any) -> Any:
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


def _after(state: Any, blocks: int) -> Any:
    return state + np.array([0, blocks])


def _shape(op: str, shape: Any) -> tuple[int, ...]:
    try:
        shape = tuple(map(operator.index, shape if isinstance(shape, (tuple, list)) else (shape,)))
    except TypeError:
        raise ArgumentTypeError(
            f"random.{op}: the shape must be an integer or a tuple of integers, not "
            f"{shape!r}{user_line()}"
        ) from None
    if any(n < 0 for n in shape):
        raise ArgumentError(f"random.{op}: the shape {shape} has a negative length{user_line()}")
    return shape


def _population(op: str, x: Any) -> int:
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
