"""Scalar functions that kernels call: what one element goes through.

`exp`, `log` and `tanh` are branch-free polynomials, for float64 and float32 apart, so that LLVM
vectorises loops over them; the rest goes through `math`. Each is compiled as a function of its own
flags: a caller that reassociates must not touch a range reduction.
"""

import math
from collections.abc import Callable

import numpy as np
from numba.core import types
from numba.extending import overload

from ._bits import (
    exponent,
    like,
    mantissa,
    offset,
    radd,
    round_even,
    select,
    times_power_of_two,
)
from ._jit import DEVICE_OPTIONS, DISABLED, device

__all__ = [
    "cos", "exp", "floor_divide", "like", "log", "maximum", "minimum", "offset", "radd", "select",
    "sigmoid", "sin", "sqrt", "tanh",
]  # fmt: skip


def by_dtype(twin: Callable, double: Callable, single: Callable) -> Callable:
    """A function that is `double` for float64, `single` for float32, `twin` in plain Python."""
    if DISABLED:
        return twin

    def function(x):
        return twin(x)

    function.__name__ = double.__name__

    @overload(function, jit_options=DEVICE_OPTIONS)  # pyright: ignore[reportArgumentType]
    def choose(x):
        return {types.float64: double, types.float32: single}.get(x)

    return function


F = np.float32
_LOG2E, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 0.6931471803691238, 1.9082149292705877e-10
_LOG2E_F, _LN2_HIGH_F, _LN2_LOW_F = F(1.442695), F(0.693145751953125), F(1.4286068203094173e-06)

# Coefficients: interpolation at Chebyshev nodes of the function in each docstring, computed with 60
# digits; the relative error of the polynomial is below 1e-17 (float64) or 2e-7 of its term.


@device
def _expm1_near_0(r):
    """exp(r) - 1 for |r| < 0.35: r + r**2 times a polynomial for (exp(r) - 1 - r) / r**2."""
    p = 2.09146869680868772e-9
    p = p * r + 2.51052170047207452e-8
    p = p * r + 2.75572736431102953e-7
    p = p * r + 2.75572554002064244e-6
    p = p * r + 0.0000248015873255477412
    p = p * r + 0.000198412698748206253
    p = p * r + 0.00138888888888837483
    p = p * r + 0.00833333333332613513
    p = p * r + 0.0416666666666666698
    p = p * r + 0.16666666666666671
    p = p * r + 0.5
    return p * r * r + r


@device
def _expm1_near_0_single(r):
    p = F(0.001392618359)
    p = p * r + F(0.008363179053)
    p = p * r + F(0.04166655462)
    p = p * r + F(0.1666657699)
    p = p * r + F(0.5)
    return p * r * r + r


def _exp_double(x):
    """exp(x) = 2**k * exp(r), where r = x - k log 2 lies in [-0.35, 0.35]."""
    x = select(x > 710.0, 710.0, select(x < -750.0, -750.0, x))
    k = round_even(x * _LOG2E)
    r = x - k * _LN2_HIGH - k * _LN2_LOW
    return times_power_of_two(_expm1_near_0(r) + 1.0, k)


def _exp_single(x):
    x = select(x > F(89.0), F(89.0), select(x < F(-104.0), F(-104.0), x))
    k = round_even(x * _LOG2E_F)
    r = x - k * _LN2_HIGH_F - k * _LN2_LOW_F
    return times_power_of_two(_expm1_near_0_single(r) + F(1.0), k)


def _log_double(x):
    """log(x) = k log 2 + log(1 + f), s = f / (2 + f); (2 atanh(s) / s - 2) / s**2."""
    tiny = x < 2.2250738585072014e-308
    y = select(tiny, x * 18014398509481984.0, x)
    k = exponent(y) - select(tiny, 54.0, 0.0)
    f = mantissa(y) - 1.0
    s = f / (f + 2.0)
    z = s * s
    p = 0.14616585424888622
    p = p * z + 0.153317106182107716
    p = p * z + 0.18182889455674946
    p = p * z + 0.22222211130259877
    p = p * z + 0.285714286260032687
    p = p * z + 0.399999999998994432
    p = p * z + 0.666666666666666969
    half = 0.5 * f * f
    out = k * _LN2_HIGH - ((half - (s * (half + p * z) + k * _LN2_LOW)) - f)
    out = select(x == np.inf, x, out)
    return select(x > 0.0, out, select(x == 0.0, -np.inf, np.nan))


def _log_single(x):
    tiny = x < F(1.1754944e-38)
    y = select(tiny, x * F(33554432.0), x)
    k = exponent(y) - select(tiny, F(25.0), F(0.0))
    f = mantissa(y) - F(1.0)
    s = f / (f + F(2.0))
    z = s * s
    p = F(0.2333058194)
    p = p * z + F(0.285508166)
    p = p * z + F(0.4000012188)
    p = p * z + F(0.6666666655)
    half = F(0.5) * f * f
    out = k * _LN2_HIGH_F - ((half - (s * (half + p * z) + k * _LN2_LOW_F)) - f)
    out = select(x == F(np.inf), x, out)
    return select(x > F(0.0), out, select(x == F(0.0), F(-np.inf), F(np.nan)))


def _tanh_double(x):
    """t / (t + 2) with t = exp(2 |x|) - 1, built so that no digit is lost near 0."""
    a = abs(x)
    y = select(a > 20.0, 20.0, a) * 2.0
    k = round_even(y * _LOG2E)
    r = y - k * _LN2_HIGH - k * _LN2_LOW
    power = times_power_of_two(1.0, k)
    t = power * _expm1_near_0(r) + (power - 1.0)
    return math.copysign(t / (t + 2.0), x)


def _tanh_single(x):
    a = abs(x)
    y = select(a > F(10.0), F(10.0), a) * F(2.0)
    k = round_even(y * _LOG2E_F)
    r = y - k * _LN2_HIGH_F - k * _LN2_LOW_F
    power = times_power_of_two(F(1.0), k)
    t = power * _expm1_near_0_single(r) + (power - F(1.0))
    return math.copysign(t / (t + F(2.0)), x)


exp = by_dtype(np.exp, _exp_double, _exp_single)
log = by_dtype(np.log, _log_double, _log_single)
tanh = by_dtype(np.tanh, _tanh_double, _tanh_single)
sin, cos, sqrt = (np.sin, np.cos, np.sqrt) if DISABLED else (math.sin, math.cos, math.sqrt)


@device
def maximum(x, y):
    """The larger of two; nan where one is nan."""
    return select(x >= y, x, select(x == x, y, x))


@device
def minimum(x, y):
    """The smaller of two; nan where one is nan."""
    return select(x <= y, x, select(x == x, y, x))


@device
def sigmoid(x):
    """1 / (1 + exp(-x)), without overflow for any finite x."""
    one = like(x, 1.0)
    e = exp(-abs(x))
    return select(x >= like(x, 0.0), one, e) / (one + e)


@device
def floor_divide(x, y):
    """floor(x / y), also where x / y rounds up to the next integer, as NumPy has it."""
    zero, one = like(x, 0.0), like(x, 1.0)
    rest = np.fmod(x, y)
    quotient = (x - rest) / y
    quotient = quotient - select((rest != zero) & ((y < zero) != (rest < zero)), one, zero)
    whole = np.floor(quotient)
    whole = whole + select(quotient - whole > like(x, 0.5), one, zero)
    return select(y == zero, x / y, whole)
