"""Bessel functions and modified ones, also scaled by exponentials.

Their derivatives are those of other orders (DLMF 10.6 and 10.29). An order is plain.
"""

import math

import numpy as np

from ...core.array import apply, implements
from ...core.primitive import bind
from ..families import Interval, elementwise, in_doubles, positive, reals

_ORDER = "its order: pass a plain number or array, such as v.data"
orders = Interval(0.0, 3.0)


def _scipys(name: str, domain: Interval, slope, **facts):
    """The row of a function of SciPy."""
    body = f"bessel_{name}(x)"
    return elementwise(
        None, body, [slope], domains=[domain], name=name, reference=f"scipy.special.{name}",
        **facts,
    )  # fmt: skip


def _of_order(name: str, slope, notes: str = "the order is plain", **facts):
    """The row of a function of an order and a number."""
    return elementwise(
        None, f"bessel_{name}(x, y)", [_ORDER, slope], domains=[orders, positive], name=name,
        reference=in_doubles(name), spelling=f"`scipy.special.{name}`", notes=notes,
        **facts,
    )  # fmt: skip


def _over_x(x, out, sign: float, scale=1.0):
    """J1(x) / x, or scale * I1(x) / x where the sign is 1; near 0 by its series."""
    t = sign * 0.25 * x * x
    series = 1.0
    for k in range(9, 0, -1):
        series = 1 + t / (k * (k + 1)) * series
    near = abs(x) < 1.0
    return np.where(near, 0.5 * scale * series, out / np.where(near, 1.0, x))


def _scaled_slope(v, x, sign: float):
    """(k + 1/2) a(k) (sign / x)**k in sum, of far x, where a(k) are the coefficients of the scaled
    functions (DLMF 10.40.1), over x**1.5: their slope, which differences would lose."""
    square, t, total = 4.0 * v * v, 0.125 * sign / x, 0.0
    for k in range(14, 0, -1):
        total = (square - (2 * k - 1) ** 2) * (1 / k) * t * (k + 0.5 + total)
    return (0.5 + total) / (x * np.sqrt(x))


def _far(v, x):
    """Whether that is right, and x there, else some large number."""
    far = abs(x) > 60.0 + 10.0 * v * v
    return far, np.where(far, abs(x), 1e3 + 1e3 * v * v)


def _above_a_pole(x, slope):
    """The slope of what rises from -inf at 0."""
    return np.where(x == 0, np.inf, slope)


_I_FAR, _K_FAR = -1 / math.sqrt(2 * math.pi), -math.sqrt(math.pi / 2)

# -- Bessel functions -----------------------------------------------------------------------------

j0_row = _scipys("j0", reals, lambda x, out: -j1(x))
j1_row = _scipys("j1", reals, lambda x, out: j0(x) - _over_x(x, out, -1.0))
y0_row = _scipys("y0", positive, lambda x, out: -y1(x), notes="-inf at 0, with derivative inf")
y1_row = _scipys(
    "y1", positive, lambda x, out: _above_a_pole(x, y0(x) - out / np.where(x == 0, 1, x)),
    notes="-inf at 0, with derivative inf",
)  # fmt: skip
_TWO_ORDERS = "the pullback asks SciPy for two other orders, some of which cost more"
jv_row = _of_order("jv", lambda v, x, out: 0.5 * (jv(v - 1, x) - jv(v + 1, x)), slow=_TWO_ORDERS)
yv_row = _of_order(
    "yv", lambda v, x, out: _above_a_pole(x, 0.5 * (yv(v - 1, x) - yv(v + 1, x))),
    notes="the order is plain; -inf at 0, with derivative inf",
)  # fmt: skip


@implements("scipy.special.j0")
def j0(x):
    """The Bessel function of the first kind of order 0, elementwise."""
    return apply(j0_row, x)


@implements("scipy.special.j1")
def j1(x):
    """The Bessel function of the first kind of order 1, elementwise."""
    return apply(j1_row, x)


@implements("scipy.special.y0")
def y0(x):
    """The Bessel function of the second kind of order 0, elementwise."""
    return apply(y0_row, x)


@implements("scipy.special.y1")
def y1(x):
    """The Bessel function of the second kind of order 1, elementwise."""
    return apply(y1_row, x)


@implements("scipy.special.jv")
def jv(v, z):
    """The Bessel function of the first kind of real order v, elementwise; v is plain.

    >>> float(nbgrad.special.jv(0.0, 0.0))
    1.0
    """
    return bind(jv_row, v, z)


@implements("scipy.special.yv")
def yv(v, z):
    """The Bessel function of the second kind of real order v, elementwise; v is plain."""
    return bind(yv_row, v, z)


# -- modified Bessel functions --------------------------------------------------------------------


def _grown(name: str):
    """What a row means: SciPy's function, which its own scale keeps from overflowing too soon."""

    def reference(x):
        from scipy import special  # here, as only tests ask

        root = np.exp(0.5 * np.abs(x))
        value = getattr(special, f"{name}e")(x) * root * root
        return np.where(np.isinf(x), np.abs(x) if name == "i0" else x, value).astype(x.dtype)

    return reference


def _scaled_i(v, x, out, near):
    """The slope of ive(v, x), which is `near` where x is not far."""
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


i0_row = elementwise(
    None, "bessel_i0(x)", [lambda x, out: i1_of(x)], domains=[reals], name="i0",
    reference=_grown("i0"),
)  # fmt: skip
i1_row = elementwise(
    None, "bessel_i1(x)", [lambda x, out: i0_of(x) - _over_x(x, out, 1.0)], domains=[reals],
    name="i1", reference=_grown("i1"), spelling="`scipy.special.i1`",
)  # fmt: skip
i0e_row = _scipys(
    "i0e",
    reals,
    lambda x, out: _scaled_i(0.0, x, out, i1e(x)),
    kinks=[((0.0,), (0.0,))],
    notes="i0(x) * exp(-abs(x)); derivative 0 at 0",
)
i1e_row = _scipys("i1e", Interval(-1.2, 1.2), _i1e_slope, notes="i1(x) * exp(-abs(x))")
k0_row = _scipys("k0", positive, lambda x, out: -k1(x))
k1_row = _scipys("k1", positive, lambda x, out: -k0(x) - out / x)
k0e_row = _scipys("k0e", positive, _k_slope(0.0), notes="k0(x) * exp(x)")
k1e_row = _scipys("k1e", positive, _k_slope(1.0), notes="k1(x) * exp(x)")
iv_row = _of_order("iv", lambda v, x, out: 0.5 * (iv(v - 1, x) + iv(v + 1, x)))
ive_row = _of_order(
    "ive",
    lambda v, x, out: _scaled_i(v, x, out, 0.5 * (ive(v - 1, x) + ive(v + 1, x))),
    slow=_TWO_ORDERS,
)
kv_row = _of_order("kv", lambda v, x, out: -0.5 * (kv(v - 1, x) + kv(v + 1, x)))
kve_row = _of_order("kve", _kve_slope)


@implements(np.i0, "scipy.special.i0")
def i0_of(x):
    """The modified Bessel function of the first kind of order 0, elementwise."""
    return apply(i0_row, x)


@implements("scipy.special.i1")
def i1_of(x):
    """The modified Bessel function of the first kind of order 1, elementwise."""
    return apply(i1_row, x)


@implements("scipy.special.i0e")
def i0e(x):
    """i0(x) * exp(-abs(x)), elementwise."""
    return apply(i0e_row, x)


@implements("scipy.special.i1e")
def i1e(x):
    """i1(x) * exp(-abs(x)), elementwise."""
    return apply(i1e_row, x)


@implements("scipy.special.k0")
def k0(x):
    """The modified Bessel function of the second kind of order 0, elementwise."""
    return apply(k0_row, x)


@implements("scipy.special.k1")
def k1(x):
    """The modified Bessel function of the second kind of order 1, elementwise."""
    return apply(k1_row, x)


@implements("scipy.special.k0e")
def k0e(x):
    """k0(x) * exp(x), elementwise."""
    return apply(k0e_row, x)


@implements("scipy.special.k1e")
def k1e(x):
    """k1(x) * exp(x), elementwise."""
    return apply(k1e_row, x)


@implements("scipy.special.iv")
def iv(v, z):
    """The modified Bessel function of the first kind of real order v, elementwise; v is plain."""
    return bind(iv_row, v, z)


@implements("scipy.special.ive")
def ive(v, z):
    """iv(v, z) * exp(-abs(z)), elementwise; v is plain."""
    return bind(ive_row, v, z)


@implements("scipy.special.kv")
def kv(v, z):
    """The modified Bessel function of the second kind of real order v, elementwise; v is plain."""
    return bind(kv_row, v, z)


@implements("scipy.special.kve")
def kve(v, z):
    """kv(v, z) * exp(z), elementwise; v is plain."""
    return bind(kve_row, v, z)
