"""Random numbers with an explicit state: `(state, draws)`, the same in both tiers.

>>> state = nbgrad.random.key(0)
>>> state, noise = nbgrad.random.normal(state, (2, 3))
>>> noise.shape
(2, 3)

The generator is Philox 4x32-10 (Salmon and others, 2011). A state is an array of two int64, a key
and how many blocks of it are used: data, which passes through loops and compiled functions. The
same state gives the same numbers, so go on with the state that comes back.
"""

import math
import operator
from typing import Any

import numpy as np

from .core.array import Array
from .core.primitive import bind, shape_of
from .errors import TraceError
from .rules import draws
from .rules.index import index_of
from .runtime.kinds import is_a
from .runtime.lines import user_line

__all__ = ["choice", "key", "normal", "permutation", "uniform"]

_UNIT = {"low": 0.0, "width": 1.0}
_STANDARD = {"mean": 0.0, "std": 1.0}


def key(seed: int) -> np.ndarray:
    """The state for a seed, any integer of 64 bits.

    Raises TypeError for what is no integer, ValueError beyond 64 bits.
    """
    if isinstance(seed, Array):
        raise TraceError(
            "random.key: the seed is traced: make the key outside and pass it in" + user_line()
        )
    try:
        seed = operator.index(seed)
    except TypeError:
        raise TypeError(f"random.key: a seed is an integer, not a {type(seed).__name__}") from None
    if not -(2**63) <= seed < 2**64:
        raise ValueError(f"random.key: the seed {seed} has more than 64 bits")
    return np.array([seed - 2**64 if seed >= 2**63 else seed, 0], np.int64)


def uniform(state: Any, shape: Any = (), low: Any = 0.0, high: Any = 1.0) -> tuple[Any, Any]:
    """Numbers in [low, high), float64; low and high may be tracked, and broadcast to `shape`.

    >>> state, u = nbgrad.random.uniform(nbgrad.random.key(1), 3)
    >>> bool(np.all((0 <= u) & (u < 1)))
    True
    """
    shape = _shape("uniform", shape)
    plain = _plain(low, high)
    params = {"low": float(low), "width": float(high) - float(low)} if plain else _UNIT
    out = bind(draws.uniform, _state("uniform", state), shape=shape, **params)
    out = out if plain else low + (high - low) * out
    return _after(state, (math.prod(shape) + 1) // 2), _filled("uniform", out, shape)


def normal(state: Any, shape: Any = (), mean: Any = 0.0, std: Any = 1.0) -> tuple[Any, Any]:
    """Normal numbers, float64; mean and std may be tracked, and broadcast to `shape`."""
    shape = _shape("normal", shape)
    plain = _plain(mean, std)
    params = {"mean": float(mean), "std": float(std)} if plain else _STANDARD
    out = bind(draws.normal, _state("normal", state), shape=shape, **params)
    out = out if plain else mean + std * out
    return _after(state, (math.prod(shape) + 1) // 2), _filled("normal", out, shape)


def permutation(state: Any, x: Any) -> tuple[Any, Any]:
    """0 ... x-1 in random order for an integer x, or the rows of an array in random order.

    >>> state, order = nbgrad.random.permutation(nbgrad.random.key(1), 4)
    >>> sorted(order.tolist())
    [0, 1, 2, 3]
    """
    n = _population("permutation", x)
    order = bind(draws.permutation, _state("permutation", state), shape=(n,))
    return _after(state, n), order if is_a(x, (int, np.integer)) else _rows(x, order)


def choice(state: Any, a: Any, shape: Any = (), replace: bool = True) -> tuple[Any, Any]:
    """Rows of the array `a`, or of 0 ... a-1 for an integer, drawn with equal chances.

    Raises ValueError for nothing to draw from, or more draws than there are without `replace`.
    """
    n, shape = _population("choice", a), _shape("choice", shape)
    count = math.prod(shape)
    if n == 0 and count:
        raise ValueError("random.choice: there is nothing to draw from" + user_line())
    if replace:
        after = _after(state, (count + 1) // 2)
        picked = bind(draws.integers, _state("choice", state), shape=shape, high=n)
    else:
        if count > n:
            raise ValueError(
                f"random.choice: {count} draws of {n} without replacement; draw at most {n}, or "
                f"with replace=True{user_line()}"
            )
        after, order = permutation(state, n)
        picked = np.reshape(order[:count], shape)
    return after, picked if is_a(a, (int, np.integer)) else _rows(a, picked)


def _rows(x: Any, picked: Any) -> Any:
    return index_of(x, picked) if isinstance(picked, Array) else x[picked]


def _state(op: str, state: Any) -> Any:
    """The state as an op takes it. Raises TypeError for anything else."""
    fits = shape_of(state) == (2,) and getattr(state, "dtype", None) == np.int64
    if not fits:
        what = (
            "a NumPy Generator"
            if isinstance(state, (np.random.Generator, np.random.RandomState))
            else f"a {type(state).__name__}"
            + (f" of shape {shape_of(state)}" if hasattr(state, "shape") else "")
        )
        raise TypeError(
            f"random.{op}: the state is {what}: start with nbgrad.random.key(seed), and go on with "
            f"the state that each draw gives back{user_line()}"
        )
    return state if isinstance(state, Array) else np.asarray(state)


def _after(state: Any, blocks: int) -> Any:
    return state + np.array([0, blocks])


def _shape(op: str, shape: Any) -> tuple[int, ...]:
    try:
        shape = tuple(map(operator.index, shape if isinstance(shape, (tuple, list)) else (shape,)))
    except TypeError:
        raise TypeError(
            f"random.{op}: a shape is an integer or a tuple of integers, not {shape!r}{user_line()}"
        ) from None
    if any(n < 0 for n in shape):
        raise ValueError(f"random.{op}: the shape {shape} has a negative length{user_line()}")
    return shape


def _filled(op: str, out: Any, shape: tuple[int, ...]) -> Any:
    if shape_of(out) != shape:
        raise ValueError(
            f"random.{op}: parameters of shape {shape_of(out)} do not broadcast to the shape "
            f"{shape} that was asked for{user_line()}"
        )
    return out


def _population(op: str, x: Any) -> int:
    if is_a(x, (int, np.integer)):
        if x < 0:
            raise ValueError(f"random.{op}: {x} is negative{user_line()}")
        return int(x)
    shape = shape_of(x)
    if not shape:
        raise TypeError(f"random.{op}: an integer or an array with axes{user_line()}")
    return shape[0]


def _plain(*numbers: Any) -> bool:
    return all(is_a(x, (int, float)) for x in numbers)
