"""The trace of a Jacobian: `divergence`, exact, and `trace_estimate`, from products with few random
vectors.

A product J @ v costs one pushforward, whatever the size; the trace of J exactly costs as many of
them as x has elements.
"""

import math
import operator
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from .core.array import Array
from .core.primitive import shape_of
from .core.symbols import Symbol
from .errors import DimensionMismatch, TraceError
from .runtime.kinds import is_a
from .runtime.lines import user_line
from .static.trace.record import is_recording
from .transforms import jvp, trees, vmap
from .values.operands import float_array, real_array

Method = Literal["hutchinson", "hutch++"]
# Products with a Jacobian in one pass: the loops are full, and what is kept stays small.
_BLOCK = 64
Probes = Literal["rademacher", "gaussian", "orthogonal"]


class TraceEstimate(NamedTuple):
    """An estimate of a trace, and the standard error of it: nan where one probe tells of no
    spread, 0 where the products determine the trace."""

    value: Any
    standard_error: Any


def divergence(f: Callable) -> Callable:
    """The function that gives the divergence of a vector field: the trace of its Jacobian.

    It takes one float array x of any shape, for which `f` gives an array of that shape, and gives
    the sum of the derivatives of f(x)[i] with respect to x[i], a number. It takes as many products
    with the Jacobian as x has elements, 64 in one pass, and never keeps more of its columns;
    `trace_estimate` takes fewer. It can be differentiated and compiled.

    Raises TypeError where `f` is no function, gives no array, or x is complex or holds no numbers,
    DimensionMismatch where f(x) has another shape than x.

    >>> field = lambda x: np.stack([x[0] * x[1], np.sin(x[1])])
    >>> float(nbgrad.divergence(field)(np.array([5.0, 0.0])))
    1.0
    """
    trees.require_function("divergence", f)

    def divergence_of(x: Any) -> Any:
        x = float_array(x, op="divergence")
        n = math.prod(x.shape)
        total: Any = np.zeros((), x.dtype)[()]
        for start in range(0, n, _BLOCK):
            units = np.eye(min(_BLOCK, n - start), n, start, x.dtype)
            columns = _pushed("divergence", f, x, units)
            total = total + np.trace(columns[:, start : start + _BLOCK])
        return total

    return divergence_of


def trace_estimate(
    f: Callable,
    x: Any,
    method: Method = "hutchinson",
    *,
    samples: int = 30,
    rng: np.random.Generator | int | None = None,
    probes: Probes = "rademacher",
    linear: bool = False,
) -> TraceEstimate:
    """An unbiased estimate of the trace of a Jacobian, or of a matrix, from products with it.

    Arguments:
        f: a vector field, which gives an array of the shape of x. With `linear`, a matrix-vector
            product v -> A @ v.
        x: a float array of any shape, where the Jacobian is taken. With `linear`, the size: the
            length of the vectors, or an array of their shape and dtype, whose numbers are not read.
        method: "hutchinson" is the mean of v @ J @ v over random vectors v (Hutchinson, 1990).
            "hutch++" spends a third of the products on the range of J @ S for a random S, a third
            on the exact trace over that range, and the rest on Hutchinson's estimate of what is
            left (Meyer, Musco, Musco and Woodruff, 2021): better where the spectrum decays.
        samples: how many products in all, at least 1, and 3 for hutch++. Fewer are taken where
            fewer determine the trace.
        rng: a NumPy Generator or a seed. The default differs from call to call.
        probes: "rademacher" is signs, "gaussian" normal numbers, "orthogonal" uniformly distributed
            vectors at right angles, which give the exact trace once there are as many as elements.

    Returns a named tuple of the estimate and its standard error, estimated from the spread of the
    probes. The estimate can be differentiated; of hutch++ the range is then held fixed, which
    keeps the derivative unbiased.

    Raises TypeError where `f` is no function or gives no array of real numbers, DimensionMismatch
    where its result has another shape than x, ValueError for an unknown method or kind of probes
    and for too few samples.

    >>> a = np.diag([3.0, 2.0, 1.0])
    >>> estimate = nbgrad.trace_estimate(lambda x: a @ x, np.ones(3), samples=4, rng=0)
    >>> float(estimate.value), float(estimate.standard_error)
    (6.0, 0.0)
    """
    trees.require_function("trace_estimate", f)
    _require_among("method", method, Method)
    _require_among("probes", probes, Probes)
    samples = _samples(samples, method)
    x = _like(x) if linear else float_array(x, op="trace_estimate")
    generator = _generator(rng)
    n = math.prod(x.shape)

    def products(vectors: np.ndarray) -> Any:
        if linear:
            directions = [v.reshape(x.shape) for v in vectors]
            return np.stack([np.ravel(_applied(f, v)) for v in directions])
        blocks = range(0, len(vectors), _BLOCK)
        rows = [_pushed("trace_estimate", f, x, vectors[i : i + _BLOCK]) for i in blocks]
        return rows[0] if len(rows) == 1 else np.concatenate(rows)

    sketched = min(samples // 3, n) if method == "hutch++" else 0
    basis = np.zeros((0, n), x.dtype)
    if sketched:
        sketch = _numbers(products(_drawn(generator, probes, basis, sketched)))
        basis = np.ascontiguousarray(np.linalg.qr(sketch.T)[0].T)
    rest = _drawn(generator, probes, basis, samples - 2 * sketched)
    value: Any = np.zeros((), x.dtype)[()]
    if len(basis):
        value = np.sum(basis * products(basis))
    if not len(rest):
        return TraceEstimate(value, 0.0)
    estimates = np.sum(rest * products(rest), axis=1)
    error = _error_of_mean(estimates, probes, n - len(basis))
    return TraceEstimate(value + np.mean(estimates), error)


def _drawn(rng: np.random.Generator, kind: str, basis: np.ndarray, count: int) -> np.ndarray:
    """`count` probes v as rows, at right angles to the orthonormal rows of `basis`: the mean of
    v v' is the projection on what they leave. Fewer where fewer span that."""
    rank, n = basis.shape
    if kind == "orthogonal" or rank == n:
        count = min(count, n - rank)
    if kind == "rademacher":
        draws = rng.choice([-1.0, 1.0], (count, n))
    else:
        draws = rng.standard_normal((count, n))
    if kind == "orthogonal":
        directions = np.linalg.qr(np.vstack([basis, draws]).T)[0].T[rank:]
        probes = math.sqrt(n - rank) * directions
    else:
        probes = draws - (draws @ basis.T) @ basis
    return np.ascontiguousarray(probes, basis.dtype)


def _error_of_mean(estimates: Any, probes: str, dimension: int) -> Any:
    """The standard error of the mean of `estimates`.

    Those of orthogonal probes are drawn without replacement: over a full set of them, as many as
    the dimension, their mean is the trace, which leaves a share of 1 - count / dimension of the
    variance.
    """
    count = len(estimates)
    left = 1.0 - count / dimension if probes == "orthogonal" else 1.0
    if left == 0.0:
        return 0.0
    if count == 1:
        return math.nan
    return np.sqrt(np.var(estimates, ddof=1) * (left / count))


def _pushed(op: str, f: Callable, x: Any, vectors: np.ndarray) -> Any:
    """The products of the Jacobian of `f` at x with the rows of `vectors`, as rows."""

    def product(v: Any) -> Any:
        y, y_dot = jvp(f, (x,), (v.reshape(x.shape),))
        if not isinstance(y, (Array, np.ndarray, np.generic, float, int)):
            raise TypeError(
                f"{op}: f gave a {type(y).__name__}, not an array; join its parts with np.stack"
            )
        if shape_of(y) != x.shape:
            raise DimensionMismatch(
                f"{op}: f gives shape {shape_of(y)} for an argument of shape {x.shape}; a vector "
                "field has equal ones, as a trace belongs to a square matrix"
            )
        return np.ravel(y_dot)

    return vmap(product)(vectors)


def _applied(f: Callable, v: np.ndarray) -> Any:
    """The matrix-vector product f(v)."""
    y = f(v)
    if not isinstance(y, Array):
        y = real_array(y, "trace_estimate: the product")
    if y.shape != v.shape:
        raise DimensionMismatch(
            f"trace_estimate: the product has shape {y.shape} for a vector of shape {v.shape}; "
            "they must be equal, as a trace belongs to a square matrix"
        )
    return y


def _numbers(y: Any) -> np.ndarray:
    """The plain values of a product, whose derivative is not wanted."""
    while isinstance(y, Array):
        if isinstance(y, Symbol):
            raise TraceError(
                "trace_estimate: hutch++ factorises its products, which a compiled function "
                'cannot: use method="hutchinson" there' + user_line()
            )
        y = y.below
    return y


def _like(x: Any) -> Any:
    """Zeros of the shape and dtype of the vectors of a matrix-vector product."""
    if is_a(x, (int, np.integer)) and not isinstance(x, bool):
        if x < 0:
            raise ValueError(f"trace_estimate: the size is {x}; it must not be negative")
        return np.zeros(int(x))
    return float_array(x, op="trace_estimate")


def _samples(samples: Any, method: Method) -> int:
    least = 3 if method == "hutch++" else 1
    try:
        samples = operator.index(samples)
    except TypeError:
        raise TypeError(
            f"trace_estimate: samples is an integer, not a {type(samples).__name__}"
        ) from None
    if samples < least:
        raise ValueError(
            f"trace_estimate: {samples} samples; {method} takes at least {least}"
            + (", one for each of its three parts" if least == 3 else "")
        )
    return samples


def _generator(rng: Any) -> np.random.Generator:
    """The generator that draws the probes. Raises TypeError for what is neither that nor a seed."""
    if is_recording() and (rng is None or isinstance(rng, np.random.Generator)):
        raise TraceError(
            "trace_estimate: the probes of a compiled function are drawn while it is recorded: "
            "give rng a seed, for the same probes at each call" + user_line()
        )
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise TypeError(
            f"trace_estimate: rng is {rng!r}; give a NumPy Generator or a seed, an integer from 0 "
            "on"
        ) from None


def _require_among(what: str, value: Any, allowed: Any) -> None:
    if value not in get_args(allowed):
        names = ", ".join(map(repr, get_args(allowed)))
        raise ValueError(f"trace_estimate: {what} is {value!r}; it is one of {names}")
