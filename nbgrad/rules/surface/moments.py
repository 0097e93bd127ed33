"""Averages, covariances and correlations."""

import math

import numpy as np

from ...core.array import Array, implements
from ...core.primitive import shape_of
from ...errors import ArgumentError, DimensionMismatch, coded
from ...kernels import shapes
from ...runtime.kinds import is_a
from ..layout import given
from ..nondiff import stopped


@implements(np.average)
def average(a, axis=None, weights=None, returned: bool = False, *, keepdims: bool = False):
    """The weighted mean over `axis`; weights have a derivative too."""
    a = given(a)
    shape = shape_of(a)
    axes = shapes.axes_of(axis, len(shape), "average")
    if weights is None:
        mean = np.mean(a, axis=axes, keepdims=keepdims)
        total = np.full(shape_of(mean), math.prod(shape[i] for i in axes), mean.dtype)
        return (mean, total) if returned else mean
    weights = given(weights)
    of_axes = tuple(shape[i] for i in axes)
    if shape_of(weights) == of_axes and shape_of(weights) != shape:
        weights = np.reshape(weights, tuple(n if i in axes else 1 for i, n in enumerate(shape)))
    elif shape_of(weights) != shape:
        raise DimensionMismatch(
            f"average: weights of shape {shape_of(weights)}; they have the shape {shape} of the "
            f"array, or the lengths {of_axes} of its axes {axes}"
        )
    weights = np.broadcast_to(weights, shape)
    total = np.sum(weights, axis=axes, keepdims=keepdims)
    if is_a(total, np.ndarray) and np.any(total == 0):
        raise ZeroDivisionError(
            coded("average: weights sum to zero, so they cannot be normalized", "NB-VALUE")
        )
    mean = np.sum(a * weights, axis=axes, keepdims=keepdims) / total
    return (mean, np.broadcast_to(total, shape_of(mean))) if returned else mean


@implements(np.cov)
def cov(m, y=None, rowvar: bool = True, bias: bool = False, ddof=None, fweights=None,
        aweights=None, *, dtype=None):  # fmt: skip
    """Covariances of the rows, or of the columns if `rowvar` is false; `aweights` have a derivative
    too."""
    x = _variables(m, rowvar)
    if y is not None:
        x = np.concatenate([x, _variables(y, rowvar or len(shape_of(y)) == 1)], axis=0)
    x = x.astype(np.float64 if dtype is None else dtype)
    aweights = aweights if aweights is None else given(aweights)
    if ddof is not None and ddof != int(ddof):
        raise ArgumentError("cov: ddof must be a whole number")
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights = _weights(fweights, aweights, shape_of(x)[1])
    if weights is None:
        mean, divisor = np.mean(x, axis=1, keepdims=True), shape_of(x)[1] - ddof
        scaled = x - mean
    else:
        total = np.sum(weights)
        mean = np.sum(x * weights, axis=1, keepdims=True) / total
        spread = total if aweights is None else np.sum(weights * aweights) / total
        divisor = total - ddof * (spread if aweights is not None else 1)
        scaled = (x - mean) * weights
    if not isinstance(divisor, Array):
        divisor = max(divisor, 0)
    centred = x - mean
    product = centred @ np.transpose(scaled)
    return np.squeeze(product / divisor if _nonzero(divisor) else stopped(product) * np.inf)


def _nonzero(divisor) -> bool:
    return isinstance(divisor, Array) or bool(divisor)


def _variables(m, rowvar: bool):
    m = given(m)
    if len(shape_of(m)) > 2:
        raise ArgumentError("m has more than 2 dimensions")
    if len(shape_of(m)) < 2:
        return np.reshape(m, (1, -1))
    return m if rowvar or shape_of(m)[0] == 1 else np.transpose(m)


def _weights(fweights, aweights, n: int):
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is not None and shape_of(weights) != (n,):
            raise DimensionMismatch(
                f"cov: {name} of shape {shape_of(weights)}; there is one for each of the {n} "
                "observations"
            )
    if fweights is None or aweights is None:
        return aweights if fweights is None else np.asarray(fweights, np.float64)
    return np.asarray(fweights, np.float64) * aweights


@implements(np.corrcoef)
def corrcoef(x, y=None, rowvar: bool = True, *, dtype=None):
    """Correlations of the rows, or of the columns if `rowvar` is false."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not shape_of(c):
        return c / c
    d = np.sqrt(np.diagonal(c))
    r = c / d[:, None] / d[None, :]
    # Clip as a constant, since clipping would affect second derivatives at 1.
    return r + stopped(np.clip(r, -1.0, 1.0) - r)
