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

from ..core.array import Array
from ..core.primitive import bind
from ..errors import ArgumentError, ArgumentTypeError, DrawnError, EmptyError
from ..rules import draws
from ..runtime.kinds import is_a
from ..runtime.lines import user_line
from .continuous import exponential, gumbel, laplace, logistic, multivariate_normal
from .discrete import bernoulli, binomial, categorical, picked_by, poisson
from .implicit import beta, chisquare, dirichlet, gamma, student_t
from .states import affine, checked, drawn, lengths, moved, population, rows

__all__ = [
    "bernoulli",
    "beta",
    "binomial",
    "categorical",
    "chisquare",
    "choice",
    "dirichlet",
    "exponential",
    "gamma",
    "gumbel",
    "key",
    "laplace",
    "logistic",
    "multivariate_normal",
    "normal",
    "permutation",
    "poisson",
    "student_t",
    "uniform",
]

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
        return drawn("uniform", draws.uniform, state, shape, low=float(low), width=width)
    after, out = drawn("uniform", draws.uniform, state, shape, low=0.0, width=1.0)
    return after, affine("uniform", low, high - low, out)


def normal(state: Any, shape: Any = (), mean: Any = 0.0, std: Any = 1.0) -> tuple[Any, Any]:
    """Draw float64 normal numbers. `mean` and `std` may be tracked and are broadcast.

    >>> state, x = nbgrad.random.normal(nbgrad.random.key(0), 1000, mean=3.0)
    >>> bool(abs(x.mean() - 3.0) < 0.2)
    True
    """
    if is_a(mean, _NUMBERS) and is_a(std, _NUMBERS):
        return drawn("normal", draws.normal, state, shape, mean=float(mean), std=float(std))
    after, out = drawn("normal", draws.normal, state, shape, mean=0.0, std=1.0)
    return after, affine("normal", mean, std, out)


def permutation(state: Any, x: Any) -> tuple[Any, Any]:
    """Shuffle the rows of an array, or the integers 0 ... x-1 for an integer x.

    >>> state, order = nbgrad.random.permutation(nbgrad.random.key(1), 4)
    >>> sorted(order.tolist())
    [0, 1, 2, 3]
    """
    n = population("permutation", x)
    order = bind(draws.permutation, checked("permutation", state), shape=(n,))
    return moved(state, n), order if is_a(x, (int, np.integer)) else rows(x, order)


def choice(
    state: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None
) -> tuple[Any, Any]:
    """Draw rows of the array `a`, or of 0 ... a-1 for an integer, with equal probabilities, or with
    the probabilities `p`, one for each row.

    Raises ValueError if `a` is empty, if `replace` is false and `shape` has more elements, and if
    `p` has another length, negative elements, or a sum that is not 1.

    >>> state, some = nbgrad.random.choice(nbgrad.random.key(0), 10, 4, replace=False)
    >>> len(set(some.tolist()))
    4
    """
    n, shape = population("choice", a), lengths("choice", shape)
    count = math.prod(shape)
    if n == 0 and count:
        raise EmptyError("random.choice: a is empty" + user_line())
    if p is not None:
        after, picked = picked_by(state, n, shape, bool(replace), p)
        return after, picked if is_a(a, (int, np.integer)) else rows(a, picked)
    if replace:
        after = moved(state, (count + 1) // 2)
        picked = bind(draws.integers, checked("choice", state), shape=shape, high=n)
    else:
        if count > n:
            raise ArgumentError(
                f"random.choice: {count} draws of {n} without replacement: draw at most {n}, or "
                f"use replace=True{user_line()}"
            )
        after, order = permutation(state, n)
        picked = np.reshape(order[:count], shape)
    return after, picked if is_a(a, (int, np.integer)) else rows(a, picked)
