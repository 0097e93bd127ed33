"""Draws of integers: they have no derivative."""

import math
from typing import Any

import numpy as np

from ..core.assertions import require
from ..core.primitive import shape_of
from ..errors import ArgumentError
from ..rules.layout import given
from ..rules.nondiff import stopped
from ..rules.softmax import softmax
from ..runtime.lines import user_line
from ..transforms.elementwise import custom_elementwise
from .continuous import exponentials, parameters, uniforms
from .states import lengths

_poisson_quantile = custom_elementwise(
    "poisson_quantile(x, y)", partials=[None, None], name="poisson_quantile"
)

_binomial_quantile = custom_elementwise(
    "binomial_quantile(x, y, z)", partials=[None, None, None], name="binomial_quantile"
)


def poisson(state: Any, shape: Any = (), mean: Any = 1.0) -> tuple[Any, Any]:
    """Draw int64 numbers of the Poisson distribution; `mean` broadcasts to `shape`.

    A draw is the quantile of a uniform number, and has no derivative in `mean`. Raises ValueError
    if `mean` is negative.

    >>> state, n = nbgrad.random.poisson(nbgrad.random.key(0), 1000, mean=3.5)
    >>> bool(abs(n.mean() - 3.5) < 0.2)
    True
    """
    shape = lengths("poisson", shape)
    (mean,), _ = parameters("poisson", shape, mean=mean)
    allowed = np.logical_and(mean >= 0, mean < 1e18)
    require(np.all(allowed), f"random.poisson: mean must not be negative{user_line()}")
    after, u = uniforms("poisson", state, shape)
    return after, _poisson_quantile(stopped(mean), u).astype(np.int64)


def binomial(state: Any, shape: Any = (), n: Any = 1, p: Any = 0.5) -> tuple[Any, Any]:
    """Draw int64 numbers of the binomial distribution: successes in `n` trials, each with the
    probability `p`; both broadcast to `shape`.

    A draw is the quantile of a uniform number, and has no derivative in `p`. Raises ValueError if
    `n` is not a number of trials, or if `p` is not in [0, 1].

    >>> state, k = nbgrad.random.binomial(nbgrad.random.key(0), 1000, n=20, p=0.3)
    >>> bool(abs(k.mean() - 6.0) < 0.3)
    True
    """
    shape = lengths("binomial", shape)
    (n, p), _ = parameters("binomial", shape, n=n, p=p)
    whole = np.logical_and(np.logical_and(n >= 0, n < 1e15), n == np.floor(n))
    require(np.all(whole), f"random.binomial: n must be whole and not negative{user_line()}")
    _require_probability("binomial", p)
    after, u = uniforms("binomial", state, shape)
    return after, _binomial_quantile(stopped(n), stopped(p), u).astype(np.int64)


def _require_probability(op: str, p: Any) -> None:
    allowed = np.logical_and(p >= 0, p <= 1)
    require(np.all(allowed), f"random.{op}: p must be between 0 and 1{user_line()}")


def bernoulli(state: Any, shape: Any = (), p: Any = 0.5) -> tuple[Any, Any]:
    """Draw int64 numbers 0 and 1; 1 with the probability `p`, which broadcasts to `shape`.

    A draw has no derivative in `p`. Raises ValueError if `p` is not in [0, 1].

    >>> state, n = nbgrad.random.bernoulli(nbgrad.random.key(0), 1000, p=0.2)
    >>> bool(abs(n.mean() - 0.2) < 0.05)
    True
    """
    shape = lengths("bernoulli", shape)
    (p,), _ = parameters("bernoulli", shape, p=p)
    _require_probability("bernoulli", p)
    after, u = uniforms("bernoulli", state, shape)
    return after, (u < stopped(p)).astype(np.int64)


def categorical(state: Any, logits: Any, shape: Any = None) -> tuple[Any, Any]:
    """Draw int64 categories 0 ... k-1 with probabilities that are the softmax of `logits`.

    Arguments:
        state: the state.
        logits: logarithms of probabilities (..., k), up to a constant; -inf excludes a category.
        shape: the shape of the draws, to which the leading axes of `logits` broadcast; by default
            these axes.

    A draw has no derivative in `logits`. Raises ValueError for shapes that do not fit.

    >>> state, n = nbgrad.random.categorical(nbgrad.random.key(0), np.log([0.2, 0.8]), 1000)
    >>> bool(abs(n.mean() - 0.8) < 0.05)
    True
    """
    logits = given(logits)
    if not shape_of(logits) or not shape_of(logits)[-1]:
        raise ArgumentError(
            f"random.categorical: logits of shape {shape_of(logits)} are no vectors{user_line()}"
        )
    lead = shape_of(logits)[:-1]
    shape = lead if shape is None else lengths("categorical", shape)
    parameters("categorical", (*shape, shape_of(logits)[-1]), logits=logits)
    require(
        np.logical_not(np.any(np.isnan(logits))), f"random.categorical: logits are nan{user_line()}"
    )
    p = softmax(stopped(logits).astype(np.float64), axis=-1)
    after, u = uniforms("categorical", state, shape)
    return after, _category(p, u)


def _category(p: Any, u: Any) -> Any:
    """The number of cumulative probabilities below u, without categories of probability 0."""
    bounds = np.cumsum(p, axis=-1)
    below = u[..., None] * bounds[..., -1:] > bounds[..., :-1]
    return np.sum(below.astype(np.int64), axis=-1)


def picked_by(state: Any, n: int, shape: tuple[int, ...], replace: bool, p: Any) -> tuple[Any, Any]:
    """Positions 0 ... n-1 with the probabilities p, for `choice`."""
    p = stopped(given(p))
    if shape_of(p) != (n,):
        raise ArgumentError(
            f"random.choice: p of shape {shape_of(p)} for {n} rows; its shape must be {(n,)}"
            + user_line()
        )
    p = p.astype(np.float64)
    require(np.all(p >= 0), f"random.choice: probabilities are not non-negative{user_line()}")
    require(
        np.abs(np.sum(p) - 1.0) < 1e-6, f"random.choice: probabilities do not sum to 1{user_line()}"
    )
    count = math.prod(shape)
    if replace:
        after, u = uniforms("choice", state, shape)
        bounds = np.cumsum(p)
        # As u < 1, rounding cannot pick a row behind the last one of positive probability.
        found = np.searchsorted(bounds[:-1], np.reshape(u, -1) * bounds[n - 1], "left")
        return after, np.reshape(found, shape)
    if count > n:
        raise ArgumentError(
            f"random.choice: {count} draws of {n} without replacement: draw at most {n}, or use "
            f"replace=True{user_line()}"
        )
    require(
        np.sum((p > 0).astype(np.int64)) >= count,
        f"random.choice: fewer non-zero entries in p than draws{user_line()}",
    )
    # Exponential waiting times with the rates p: their order is that of successive draws.
    after, u = uniforms("choice", state, (n,))
    waits = np.where(p > 0, exponentials(u) / np.where(p > 0, p, 1.0), np.inf)
    return after, np.reshape(np.argsort(waits)[:count], shape)
