"""Activations of neural networks, and the error function."""

import math
from typing import Any

import numpy as np

from ..core.array import apply, implements
from ..core.primitive import bind
from ..kernels import relu as relu_kernels
from .families import elementwise, positive, reals

_ROOT_HALF = math.sqrt(0.5)
_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_ONE_OVER_ROOT_2PI = 1 / math.sqrt(2 * math.pi)

relu_row = elementwise(
    lambda x: np.maximum(x, 0), "select(x < 0.0, 0.0, x)",
    [lambda x, out: np.where(out > 0, 1.0, 0.0)],
    domains=[reals], name="relu", kinks=[((0.0,), (0.0,))], notes="derivative 0 at 0",
    kernels=(relu_kernels.relu, relu_kernels.relu_pullback),
)  # fmt: skip


def _elu(x, alpha):
    return np.where(x < 0, alpha * np.expm1(x), x).astype(np.result_type(x, alpha))


leaky_relu_row = elementwise(
    lambda x, slope: np.where(x < 0, slope * x, x), "select(x < 0.0, x * y, x)",
    [lambda x, y, out: np.where(x > 0, 1.0, y), lambda x, y, out: np.where(x < 0, x, 0.0)],
    domains=[reals, positive], name="leaky_relu", kinks=[((0.0, 0.25), (0.25, 0.0))],
    notes="derivative at 0 is the slope of the left side, as relu has it",
)  # fmt: skip
elu_row = elementwise(
    None, "select(x < 0.0, y * expm1(x), x)",
    [lambda x, y, out: np.where(x > 0, 1.0, y * np.exp(x)),
     lambda x, y, out: np.where(x < 0, np.expm1(x), 0.0)],
    domains=[reals, positive], name="elu", reference=_elu, kinks=[((0.0, 0.25), (0.25, 0.0))],
    notes="derivative at 0 is that of the left side, alpha",
)  # fmt: skip
sigmoid_row = elementwise(
    None, "sigmoid(x)", [lambda x, out: sigmoid_slope(x)], domains=[reals], name="sigmoid",
    reference="scipy.special.expit",
)  # fmt: skip
slope_row = elementwise(
    lambda x: 0.25 * np.cosh(0.5 * x) ** -2.0, "sigmoid_slope(x)",
    [lambda x, out: -np.tanh(0.5 * x) * out],
    domains=[reals], name="sigmoid_slope", notes="sigmoid(x) * sigmoid(-x), however small",
)  # fmt: skip
softplus_row = elementwise(
    None, "maximum(x, 0.0) + log1p(exp(-abs(x)))", [lambda x, out: sigmoid(x)], domains=[reals],
    name="softplus", reference=lambda x: np.logaddexp(0, x).astype(x.dtype),
)  # fmt: skip
erf_row = elementwise(
    None, "erf(x)", [lambda x, out: _TWO_OVER_ROOT_PI * np.exp(-x * x)], domains=[reals],
    name="erf", reference="scipy.special.erf",
)  # fmt: skip
erfc_row = elementwise(
    None, "erfc(x)", [lambda x, out: -_TWO_OVER_ROOT_PI * np.exp(-x * x)], domains=[reals],
    name="erfc", reference="scipy.special.erfc",
)  # fmt: skip


def _gelu_slope(x, out):
    density = _ONE_OVER_ROOT_2PI * np.exp(-0.5 * x * x)
    return 0.5 * apply(erfc_row, -_ROOT_HALF * x) + x * density


def _gelu(x):
    from scipy.special import ndtr  # here, as only tests ask

    return x * ndtr(x)


gelu_row = elementwise(
    None, f"0.5 * x * erfc(-x * {_ROOT_HALF})", [_gelu_slope], domains=[reals], name="gelu",
    reference=_gelu,
    notes="the exact form, by the error function, not the one by tanh",
)  # fmt: skip


def sigmoid_slope(x):
    """The derivative of sigmoid, right where 1 - sigmoid(x) is lost."""
    return apply(slope_row, x)


def sech2(x):
    """1 / cosh(x)**2, the derivative of tanh, right where 1 - tanh(x)**2 is 0."""
    return 4 * sigmoid_slope(x + x)


def relu(x):
    """max(x, 0), with derivative 0 at 0.

    >>> nbgrad.relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    return apply(relu_row, x)


def leaky_relu(x, slope: Any = 0.01):
    """x where it is positive, else slope * x; the derivative at 0 is the slope.

    `slope` broadcasts with x, and may be tracked.

    >>> nbgrad.leaky_relu(np.array([-1.0, 2.0]))
    array([-0.01,  2.  ])
    """
    return bind(leaky_relu_row, x, slope)


def elu(x, alpha: Any = 1.0):
    """x where it is positive, else alpha * (exp(x) - 1); the derivative at 0 is alpha.

    `alpha` broadcasts with x, and may be tracked.

    >>> nbgrad.elu(np.array([-800.0, 2.0]))
    array([-1.,  2.])
    """
    return bind(elu_row, x, alpha)


def sigmoid(x):
    """1 / (1 + exp(-x)), stable for any finite x.

    >>> float(nbgrad.sigmoid(0.5))
    0.6224593312018546
    """
    return apply(sigmoid_row, x)


def softplus(x):
    """log(1 + exp(x)), elementwise, stable for any x; its derivative is `sigmoid(x)`.

    >>> nbgrad.softplus(np.array([-800.0, 0.0, 2.0]))
    array([0.        , 0.69314718, 2.12692801])
    """
    return apply(softplus_row, x)


def gelu(x):
    """x Phi(x), elementwise, with Phi the distribution function of the standard normal.

    This is the exact form, `0.5 * x * (1 + erf(x / sqrt(2)))`, not the approximation by tanh.

    >>> nbgrad.gelu(np.array([-1.0, 0.0, 1.0])).round(6)
    array([-0.158655,  0.      ,  0.841345])
    """
    return apply(gelu_row, x)


@implements("scipy.special.erf")
def erf(x):
    """The error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x, elementwise.

    `scipy.special.erf` and `erfc` of tracked arrays mean this function and its complement.

    >>> float(nbgrad.erf(0.5))
    0.5204998778130465
    """
    return apply(erf_row, x)


@implements("scipy.special.erfc")
def erfc(x):
    """1 - erf(x), accurate where that is small."""
    return apply(erfc_row, x)


@implements("scipy.special.expit")
def expit(x):
    return apply(sigmoid_row, x)
