"""Bessel functions and modified Bessel functions, also scaled by exponentials.

Their derivatives are functions of adjacent orders (DLMF 10.6 and 10.29). An order must be plain.
"""

# Partials call the functions that they decorate.
# pyright: reportGeneralTypeIssues=false

import math
from typing import Any

import numpy as np

from ...core.array import implements
from ..families import Interval, positive, reals, scipy_function

_ORDER = "its order: pass a plain number or array, such as v.data"
orders = Interval(0.0, 3.0)


def _of_order(name: str, slope, notes: str = "the order is plain", **facts):
    """The decorator of a function of an order and a number."""
    return scipy_function(
        f"bessel_{name}(x, y)", [orders, positive], _ORDER, slope, notes=notes, **facts
    )


def _over_x(x, out, sign: float, scale=1.0):
    """J1(x) / x, or scale * I1(x) / x for sign 1; the power series near 0."""
    t = sign * 0.25 * x * x
    series = 1.0
    for k in range(9, 0, -1):
        series = 1 + t / (k * (k + 1)) * series
    near = abs(x) < 1.0
    return np.where(near, 0.5 * scale * series, out / np.where(near, 1.0, x))


def _scaled_slope(v, x, sign: float):
    """The sum of (k + 1/2) a(k) (sign / x)**k over x**1.5, for large x, where a(k) are the
    coefficients of the scaled functions (DLMF 10.40.1): their derivative, without cancellation."""
    square, t, total = 4.0 * v * v, 0.125 * sign / x, 0.0
    for k in range(14, 0, -1):
        total = (square - (2 * k - 1) ** 2) * (1 / k) * t * (k + 0.5 + total)
    return (0.5 + total) / (x * np.sqrt(x))


def _far(v, x):
    """Whether x is large enough for `_scaled_slope`, and abs(x) there, else a large number."""
    far = abs(x) > 60.0 + 10.0 * v * v
    return far, np.where(far, abs(x), 1e3 + 1e3 * v * v)


def _above_a_pole(x, slope):
    """The derivative of a function that is -inf at 0."""
    return np.where(x == 0, np.inf, slope)


_I_FAR, _K_FAR = -1 / math.sqrt(2 * math.pi), -math.sqrt(math.pi / 2)

# -- Bessel functions -----------------------------------------------------------------------------

_POLE = "-inf at 0, with derivative inf"
_TWO_ORDERS = "the pullback calls SciPy for two other orders, some of which cost more"


@scipy_function("bessel_j0(x)", reals, lambda x, out: -j1(x))
def j0(x) -> Any:
    """The Bessel function of the first kind of order 0, elementwise.

    >>> round(float(nbgrad.special.j0(1.0)), 6)
    0.765198
    """


@scipy_function("bessel_j1(x)", reals, lambda x, out: j0(x) - _over_x(x, out, -1.0))
def j1(x) -> Any:
    """The Bessel function of the first kind of order 1, elementwise.

    >>> round(float(nbgrad.special.j1(1.0)), 6)
    0.440051
    """


@scipy_function("bessel_y0(x)", positive, lambda x, out: -y1(x), notes=_POLE)
def y0(x) -> Any:
    """The Bessel function of the second kind of order 0, elementwise.

    >>> round(float(nbgrad.special.y0(1.0)), 6)
    0.088257
    """


@scipy_function(
    "bessel_y1(x)", positive,
    lambda x, out: _above_a_pole(x, y0(x) - out / np.where(x == 0, 1, x)), notes=_POLE,
)  # fmt: skip
def y1(x) -> Any:
    """The Bessel function of the second kind of order 1, elementwise.

    >>> round(float(nbgrad.special.y1(1.0)), 6)
    -0.781213
    """


@_of_order("jv", lambda v, x, out: 0.5 * (jv(v - 1, x) - jv(v + 1, x)), slow=_TWO_ORDERS)
def jv(v, z) -> Any:
    """The Bessel function of the first kind of real order v, elementwise; `v` must be plain.

    >>> float(nbgrad.special.jv(0.0, 0.0))
    1.0
    """


@_of_order(
    "yv", lambda v, x, out: _above_a_pole(x, 0.5 * (yv(v - 1, x) - yv(v + 1, x))),
    notes=f"the order is plain; {_POLE}",
)  # fmt: skip
def yv(v, z) -> Any:
    """The Bessel function of the second kind of real order v, elementwise; `v` must be plain.

    >>> round(float(nbgrad.special.yv(2.0, 1.0)), 6)
    -1.650683
    """


# -- modified Bessel functions --------------------------------------------------------------------


def _grown(name: str):
    """The reference for i0 and i1: SciPy's scaled function times exp(abs(x)), in two factors as
    exp(abs(x)) alone overflows early."""

    def reference(x):
        from scipy import special  # imported by tests only

        root = np.exp(0.5 * np.abs(x))
        value = getattr(special, f"{name}e")(x) * root * root
        return np.where(np.isinf(x), np.abs(x) if name == "i0" else x, value).astype(x.dtype)

    return reference


def _scaled_i(v, x, out, near):
    """The derivative of ive(v, x), which is `near` unless x is large."""
    far, there = _far(v, x)
    slope = np.sign(x) * np.sign(out) * _I_FAR * _scaled_slope(v, there, -1.0)
    return np.where(far, slope, near - np.sign(x) * out)


def _i1e_slope(x, out):
    return _scaled_i(1.0, x, out, i0e(x) - _over_x(x, out, 1.0, np.exp(-abs(x))))


def _k_slope(v):
    def slope(x, out):
        far, there = _far(v, x)
        near = out - (k1e(x) if v == 0 else k0e(x) + out / x)
        return np.where(far, _K_FAR * _scaled_slope(v, there, 1.0), near)

    return slope


def _kve_slope(v, x, out):
    far, there = _far(v, x)
    near = out - 0.5 * (kve(v - 1, x) + kve(v + 1, x))
    return np.where(far, _K_FAR * _scaled_slope(v, there, 1.0), near)


@implements(np.i0)
@scipy_function("bessel_i0(x)", reals, lambda x, out: i1(x), reference=_grown("i0"))
def i0(x) -> Any:
    """The modified Bessel function of the first kind of order 0, elementwise.

    >>> round(float(nbgrad.special.i0(1.0)), 6)
    1.266066
    """


@scipy_function(
    "bessel_i1(x)", reals, lambda x, out: i0(x) - _over_x(x, out, 1.0),
    reference=_grown("i1"), spelling="`scipy.special.i1`",
)  # fmt: skip
def i1(x) -> Any:
    """The modified Bessel function of the first kind of order 1, elementwise.

    >>> round(float(nbgrad.special.i1(1.0)), 6)
    0.565159
    """


@scipy_function(
    "bessel_i0e(x)", reals, lambda x, out: _scaled_i(0.0, x, out, i1e(x)),
    kinks=[((0.0,), (0.0,))], notes="i0(x) * exp(-abs(x)); derivative 0 at 0",
)  # fmt: skip
def i0e(x) -> Any:
    """i0(x) * exp(-abs(x)), elementwise.

    >>> round(float(nbgrad.special.i0e(1.0)), 6)
    0.46576
    """


@scipy_function("bessel_i1e(x)", Interval(-1.2, 1.2), _i1e_slope, notes="i1(x) * exp(-abs(x))")
def i1e(x) -> Any:
    """i1(x) * exp(-abs(x)), elementwise.

    >>> round(float(nbgrad.special.i1e(1.0)), 6)
    0.20791
    """


@scipy_function("bessel_k0(x)", positive, lambda x, out: -k1(x))
def k0(x) -> Any:
    """The modified Bessel function of the second kind of order 0, elementwise.

    >>> round(float(nbgrad.special.k0(1.0)), 6)
    0.421024
    """


@scipy_function("bessel_k1(x)", positive, lambda x, out: -k0(x) - out / x)
def k1(x) -> Any:
    """The modified Bessel function of the second kind of order 1, elementwise.

    >>> round(float(nbgrad.special.k1(1.0)), 6)
    0.601907
    """


@scipy_function("bessel_k0e(x)", positive, _k_slope(0.0), notes="k0(x) * exp(x)")
def k0e(x) -> Any:
    """k0(x) * exp(x), elementwise.

    >>> round(float(nbgrad.special.k0e(1.0)), 6)
    1.144463
    """


@scipy_function("bessel_k1e(x)", positive, _k_slope(1.0), notes="k1(x) * exp(x)")
def k1e(x) -> Any:
    """k1(x) * exp(x), elementwise.

    >>> round(float(nbgrad.special.k1e(1.0)), 6)
    1.636153
    """


@_of_order("iv", lambda v, x, out: 0.5 * (iv(v - 1, x) + iv(v + 1, x)))
def iv(v, z) -> Any:
    """The modified Bessel function of the first kind of real order v, elementwise; `v` must be
    plain.

    >>> round(float(nbgrad.special.iv(2.0, 1.0)), 6)
    0.135748
    """


@_of_order(
    "ive", lambda v, x, out: _scaled_i(v, x, out, 0.5 * (ive(v - 1, x) + ive(v + 1, x))),
    slow=_TWO_ORDERS,
)  # fmt: skip
def ive(v, z) -> Any:
    """iv(v, z) * exp(-abs(z)), elementwise; `v` must be plain.

    >>> round(float(nbgrad.special.ive(2.0, 1.0)), 6)
    0.049939
    """


@_of_order("kv", lambda v, x, out: -0.5 * (kv(v - 1, x) + kv(v + 1, x)))
def kv(v, z) -> Any:
    """The modified Bessel function of the second kind of real order v, elementwise; `v` must be
    plain.

    >>> round(float(nbgrad.special.kv(2.0, 1.0)), 6)
    1.624839
    """


@_of_order("kve", _kve_slope)
def kve(v, z) -> Any:
    """kv(v, z) * exp(z), elementwise; `v` must be plain.

    >>> round(float(nbgrad.special.kve(2.0, 1.0)), 6)
    4.41677
    """
