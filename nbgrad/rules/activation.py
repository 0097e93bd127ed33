"""Activation functions of neural networks, and the error function."""

import math
from typing import Any

import numpy as np

from ..core.array import functions
from ..kernels import relu as relu_kernels
from .families import elementwise_function, positive, reals, scipy_function
from .forms.recorded import recorded

_ROOT_HALF = math.sqrt(0.5)
_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_ONE_OVER_ROOT_2PI = 1 / math.sqrt(2 * math.pi)


@elementwise_function(
    "select(x < 0.0, 0.0, x)", reals, lambda x, out: np.where(out > 0, 1.0, 0.0),
    reference=lambda x: np.maximum(x, 0), kinks=[((0.0,), (0.0,))], notes="derivative 0 at 0",
    kernels=(relu_kernels.relu, relu_kernels.relu_pullback),
)  # fmt: skip
def relu(x) -> Any:
    """max(x, 0), with derivative 0 at 0.

    >>> nbgrad.relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """


@elementwise_function(
    "select(x < 0.0, x * y, x)", [reals, positive],
    lambda x, y, out: np.where(x > 0, 1.0, y), lambda x, y, out: np.where(x < 0, x, 0.0),
    reference=lambda x, slope: np.where(x < 0, slope * x, x), kinks=[((0.0, 0.25), (0.25, 0.0))],
    notes="derivative at 0 is that of the left side, slope",
)  # fmt: skip
def leaky_relu(x, slope: Any = 0.01) -> Any:
    """x where it is positive, else slope * x; the derivative at 0 is the slope.

    `slope` broadcasts with x, and may be tracked.

    >>> nbgrad.leaky_relu(np.array([-1.0, 2.0]))
    array([-0.01,  2.  ])
    """


@elementwise_function(
    "select(x < 0.0, y * expm1(x), x)", [reals, positive],
    lambda x, y, out: np.where(x > 0, 1.0, y * np.exp(x)),
    lambda x, y, out: np.where(x < 0, np.expm1(x), 0.0),
    reference=lambda x, alpha: np.where(x < 0, alpha * np.expm1(x), x).astype(
        np.result_type(x, alpha)
    ),
    kinks=[((0.0, 0.25), (0.25, 0.0))], notes="derivative at 0 is that of the left side, alpha",
)  # fmt: skip
def elu(x, alpha: Any = 1.0) -> Any:
    """x where it is positive, else alpha * (exp(x) - 1); the derivative at 0 is alpha.

    `alpha` broadcasts with x, and may be tracked.

    >>> nbgrad.elu(np.array([-800.0, 2.0]))
    array([-1.,  2.])
    """


@elementwise_function(
    "sigmoid(x)", reals, lambda x, out: sigmoid_slope(x), reference="scipy.special.expit"
)
def sigmoid(x) -> Any:
    """1 / (1 + exp(-x)), stable for any finite x.

    >>> float(nbgrad.sigmoid(0.5))
    0.6224593312018546
    """


functions["scipy.special.expit"] = expit = sigmoid


@elementwise_function(
    "sigmoid_slope(x)", reals, lambda x, out: -np.tanh(0.5 * x) * out,
    reference=lambda x: 0.25 * np.cosh(0.5 * x) ** -2.0,
    notes="sigmoid(x) * sigmoid(-x), however small",
)  # fmt: skip
def sigmoid_slope(x) -> Any:
    """The derivative of sigmoid, accurate where 1 - sigmoid(x) is 0."""


def sech2(x):
    """1 / cosh(x)**2, the derivative of tanh, accurate where 1 - tanh(x)**2 is 0."""
    return 4 * sigmoid_slope(x + x)


@elementwise_function(
    "maximum(x, 0.0) + log1p(exp(-abs(x)))", reals, lambda x, out: sigmoid(x),
    reference=lambda x: np.logaddexp(0, x).astype(x.dtype),
)  # fmt: skip
def softplus(x) -> Any:
    """log(1 + exp(x)), elementwise, stable for any x; its derivative is `sigmoid(x)`.

    >>> nbgrad.softplus(np.array([-800.0, 0.0, 2.0]))
    array([0.        , 0.69314718, 2.12692801])
    """


@scipy_function("erf(x)", reals, lambda x, out: _TWO_OVER_ROOT_PI * np.exp(-x * x))
def erf(x) -> Any:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x, elementwise.

    `scipy.special.erf` and `erfc` of tracked arrays mean this function and its complement.

    >>> float(nbgrad.erf(0.5))
    0.5204998778130465
    """


@scipy_function("erfc(x)", reals, lambda x, out: -_TWO_OVER_ROOT_PI * np.exp(-x * x))
def erfc(x) -> Any:
    """1 - erf(x), elementwise, accurate where that is small.

    >>> round(float(nbgrad.special.erfc(0.5)), 6)
    0.4795
    """


def _gelu(x):
    from scipy.special import ndtr  # imported by tests only

    return x * ndtr(x)


def _gelu_slope(x, out):
    density = _ONE_OVER_ROOT_2PI * np.exp(-0.5 * x * x)
    return 0.5 * erfc(-_ROOT_HALF * x) + x * density


# Compiled programs may keep erfc for the slope.
@elementwise_function(
    f"0.5 * x * erfc({-_ROOT_HALF} * x)", reals, _gelu_slope, reference=_gelu,
    form=recorded(lambda x: 0.5 * x * erfc(-_ROOT_HALF * x)),
    notes="the exact form, by the error function, not the approximation by tanh",
)  # fmt: skip
def gelu(x) -> Any:
    """x Phi(x), elementwise, with Phi the distribution function of the standard normal.

    This is the exact form, `0.5 * x * (1 + erf(x / sqrt(2)))`, not the approximation by tanh.

    >>> nbgrad.gelu(np.array([-1.0, 0.0, 1.0])).round(6)
    array([-0.158655,  0.      ,  0.841345])
    """
