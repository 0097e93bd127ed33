"""Functions of nbgrad on arrays as loops, which stand for them in functions with loops."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..compiler.front.binding import stand_in_by
from ..compiler.front.values import Array, Known, Lazy, Number, Value
from ..errors import ArgumentError
from ..kernels.random import below, block, cosine, radius, sine, unit

__all__: list[str] = []

# -- random numbers: those of nbgrad.random, bit by bit -------------------------------------------


def key(seed):
    return np.array([seed, 0])


def _moved(state, blocks):
    return np.array([state[0], state[1] + blocks])


def uniform_number(state, shape=(), low=0.0, high=1.0):
    bits = block(np.uint64(state[0]), np.uint64(state[1]))[0]
    return _moved(state, 1), low + (high - low) * unit(bits)


def uniform_array(state, shape=(), low=0.0, high=1.0):
    out = np.empty(shape)
    flat = out.ravel()
    n = flat.size
    for i in range((n + 1) // 2):
        a, b = block(np.uint64(state[0]), np.uint64(state[1]) + np.uint64(i))
        flat[2 * i] = low + (high - low) * unit(a)
        if 2 * i + 1 < n:
            flat[2 * i + 1] = low + (high - low) * unit(b)
    return _moved(state, (n + 1) // 2), out


def normal_number(state, shape=(), mean=0.0, std=1.0):
    a, b = block(np.uint64(state[0]), np.uint64(state[1]))
    return _moved(state, 1), mean + std * (radius(a) * cosine(b))


def normal_array(state, shape=(), mean=0.0, std=1.0):
    out = np.empty(shape)
    flat = out.ravel()
    n = flat.size
    for i in range((n + 1) // 2):
        a, b = block(np.uint64(state[0]), np.uint64(state[1]) + np.uint64(i))
        length = radius(a)
        flat[2 * i] = mean + std * (length * cosine(b))
        if 2 * i + 1 < n:
            flat[2 * i + 1] = mean + std * (length * sine(b))
    return _moved(state, (n + 1) // 2), out


def permutation_number(state, x):
    out = np.empty(x, np.int64)
    for i in range(x):
        out[i] = i
    for i in range(x - 1, 0, -1):
        bits = block(np.uint64(state[0]), np.uint64(state[1]) + np.uint64(i))[0]
        at = below(bits, i + 1)
        held = out[i]
        out[i] = out[at]
        out[at] = held
    return _moved(state, x), out


def choice_number(state, a, shape=(), replace=True):
    bits = block(np.uint64(state[0]), np.uint64(state[1]))[0]
    return _moved(state, 1), below(bits, a)


def choice_array(state, a, shape=(), replace=True):
    out = np.empty(shape, np.int64)
    flat = out.ravel()
    n = flat.size
    for i in range((n + 1) // 2):
        first, second = block(np.uint64(state[0]), np.uint64(state[1]) + np.uint64(i))
        flat[2 * i] = below(first, a)
        if 2 * i + 1 < n:
            flat[2 * i + 1] = below(second, a)
    return _moved(state, (n + 1) // 2), out


def choice_of_few(state, a, shape=(), replace=False):
    if shape > a:
        raise ArgumentError("random.choice: more draws than rows without replacement")
    after, order = permutation_number(state, a)
    return after, order[:shape]


def normal_vector(state, shape=(), mean: Any = 0.0, cov: Any = 1.0):
    after, z = normal_array(state, mean.shape[0])
    return after, mean + np.linalg.cholesky(cov) @ z


def normal_vectors(state, shape=(), mean: Any = 0.0, cov: Any = 1.0):
    after, z = normal_array(state, (shape, mean.shape[0]))
    return after, mean + z @ np.linalg.cholesky(cov).T


def arrays_of_normal_vectors(state, shape=(), mean: Any = 0.0, cov: Any = 1.0):
    count = 1
    for n in shape:
        count *= n
    after, x = normal_vectors(state, count, mean, cov)
    return after, x.reshape(shape + (mean.shape[0],))  # noqa: RUF005


# -- functions of whole arrays --------------------------------------------------------------------


def logsumexp(a):
    top = np.max(a)
    if not math.isfinite(top):
        top = 0.0
    return math.log(np.sum(np.exp(a - top))) + top


def softmax(x):
    powers = np.exp(x - np.max(x))
    return powers / np.sum(powers)


def log_softmax(x):
    moved = x - np.max(x)
    return moved - math.log(np.sum(np.exp(moved)))


def polyval(p, x):
    y = x * 0.0
    for each in p:
        y = y * x + each
    return y


def polyval_upwards(x, c, tensor=True):
    y = x * 0.0
    for each in c[::-1]:
        y = y * x + each
    return y


@cache
def order_statistics(along):
    """Those of an array along an axis, by name."""

    def median(a, axis=None):
        rows, n = np.moveaxis(np.sort(a, along), along, 0), a.shape[along]
        return 0.5 * (rows[(n - 1) // 2] + rows[n // 2])

    def quantile(a, q, axis=None):
        rows, n = np.moveaxis(np.sort(a, along), along, 0), a.shape[along]
        place = q * (n - 1)
        k = min(int(place), max(n - 2, 0))
        return rows[k] + (place - k) * (rows[min(k + 1, n - 1)] - rows[k])

    def percentile(a, q, axis=None):
        return quantile(a, q / 100.0)

    return {"median": median, "quantile": quantile, "percentile": percentile}


# -- which one ------------------------------------------------------------------------------------

_BY_SHAPE = {
    "uniform": (uniform_number, uniform_array, 1), "normal": (normal_number, normal_array, 1),
    "choice": (choice_number, choice_array, 2),
}  # fmt: skip
_OF_ARRAYS = {"logsumexp": logsumexp, "softmax": softmax, "log_softmax": log_softmax}


def _stand_in(
    function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> Callable | None:
    home = str(getattr(function, "__module__", ""))
    name = getattr(function, "__name__", "")
    if home == "nbgrad.rules.special.aliases":
        is_whole = len(operands) == 1 and not named and isinstance(operands[0], (Array, Lazy))
        return _OF_ARRAYS.get(name) if is_whole else None
    if home == "nbgrad.random.continuous" and name == "multivariate_normal":
        return _of_vectors(operands, named)
    if name == "polyval" and home.startswith("numpy"):
        is_upwards = home.startswith("numpy.polynomial")
        given = dict(zip(("x", "c") if is_upwards else ("p", "x"), operands, strict=False))
        shape = getattr((given | dict(named)).get("c" if is_upwards else "p", ()), "shape", (1,))
        return (polyval_upwards if is_upwards else polyval) if len(shape) == 1 else None
    if home.startswith("numpy") and name in ("median", "quantile", "percentile"):
        axis = _axis(operands, named, 1 if name == "median" else 2)
        return None if axis is None else order_statistics(axis)[name]
    if home != "nbgrad.random":
        return None
    if name == "key":
        return key
    second = operands[1] if len(operands) > 1 else named.get("a", named.get("x"))
    is_array = isinstance(second, (Array, Lazy))
    if name == "permutation":
        return None if is_array else permutation_number
    number, array, place = _BY_SHAPE.get(name, (None, None, 0))
    if name == "choice":
        replace = operands[3] if len(operands) > 3 else named.get("replace", Known(True))
        weighted = len(operands) > 4 or "p" in named
        if is_array or weighted or not isinstance(replace, Known):
            return None
        if not replace.value:
            shape = operands[2] if len(operands) > 2 else named.get("shape", ())
            return choice_of_few if _is_integer(shape) else None
    shape = operands[place] if len(operands) > place else named.get("shape", ())
    is_number = shape == () or (isinstance(shape, Known) and shape.value == ())
    return number if is_number else array


def _axis(operands: Sequence[Value], named: Mapping[str, Value], place: int) -> int | None:
    """The axis along which one order statistic of a matrix, or of more axes, is asked for, as the
    argument at a place or by name."""
    of, *others = operands or [Known(None)]
    axis = getattr(named.get("axis", (*operands, *[None] * 3)[place]), "value", None)
    q = [*others[: place - 1], *(x for name, x in named.items() if name == "q")]
    is_simple = len(operands) <= place + 1 and set(named) <= {"axis", "q"}
    rank = len(getattr(of, "shape", ()))
    if rank < 2 or not is_simple or any(isinstance(x, (Array, Lazy, tuple)) for x in q):
        return None
    return axis % rank if type(axis) is int else None


def _of_vectors(operands: Sequence[Value], named: Mapping[str, Value]) -> Callable | None:
    """Draws with one mean and one covariance."""
    given = dict(zip(("state", "shape", "mean", "cov"), operands, strict=False)) | dict(named)
    ranks = [len(getattr(given.get(x), "shape", ())) for x in ("mean", "cov")]
    shape = given.get("shape", Known(()))
    if ranks != [1, 2]:
        return None
    if shape == () or (isinstance(shape, Known) and shape.value == ()):
        return normal_vector
    return normal_vectors if _is_integer(shape) else arrays_of_normal_vectors


def _is_integer(value: Any) -> bool:
    if isinstance(value, Known):
        return isinstance(value.value, int)
    return isinstance(value, Number) and value.dtype.kind in "iu"


stand_in_by(_stand_in)
