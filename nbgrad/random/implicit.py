"""Draws of the gamma and beta distributions, and of those made of them.

A draw is the quantile of a uniform number, so its derivative in a parameter is the slope of the
quantile, by the implicit function theorem: minus the derivative of the distribution function over
the density (Figurnov, Mohamed, Mnih: Implicit reparameterization gradients, 2018).
"""

from typing import Any

import numpy as np

from ..core.primitive import bind, shape_of
from ..errors import ArgumentError
from ..rules import draws
from ..rules.layout import given
from ..rules.special.incomplete import beta_slopes, gamma_slope
from ..runtime.lines import user_line
from ..transforms.elementwise import custom_elementwise
from .continuous import parameters, placed, positive, rounded, uniforms
from .states import drawn, lengths

# -- quantiles ------------------------------------------------------------------------------------

_gamma_quantile = custom_elementwise(
    "gammaincinv(x, y)", name="gamma_quantile",
    partials=[lambda a, u, out: -bind(gamma_slope, a, out), None],
)  # fmt: skip
_beta_quantile = custom_elementwise(
    "betaincinv(x, y, z)", name="beta_quantile",
    partials=[
        lambda a, b, u, out: -bind(beta_slopes[1, 0], a, b, out),
        lambda a, b, u, out: -bind(beta_slopes[0, 1], a, b, out), None,
    ],
)  # fmt: skip


# -- draws ----------------------------------------------------------------------------------------


def gamma(state: Any, shape: Any = (), a: Any = 1.0, scale: Any = 1.0) -> tuple[Any, Any]:
    """Draw numbers of the gamma distribution with the shape parameter `a`.

    Arguments:
        state: the state.
        shape: the shape of the result.
        a, scale: positive numbers or arrays that broadcast to `shape`. The mean is a * scale.

    Returns the next state and the numbers, in float32 if the parameters are arrays of float32. They
    are quantiles of uniform numbers, and differentiable twice in `a`, by the implicit function
    theorem, and to any order in `scale`. Raises ValueError if a parameter is not positive.

    >>> state, x = nbgrad.random.gamma(nbgrad.random.key(0), 1000, a=3.0)
    >>> bool(abs(x.mean() - 3.0) < 0.2)
    True
    >>> def mean(a):
    ...     return np.mean(nbgrad.random.gamma(nbgrad.random.key(0), 1000, a)[1])
    >>> bool(abs(nbgrad.grad(mean)(3.0) - 1.0) < 0.1)
    True
    """
    shape = lengths("gamma", shape)
    (a, scale), single = parameters("gamma", shape, a=a, scale=scale)
    positive("gamma", a=a, scale=scale)
    after, u = uniforms("gamma", state, shape)
    return after, rounded(scale * _gamma_quantile(a, u), single)


def beta(state: Any, shape: Any = (), a: Any = 1.0, b: Any = 1.0) -> tuple[Any, Any]:
    """Draw numbers of the beta distribution.

    `a` and `b` are positive numbers or arrays that broadcast to `shape`. The draws are quantiles of
    uniform numbers, and differentiable twice in `a` and `b`, by the implicit function theorem.
    Arrays of float32 give float32. Raises ValueError if a parameter is not positive.

    >>> state, x = nbgrad.random.beta(nbgrad.random.key(0), 1000, a=2.0, b=6.0)
    >>> bool(abs(x.mean() - 0.25) < 0.02)
    True
    """
    shape = lengths("beta", shape)
    (a, b), single = parameters("beta", shape, a=a, b=b)
    positive("beta", a=a, b=b)
    after, u = uniforms("beta", state, shape)
    return after, rounded(_beta_quantile(a, b, u), single)


def chisquare(state: Any, shape: Any = (), df: Any = 1.0) -> tuple[Any, Any]:
    """Draw numbers of the chi-squared distribution with `df` degrees of freedom, which may be
    tracked and broadcasts.

    Raises ValueError if `df` is not positive.

    >>> state, x = nbgrad.random.chisquare(nbgrad.random.key(0), 1000, df=4.0)
    >>> bool(abs(x.mean() - 4.0) < 0.3)
    True
    """
    shape = lengths("chisquare", shape)
    (df,), single = parameters("chisquare", shape, df=df)
    positive("chisquare", df=df)
    after, u = uniforms("chisquare", state, shape)
    return after, rounded(2.0 * _gamma_quantile(0.5 * df, u), single)


def student_t(
    state: Any, shape: Any = (), df: Any = 1.0, loc: Any = 0.0, scale: Any = 1.0
) -> tuple[Any, Any]:
    """Draw numbers of Student's t distribution; the parameters may be tracked and broadcast.

    A draw is a normal number over the root of a chi-squared one. Raises ValueError if `df` or
    `scale` is not positive.

    >>> state, x = nbgrad.random.student_t(nbgrad.random.key(0), 1000, df=5.0)
    >>> bool(abs(np.median(x)) < 0.1)
    True
    """
    op = "student_t"
    shape = lengths(op, shape)
    (df, loc, scale), single = parameters(op, shape, df=df, loc=loc, scale=scale)
    positive(op, df=df, scale=scale)
    after, z = drawn(op, draws.normal, state, shape, mean=0.0, std=1.0)
    after, u = uniforms(op, after, shape)
    out = placed(loc, scale, z * np.sqrt(0.5 * df / _gamma_quantile(0.5 * df, u)))
    return after, rounded(out, single)


def dirichlet(state: Any, shape: Any = (), alpha: Any = (1.0, 1.0)) -> tuple[Any, Any]:
    """Draw vectors of the Dirichlet distribution, whose elements are positive and have the sum 1.

    Arguments:
        state: the state.
        shape: the shape of the draws, without the axis of the vectors.
        alpha: positive vectors (..., k), whose leading axes broadcast to `shape`; may be tracked.

    Returns the next state and vectors (*shape, k), gamma draws over their sum. Raises ValueError if
    an element of `alpha` is not positive.

    >>> state, x = nbgrad.random.dirichlet(nbgrad.random.key(0), 1000, np.array([1.0, 3.0]))
    >>> bool(np.allclose(x.mean(axis=0), [0.25, 0.75], atol=0.03))
    True
    """
    shape, alpha = lengths("dirichlet", shape), given(alpha)
    if not shape_of(alpha):
        raise ArgumentError(
            f"random.dirichlet: alpha is one number; it must be a vector{user_line()}"
        )
    shape = (*shape, shape_of(alpha)[-1])
    (alpha,), single = parameters("dirichlet", shape, alpha=alpha)
    positive("dirichlet", alpha=alpha)
    after, u = uniforms("dirichlet", state, shape)
    x = _gamma_quantile(alpha, u)
    return after, rounded(x / np.sum(x, axis=-1, keepdims=True), single)
