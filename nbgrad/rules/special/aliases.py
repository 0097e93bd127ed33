"""Functions of `scipy.special` that are defined by functions of NumPy and nbgrad."""

from typing import Any

import numpy as np

from ...core.array import functions, implements
from ...core.primitive import bind, shape_of
from .. import softmax as nbgrads
from ..families import scale
from ..nondiff import stopped
from ..select import on_values
from .bessel import kv, yv
from .gammas import gammaln, riemann, zeta_row_of
from .integrals import lambertw

for name, ufunc in (
    ("cbrt", np.cbrt), ("exp2", np.exp2), ("expm1", np.expm1), ("log1p", np.log1p),
    ("round", np.rint),
):  # fmt: skip
    functions[f"scipy.special.{name}"] = functions[ufunc]

functions |= {
    "scipy.special.kn": kv,
    "scipy.special.yn": yv,
    # Called by SciPy's functions that are written in Python.
    "scipy.special._riemann_zeta": riemann,
    "scipy.special._zeta": lambda x, q: zeta_row_of(x, q, 0),
    "scipy.special._lambertw": lambda z, k, tol: lambertw(z, k),
}


@implements("scipy.special.gammasgn")
def gammasgn(x):
    """The sign of gamma(x), as plain values."""
    from scipy import special  # imported on first use

    return on_values(special.gammasgn)(x)


@implements("scipy.special.exp10")
def exp10(x):
    """10**x, elementwise.

    >>> round(float(nbgrad.special.exp10(2.0)), 6)
    100.0
    """
    return np.power(10.0, x)


def cbrt(x):
    """The cube root, elementwise: `np.cbrt`.

    >>> round(float(nbgrad.special.cbrt(8.0)), 6)
    2.0
    """
    return functions[np.cbrt](x)


def exp2(x):
    """2**x, elementwise: `np.exp2`.

    >>> round(float(nbgrad.special.exp2(3.0)), 6)
    8.0
    """
    return functions[np.exp2](x)


def expm1(x):
    """exp(x) - 1, elementwise, accurate near 0: `np.expm1`.

    >>> float(nbgrad.special.expm1(1e-10))
    1.00000000005e-10
    """
    return functions[np.expm1](x)


def log1p(x):
    """log(1 + x), elementwise, accurate near 0: `np.log1p`.

    >>> float(nbgrad.special.log1p(1e-10))
    9.999999999500001e-11
    """
    return functions[np.log1p](x)


def logsumexp(a, axis=None, b=None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """log(sum(b * exp(a))) over `axis`: an int, a tuple of ints, or None for all.

    `b` broadcasts with `a`, has a derivative too, and may be 0 or negative. The result is nan for a
    negative sum; with `return_sign`, it is the logarithm of the absolute value, and the sign.

    >>> round(float(nbgrad.special.logsumexp(np.zeros(2), b=np.array([3.0, 1.0]))), 12)  # log(4)
    1.38629436112
    """
    if b is None:
        out = nbgrads.logsumexp(a, axis, keepdims)
        return (out, np.ones(shape_of(out), out.dtype)) if return_sign else out
    top = np.max(np.where(np.equal(b, 0), -np.inf, stopped(a)), axis=axis, keepdims=True)
    top = stopped(np.where(np.isfinite(top), top, 0.0))
    total = np.sum(bind(scale, b, np.exp(a - top)), axis=axis, keepdims=keepdims)
    top = np.reshape(top, shape_of(total))
    if return_sign:
        return np.log(np.abs(total)) + top, np.sign(stopped(total))
    return np.log(total) + top


def multigammaln(a, d: int) -> Any:
    """The logarithm of the multivariate gamma function of dimension `d`, elementwise.

    It is nan where a <= (d - 1) / 2; SciPy raises ValueError.

    >>> round(float(nbgrad.special.multigammaln(2.0, 2)), 12)  # log(pi / 2)
    0.451582705289
    """
    halves = 0.5 * np.arange(d)
    terms = gammaln(np.expand_dims(a, -1) - halves)
    out = np.sum(terms, axis=-1) + 0.25 * d * (d - 1) * np.log(np.pi)
    return np.where(np.greater(a, halves[-1]), out, np.nan)[()]


def softmax(x, axis=None):
    """exp(x) / sum(exp(x)) along `axis`, an int, or over all elements.

    >>> nbgrad.special.softmax(np.zeros((1, 2)))
    array([[0.5, 0.5]])
    """
    return _along(nbgrads.softmax, x, axis)


def log_softmax(x, axis=None):
    """The logarithm of `softmax(x, axis)`, accurate where that is small.

    >>> nbgrad.special.log_softmax(np.array([0.0, 1.0])).round(6)
    array([-1.313262, -0.313262])
    """
    return _along(nbgrads.logsoftmax, x, axis)


def _along(function, x, axis):
    if axis is not None:
        return function(x, axis)
    return np.reshape(function(np.reshape(x, -1), 0), shape_of(x))
