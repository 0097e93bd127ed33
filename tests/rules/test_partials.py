"""The slopes of elementwise functions against those of high precision, far out and close to where
they vanish, in both dtypes."""

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special
from helpers import special_slopes
from helpers.rows import rows

import nbgrad
from nbgrad import elementwise_grad
from nbgrad.rules.families import Elementwise

mp: Any = mpmath.mp.clone()
mp.dps = 60
ELEMENTWISE = {row.name for row in rows(True) if isinstance(row, Elementwise)}
# Where float64 and float32 still have normal slopes: far out, close to 0, and between.
FAR = np.concatenate([s * np.geomspace(1e-12, 300.0, 43) for s in (-1.0, 1.0)])
POSITIVE = np.geomspace(1e-30, 1e30, 41)
INSIDE = np.concatenate([1.0 - np.geomspace(1e-6, 0.9, 13), np.geomspace(1e-9, 0.9, 13)])
INSIDE = np.concatenate([-INSIDE, INSIDE])


def sech2(x):
    return 1 / mp.cosh(x) ** 2


def logistic(x):
    return 1 / ((1 + mp.exp(-x)) * (1 + mp.exp(x)))


def sigma(x):
    return 1 / (1 + mp.exp(-x))


def bell(x):
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def sinc_slope(x):
    t = mp.pi * x
    return mp.cos(t) / x - mp.sin(t) / (t * x)


# For each function: its points, its slope, and how much of the rounding of a number that its slope
# computes on the way shows in it: that of x * x in exp(-x * x) as x * x.
SLOPES: dict[str, tuple[Any, np.ndarray, Any, Any]] = {
    "sigmoid": (nbgrad.sigmoid, FAR, logistic, None),
    "tanh": (np.tanh, FAR, sech2, None),
    "softplus": (nbgrad.softplus, FAR, sigma, None),
    "expm1": (np.expm1, FAR, mp.exp, None),
    "exp": (np.exp, FAR, mp.exp, None),
    "exp2": (np.exp2, FAR, lambda x: mp.log(2) * mp.mpf(2) ** x, None),
    "sinh": (np.sinh, FAR, mp.cosh, None),
    "cosh": (np.cosh, FAR, mp.sinh, None),
    "log1p": (np.log1p, INSIDE, lambda x: 1 / (1 + x), None),
    "log": (np.log, POSITIVE, lambda x: 1 / x, None),
    "log2": (np.log2, POSITIVE, lambda x: 1 / (x * mp.log(2)), None),
    "log10": (np.log10, POSITIVE, lambda x: 1 / (x * mp.log(10)), None),
    "sqrt": (np.sqrt, POSITIVE, lambda x: 1 / (2 * mp.sqrt(x)), None),
    "cbrt": (np.cbrt, POSITIVE, lambda x: 1 / (3 * mp.cbrt(x) ** 2), None),
    "reciprocal": (np.reciprocal, np.geomspace(1e-15, 1e15, 41), lambda x: -1 / (x * x), None),
    "arcsin": (np.arcsin, INSIDE, lambda x: 1 / mp.sqrt(1 - x * x), None),
    "arccos": (np.arccos, INSIDE, lambda x: -1 / mp.sqrt(1 - x * x), None),
    "arctanh": (np.arctanh, INSIDE, lambda x: 1 / (1 - x * x), None),
    "arctan": (np.arctan, np.geomspace(1e-15, 1e15, 41), lambda x: 1 / (1 + x * x), None),
    "arcsinh": (np.arcsinh, POSITIVE, lambda x: 1 / mp.sqrt(1 + x * x), None),
    "arccosh": (np.arccosh, 1.0 + np.geomspace(1e-5, 1e15, 31),
                lambda x: 1 / mp.sqrt((x - 1) * (x + 1)), None),
    "tan": (np.tan, np.linspace(-1.5, 1.5, 31), lambda x: 1 / mp.cos(x) ** 2, None),
    "sinc": (np.sinc, np.geomspace(1e-9, 0.9, 61), sinc_slope, None),
    "erf": (nbgrad.erf, FAR, lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x), lambda x: x * x),
    "gelu": (nbgrad.gelu, np.abs(FAR), lambda x: mp.ncdf(x) + x * bell(x), lambda x: x * x),
    "gelu, left": (nbgrad.gelu, np.linspace(-12.0, -1.0, 23),
                   lambda x: mp.ncdf(x) + x * bell(x), lambda x: 4.0 + x * x),
    "elu": (nbgrad.elu, -np.abs(FAR), mp.exp, None),
    "logaddexp": (lambda x: np.logaddexp(x, 0.0), FAR, sigma, None),
    "logaddexp, other": (lambda x: np.logaddexp(0.0, x), FAR, sigma, None),
    "hypot": (lambda x: np.hypot(x, 1.0), POSITIVE, lambda x: x / mp.sqrt(x * x + 1), None),
    "arctan2": (lambda x: np.arctan2(x, 1.0), np.geomspace(1e-15, 1e15, 41),
                lambda x: 1 / (1 + x * x), None),
    "arctan2, other": (lambda x: np.arctan2(1.0, x), np.geomspace(1e-15, 1e15, 41),
                       lambda x: -1 / (1 + x * x), None),
    "erfc": (scipy.special.erfc, FAR, lambda x: -2 / mp.sqrt(mp.pi) * mp.exp(-x * x),
             lambda x: x * x),
    "logaddexp2": (lambda x: np.logaddexp2(x, 0.0), FAR, lambda x: sigma(x * mp.log(2)), np.abs),
    "logaddexp2, other": (lambda x: np.logaddexp2(0.0, x), FAR, lambda x: sigma(x * mp.log(2)),
                          np.abs),
    "sin": (np.sin, np.linspace(-1.5, 1.5, 31), mp.cos, None),
    "cos": (np.cos, np.geomspace(1e-12, 3.0, 31), lambda x: -mp.sin(x), None),
    "power": (lambda x: np.power(x, 2.375), np.geomspace(1e-10, 1e10, 31),
              lambda x: mp.mpf(2.375) * x ** mp.mpf(1.375), None),
    "half_power": (lambda x: np.power(x, 2.5), np.geomspace(1e-10, 1e10, 31),
                   lambda x: mp.mpf(2.5) * x ** mp.mpf(1.5), None),
    "half_power, inverse": (lambda x: np.power(x, -0.5), np.geomspace(1e-10, 1e10, 31),
                            lambda x: mp.mpf(-0.5) * x ** mp.mpf(-1.5), None),
    "power, other": (lambda x: np.power(2.0, x), FAR / 4.0,
                     lambda x: mp.log(2) * mp.mpf(2) ** x, np.abs),
    "integer_power": (lambda x: x**5, np.geomspace(1e-6, 1e6, 31), lambda x: 5 * x**4, None),
    "divide, other": (lambda x: 1.0 / x, np.geomspace(1e-15, 1e15, 41), lambda x: -1 / (x * x),
                      None),
    "xlogy": (lambda x: scipy.special.xlogy(x, 3.0), POSITIVE, lambda x: mp.log(3), None),
    "xlogy, other": (lambda x: scipy.special.xlogy(3.0, x), POSITIVE, lambda x: 3 / x, None),
    "i0": (np.i0, np.geomspace(1e-6, 80.0, 31), lambda x: mp.besseli(1, x), None),
    "i1": (scipy.special.i1, np.geomspace(1e-6, 80.0, 31),
           lambda x: (mp.besseli(0, x) + mp.besseli(2, x)) / 2, None),
    "sigmoid_slope": (elementwise_grad(nbgrad.sigmoid), FAR,
                      lambda x: -logistic(x) * mp.tanh(x / 2), None),
}  # fmt: skip
# Rows whose slopes are constants, choices, or one product or quotient of what they are given.
EASY = set(
    "abs2 absolute add ceil clip copy copysign deg2rad divide fabs floor floor_divide fmax fmin "
    "fmod leaky_relu maximum minimum multiply negative rad2deg relu remainder rint scale sign "
    "square subtract trunc where".split()
)
CURVATURES = {
    "tanh": (np.tanh, FAR, lambda x: -2 * mp.tanh(x) * sech2(x)),
    "softplus": (nbgrad.softplus, FAR, logistic),
}


def check(slope, points, exact, dtype, lost=None):
    x = points.astype(dtype)
    with mpmath.mp.workdps(60):
        wanted = np.array([float(exact(mp.mpf(float(v)))) for v in x])
    info = np.finfo(dtype)
    normal = (np.abs(wanted) > 4 * info.tiny) & (np.abs(wanted) < info.max / 4)
    assert normal.sum() > len(x) // 3
    got = slope(x)
    assert got.dtype == dtype
    room = 16 * info.eps * (1.0 + (0.0 if lost is None else lost(x.astype(float))))
    error = np.abs(got.astype(float)[normal] / wanted[normal] - 1.0)
    worst = np.argmax(error / np.broadcast_to(room, x.shape)[normal])
    assert np.all(error <= np.broadcast_to(room, x.shape)[normal]), (
        f"at {x[normal][worst]!r}: {got[normal][worst]!r} for {wanted[normal][worst]!r}"
    )
    # Beyond the normal numbers: no nan, nothing large.
    small = np.abs(wanted) <= 4 * info.tiny
    assert np.all(np.abs(got[small]) <= 16 * info.tiny)


def test_every_row_has_its_slopes_here():
    # The zeta function of one argument is a row of its own, and one function is made of others.
    special = {*special_slopes.CASES, *special_slopes.OF_SEVERAL, "riemann_zeta"} - {"multigammaln"}
    assert ELEMENTWISE == {name.split(",")[0] for name in SLOPES} | EASY | special


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SLOPES)
def test_slopes_keep_their_digits(name, dtype):
    f, points, exact, lost = SLOPES[name]
    check(elementwise_grad(f), points, exact, dtype, lost)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CURVATURES)
def test_second_derivatives_too(name, dtype):
    f, points, exact = CURVATURES[name]
    check(elementwise_grad(elementwise_grad(f)), points, exact, dtype)


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "sinc"])
def test_compiled_slopes_are_the_same(name):
    f, points, exact, _ = SLOPES[name]
    check(nbgrad.compile(elementwise_grad(f)), points, exact, np.float64)
