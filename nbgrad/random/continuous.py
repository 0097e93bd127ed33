"""Draws that are formulas of uniform and normal numbers, with derivatives in their parameters."""

from typing import Any

import numpy as np

from ..core.array import Array
from ..core.assertions import require
from ..core.primitive import shape_of
from ..errors import ArgumentError
from ..rules import draws
from ..rules.layout import given
from ..runtime.kinds import is_a
from ..runtime.lines import user_line
from ..transforms.elementwise import custom_elementwise
from .states import drawn, lengths

_LEAST = 2.0**-54
"""In place of a uniform number 0, where quantiles are infinite."""


def uniforms(op: str, state: Any, shape: Any) -> tuple[Any, Any]:
    """Numbers in (0, 1)."""
    after, u = drawn(op, draws.uniform, state, shape, low=0.0, width=1.0)
    return after, np.maximum(u, _LEAST)


def parameters(op: str, shape: tuple[int, ...], **named: Any) -> tuple[list, bool]:
    """The parameters as float64, and whether the result is float32, as arrays of float32 are.

    Raises ArgumentError for shapes that do not broadcast to the shape of the result.
    """
    found, kinds = [], set()
    for name, given_as in named.items():
        x: Any = given_as if is_a(given_as, (int, float)) else given(given_as)
        if hasattr(x, "dtype") and x.dtype.kind == "f":
            kinds.add(x.dtype)
        fits = len(shape_of(x)) <= len(shape) and all(
            n in (1, m) for n, m in zip(shape_of(x)[::-1], shape[::-1], strict=False)
        )
        if not fits:
            raise ArgumentError(
                f"random.{op}: {name} of shape {shape_of(x)} does not broadcast to the shape "
                f"{shape}{user_line()}"
            )
        whole = not hasattr(x, "dtype")
        found.append(float(x) if whole else x.astype(np.float64))
    return found, kinds == {np.dtype(np.float32)}


def positive(op: str, **named: Any) -> None:
    """Raise ValueError for a parameter that is not positive."""
    for name, x in named.items():
        require(np.all(x > 0), f"random.{op}: {name} must be positive{user_line()}")


# One rounding in both tiers, which may round sums of products otherwise.
placed = custom_elementwise(
    "fused(y, z, x)", name="placed",
    partials=[lambda x, y, z, out: 1.0, lambda x, y, z, out: z, lambda x, y, z, out: y],
)  # fmt: skip
"""loc + scale * draw."""


def rounded(x: Any, single: bool) -> Any:
    return x.astype(np.float32) if single else x


def _quantiles(op: str, state: Any, shape: Any, loc: Any, scale: Any, formula: Any) -> tuple:
    shape = lengths(op, shape)
    (loc, scale), single = parameters(op, shape, loc=loc, scale=scale)
    positive(op, scale=scale)
    after, u = uniforms(op, state, shape)
    return after, rounded(placed(loc, scale, formula(u)), single)


# One op each, with the same code in both tiers; NumPy's logarithms round otherwise.
exponentials = custom_elementwise("-log1p(-x)", partials=[None], name="exponential_quantile")
_laplace = custom_elementwise(
    "select(x < 0.5, log(x + x), -log(2.0 - (x + x)))", partials=[None], name="laplace_quantile"
)
_logistic = custom_elementwise("log(x) - log1p(-x)", partials=[None], name="logistic_quantile")
_gumbel = custom_elementwise("-log(-log(x))", partials=[None], name="gumbel_quantile")


def exponential(state: Any, shape: Any = (), scale: Any = 1.0) -> tuple[Any, Any]:
    """Draw numbers of the exponential distribution with the mean `scale`.

    `scale` may be tracked and broadcasts; the derivative is that of the number drawn. Arrays of
    float32 give float32. Raises ValueError if `scale` is not positive.

    >>> state, x = nbgrad.random.exponential(nbgrad.random.key(0), 1000, scale=2.0)
    >>> bool(abs(x.mean() - 2.0) < 0.2)
    True
    """
    return _quantiles("exponential", state, shape, 0.0, scale, exponentials)


def laplace(state: Any, shape: Any = (), loc: Any = 0.0, scale: Any = 1.0) -> tuple[Any, Any]:
    """Draw numbers of the Laplace distribution; `loc` and `scale` may be tracked and broadcast.

    Raises ValueError if `scale` is not positive.

    >>> state, x = nbgrad.random.laplace(nbgrad.random.key(0), 1000)
    >>> bool(abs(np.median(x)) < 0.1)
    True
    """
    return _quantiles("laplace", state, shape, loc, scale, _laplace)


def logistic(state: Any, shape: Any = (), loc: Any = 0.0, scale: Any = 1.0) -> tuple[Any, Any]:
    """Draw numbers of the logistic distribution; `loc` and `scale` may be tracked and broadcast.

    Raises ValueError if `scale` is not positive.

    >>> state, x = nbgrad.random.logistic(nbgrad.random.key(0), 1000)
    >>> bool(abs(np.median(x)) < 0.2)
    True
    """
    return _quantiles("logistic", state, shape, loc, scale, _logistic)


def gumbel(state: Any, shape: Any = (), loc: Any = 0.0, scale: Any = 1.0) -> tuple[Any, Any]:
    """Draw numbers of the Gumbel distribution; `loc` and `scale` may be tracked and broadcast.

    `argmax(logits + gumbel)` is a draw of a category. Raises ValueError if `scale` is not positive.

    >>> state, x = nbgrad.random.gumbel(nbgrad.random.key(0), 1000)
    >>> bool(abs(x.mean() - 0.5772) < 0.1)
    True
    """
    return _quantiles("gumbel", state, shape, loc, scale, _gumbel)


def multivariate_normal(
    state: Any, shape: Any = (), mean: Any = 0.0, cov: Any = 1.0
) -> tuple[Any, Any]:
    """Draw normal vectors with a mean and a covariance.

    Arguments:
        state: the state.
        shape: the shape of the draws, without the axis of the vectors.
        mean: vectors (..., d).
        cov: covariances (..., d, d), positive definite.

    Returns the next state, and vectors (*shape, d): the mean plus the Cholesky factor of the
    covariance times normal numbers. Both parameters may be tracked, and leading axes broadcast to
    `shape`. Raises ValueError for shapes that do not fit, LinAlgError for a covariance that is not
    positive definite.

    >>> cov = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> state, x = nbgrad.random.multivariate_normal(nbgrad.random.key(0), 5000, np.zeros(2), cov)
    >>> bool(np.allclose(np.cov(x.T), cov, atol=0.2))
    True
    """
    op = "multivariate_normal"
    shape, mean, cov = lengths(op, shape), given(mean), given(cov)
    d = shape_of(mean)[-1] if shape_of(mean) else 0
    if not d or shape_of(cov)[-2:] != (d, d):
        raise ArgumentError(
            f"random.{op}: a mean of shape {shape_of(mean)} and a covariance of shape "
            f"{shape_of(cov)}; they have the shapes (..., d) and (..., d, d){user_line()}"
        )
    (mean, _), single = parameters(op, (*shape, d), mean=mean, cov=_lead(op, cov, shape))
    cov = cov.astype(np.float64)
    after, z = drawn(op, draws.normal, state, (*shape, d), mean=0.0, std=1.0)
    factor = np.linalg.cholesky(cov)
    out = mean + np.matmul(factor, z[..., None])[..., 0]
    return after, rounded(out, single)


def _lead(op: str, cov: Any, shape: tuple[int, ...]) -> Any:
    """An element of each covariance, whose shape must broadcast to that of the draws."""
    return cov[..., 0, :] if isinstance(cov, Array) or cov.ndim > 2 else cov[0]
