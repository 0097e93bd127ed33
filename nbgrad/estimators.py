"""The trace of a Jacobian: `divergence` is exact, `trace_estimate` uses few random vectors.

A product J @ v costs one pushforward. The exact trace of J needs one product per element of x.
"""

import math
import operator
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from .core.array import Array
from .core.primitive import shape_of
from .core.symbols import Symbol
from .errors import (
    ArgumentError,
    ArgumentTypeError,
    DimensionMismatch,
    DrawnError,
    EagerOnlyError,
    ResultError,
)
from .runtime.kinds import is_a
from .runtime.lines import user_line
from .static.trace.record import is_recording
from .transforms import jvp, trees, vmap
from .values.operands import float_array, real_array

Method = Literal["hutchinson", "hutch++"]
# Products computed in one pass: enough for long loops, with little memory.
_BLOCK = 64
Probes = Literal["rademacher", "gaussian", "orthogonal"]


class TraceEstimate(NamedTuple):
    """An estimate of a trace and its standard error.

    The standard error is nan for a single probe, and 0 if the products determine the trace.

    >>> matrix = np.diag([1.0, 2.0, 3.0])
    >>> estimate = nbgrad.trace_estimate(lambda x: matrix @ x, np.zeros(3), samples=4)
    >>> round(float(estimate.value), 6)
    6.0
    """

    value: Any
    standard_error: Any


def divergence(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that computes the divergence of `f`, the trace of its Jacobian.

    Its argument is a float array x of any shape, and `f` must return an array of the same shape.
    The divergence is the sum of the derivatives of f(x)[i] with respect to x[i]. It is computed
    with one product with the Jacobian per element of x, 64 at a time; `trace_estimate` needs fewer.
    The function can be differentiated and compiled.

    Raises TypeError if `f` is not a function or does not return an array, or if x is not a real
    array, DimensionMismatch if f(x) and x have different shapes.

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
    f: Callable[[Any], Any],
    x: Any,
    method: Method = "hutchinson",
    *,
    samples: int = 30,
    rng: np.random.Generator | int | None = None,
    probes: Probes = "rademacher",
    linear: bool = False,
) -> TraceEstimate:
    """Return an unbiased estimate of the trace of a Jacobian or a matrix, from products with it.

    Arguments:
        f: a vector field that returns an array of the shape of x. With `linear`, a matrix-vector
            product v -> A @ v.
        x: a float array of any shape, the point at which the Jacobian is taken. With `linear`, the
            length of the vectors, or an array with their shape and dtype, whose values are ignored.
        method: "hutchinson" is the mean of v @ J @ v over random vectors v (Hutchinson, 1990).
            "hutch++" uses a third of the products to find the range of J @ S for a random S, a
            third for the exact trace over that range, and the rest for Hutchinson's estimate of the
            remainder (Meyer, Musco, Musco and Woodruff, 2021). It is more accurate if the spectrum
            decays.
        samples: the number of products, at least 1, or 3 for hutch++. Fewer are computed if they
            determine the trace.
        rng: a NumPy Generator or a seed. By default, each call uses other random numbers.
        probes: the distribution of v: "rademacher" for random signs, "gaussian" for normal numbers,
            "orthogonal" for uniformly distributed orthogonal vectors, which give the exact trace if
            `samples` is at least the size of x.

    Returns a named tuple of the estimate and its standard error, computed from the variance over
    the probes. The estimate can be differentiated; the range that hutch++ uses is then held
    constant, so the derivative is unbiased.

    Raises TypeError if `f` is not a function or does not return a real array, DimensionMismatch if
    its result and x have different shapes, ValueError for an unknown method or kind of probes and
    for too few samples.

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
    """Return up to `count` probes as rows, orthogonal to the orthonormal rows of `basis`.

    The mean of v v' is the projection on the orthogonal complement of `basis`. There are fewer
    probes if fewer span that space.
    """
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
    """Return the standard error of the mean of `estimates`.

    Orthogonal probes are drawn without replacement: the mean over a full set is the exact trace, so
    the variance is multiplied by 1 - count / dimension.
    """
    count = len(estimates)
    left = 1.0 - count / dimension if probes == "orthogonal" else 1.0
    if left == 0.0:
        return 0.0
    if count == 1:
        return math.nan
    return np.sqrt(np.var(estimates, ddof=1) * (left / count))


def _pushed(op: str, f: Callable, x: Any, vectors: np.ndarray) -> Any:
    """Return the products of the Jacobian of `f` at x with the rows of `vectors`, as rows."""

    def product(v: Any) -> Any:
        y, y_dot = jvp(f, (x,), (v.reshape(x.shape),))
        if not isinstance(y, (Array, np.ndarray, np.generic, float, int)):
            raise ResultError(
                f"{op}: f returned a {type(y).__name__}, not an array: join its parts with np.stack"
            )
        if shape_of(y) != x.shape:
            raise DimensionMismatch(
                f"{op}: f returned shape {shape_of(y)} for an argument of shape {x.shape}; the "
                "shapes must be equal, because only a square Jacobian has a trace"
            )
        return np.ravel(y_dot)

    return vmap(product)(vectors)


def _applied(f: Callable, v: np.ndarray) -> Any:
    """Return the matrix-vector product f(v)."""
    y = f(v)
    if not isinstance(y, Array):
        y = real_array(y, "trace_estimate: the product")
    if y.shape != v.shape:
        raise DimensionMismatch(
            f"trace_estimate: the product has shape {y.shape} for a vector of shape {v.shape}; "
            "the shapes must be equal, because only a square matrix has a trace"
        )
    return y


def _numbers(y: Any) -> np.ndarray:
    """Return the plain values of a product, without derivatives."""
    while isinstance(y, Array):
        if isinstance(y, Symbol):
            raise EagerOnlyError(
                "trace_estimate: hutch++ needs a QR factorisation, which cannot be compiled: use "
                'method="hutchinson"' + user_line()
            )
        y = y.below
    return y


def _like(x: Any) -> Any:
    """Return an array with the shape and dtype of the vectors of a matrix-vector product."""
    if is_a(x, (int, np.integer)) and not isinstance(x, bool):
        if x < 0:
            raise ArgumentError(f"trace_estimate: the size is {x}; it must not be negative")
        return np.zeros(int(x))
    return float_array(x, op="trace_estimate")


def _samples(samples: Any, method: Method) -> int:
    least = 3 if method == "hutch++" else 1
    try:
        samples = operator.index(samples)
    except TypeError:
        raise ArgumentTypeError(
            f"trace_estimate: samples must be an integer, not a {type(samples).__name__}"
        ) from None
    if samples < least:
        raise ArgumentError(
            f"trace_estimate: samples is {samples}; {method} needs at least {least}"
        )
    return samples


def _generator(rng: Any) -> np.random.Generator:
    """Return the generator of the probes. Raises TypeError for anything but a Generator or seed."""
    if is_recording() and (rng is None or isinstance(rng, np.random.Generator)):
        raise DrawnError(
            "trace_estimate: a compiled function draws its probes while it is traced: pass a seed "
            "as rng, for the same probes in each call" + user_line()
        )
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"trace_estimate: rng is {rng!r}; pass a NumPy Generator or a non-negative integer as "
            "seed"
        ) from None


def _require_among(what: str, value: Any, allowed: Any) -> None:
    if value not in get_args(allowed):
        names = ", ".join(map(repr, get_args(allowed)))
        raise ArgumentError(f"trace_estimate: {what} is {value!r}; it must be one of {names}")
