"""Scalar functions that kernels call for each element.

Those of `area`, `bessel`, `bessel_j`, `cube`, `exponential`, `gaussian`, `inverse`, `logarithm`,
`loggamma`, `power`, `root` and `trig` are branch-free polynomials for float64 and float32, so that
LLVM vectorises loops over them; the rest goes through NumPy's names for the C library.
Each is compiled as a function of its own flags: a caller that reassociates must not touch a range
reduction.
"""

import math

import numpy as np

from ...compiler.kernel import DISABLED, device
from ...ir.functions import declare
from . import bessel as _bessel
from . import bessel_j as _bessel_j
from . import gaussian as _gaussian
from . import incomplete as _incomplete
from . import loggamma as _loggamma
from . import power as _power
from . import special as _special
from .area import arccosh, arcsinh, arctanh
from .bessel import bessel_i0, bessel_i0e, bessel_i1, bessel_i1e
from .bessel_j import bessel_j0, bessel_j1, near_bessel_j0, near_bessel_j1
from .bits import fused, like, offset, radd, scalar, select
from .cube import cbrt
from .exponential import cosh, exp, exp2, expm1, sigmoid, sigmoid_slope, sinh, tanh
from .gaussian import erf, erfc, erfcx, log_ndtr, ndtr
from .incomplete import (
    beta_parts,
    betaincinv,
    binomial_quantile,
    gamma_parts,
    gammaincinv,
    poisson_quantile,
)
from .inverse import arccos, arcsin, arctan, arctan2
from .logarithm import log, log1p, log2, log10, logaddexp, logaddexp2
from .loggamma import digamma, is_negative, lgamma, near_digamma, near_lgamma
from .power import power, power_slope
from .root import rsqrt
from .special import (
    bessel_iv,
    bessel_ive,
    bessel_jv,
    bessel_k0,
    bessel_k0e,
    bessel_k1,
    bessel_k1e,
    bessel_kv,
    bessel_kve,
    bessel_y0,
    bessel_y1,
    bessel_yv,
    beta,
    betainc,
    betaln,
    boxcox,
    boxcox1p,
    erfcinv,
    erfinv,
    exp1,
    expi,
    gamma,
    gammainc,
    gammaincc,
    hurwitz,
    inv_boxcox,
    inv_boxcox1p,
    lambertw,
    log1p_rest,
    ndtri,
    rgamma,
    riemann,
    stdtr,
    whole_hurwitz,
)
from .trig import cos, is_far, near_cos, near_sin, near_sinc, near_tan, sin, sinc, tan

__all__ = [
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "bessel_i0",
    "bessel_i0e",
    "bessel_i1",
    "bessel_i1e",
    "bessel_iv",
    "bessel_ive",
    "bessel_j0",
    "bessel_j1",
    "bessel_jv",
    "bessel_k0",
    "bessel_k0e",
    "bessel_k1",
    "bessel_k1e",
    "bessel_kv",
    "bessel_kve",
    "bessel_y0",
    "bessel_y1",
    "bessel_yv",
    "beta",
    "beta_parts",
    "betainc",
    "betaincinv",
    "betaln",
    "binomial_quantile",
    "boxcox",
    "boxcox1p",
    "cbrt",
    "cos",
    "cosh",
    "digamma",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp1",
    "exp2",
    "expi",
    "expm1",
    "floor_divide",
    "fmax",
    "fmin",
    "fused",
    "gamma",
    "gamma_parts",
    "gammainc",
    "gammaincc",
    "gammaincinv",
    "hurwitz",
    "hypot",
    "inv_boxcox",
    "inv_boxcox1p",
    "is_far",
    "is_negative",
    "lambertw",
    "lgamma",
    "like",
    "log",
    "log1p",
    "log1p_rest",
    "log2",
    "log10",
    "log_ndtr",
    "logaddexp",
    "logaddexp2",
    "maximum",
    "minimum",
    "ndtr",
    "ndtri",
    "near_bessel_j0",
    "near_bessel_j1",
    "near_cos",
    "near_digamma",
    "near_lgamma",
    "near_sin",
    "near_sinc",
    "near_tan",
    "offset",
    "poisson_quantile",
    "power",
    "power_slope",
    "radd",
    "rgamma",
    "riemann",
    "rsqrt",
    "select",
    "sigmoid",
    "sigmoid_slope",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "stdtr",
    "tan",
    "tanh",
    "whole_hurwitz",
    "whole_power",
]  # fmt: skip

sqrt = np.sqrt if DISABLED else math.sqrt


@device
def whole_power(x, y):
    """x ** y of integers, modulo 2**64."""
    return x**y


@device
def maximum(x, y):
    """The larger of two, the second of equal ones, which are zeros; nan where one is nan."""
    return select(x > y, x, select(x == x, y, x))


@device
def minimum(x, y):
    """The smaller of two, the second of equal ones, which are zeros; nan where one is nan."""
    return select(x < y, x, select(x == x, y, x))


@device
def fmax(x, y):
    """The larger of two; the other where one is nan."""
    return select(x >= y, x, select(y == y, y, x))


@device
def fmin(x, y):
    """The smaller of two; the other where one is nan."""
    return select(x <= y, x, select(y == y, y, x))


@device
def floor_divide(x, y):
    """floor(x / y), also where x / y rounds up to the next integer, as NumPy has it."""
    zero, one = like(x, 0.0), like(x, 1.0)
    rest = np.fmod(x, y)
    quotient = (x - rest) / y
    quotient = quotient - select((rest != zero) & ((y < zero) != (rest < zero)), one, zero)
    whole = np.floor(quotient)
    whole = whole + select(quotient - whole > like(x, 0.5), one, zero)
    whole = select(whole == zero, math.copysign(zero, x / y), whole)
    return select(y == zero, x / y, whole)


@scalar(np.hypot)
def hypot(x, y):
    """sqrt(x * x + y * y) without overflow: the larger side times a root between 1 and sqrt(2)."""
    zero, infinity = like(x, 0.0), like(x, np.inf)
    large, small = maximum(abs(x), abs(y)), minimum(abs(x), abs(y))
    ratio = small / select(large == zero, like(x, 1.0), large)
    out = large * math.sqrt(ratio * ratio + like(x, 1.0))
    return select((abs(x) == infinity) | (abs(y) == infinity), infinity, out)


@scalar(np.remainder, inlined=False)
def modulo(x, y):
    """The rest of a division, with the sign of the divisor."""
    rest = np.fmod(x, y)
    zero = like(x, 0.0)
    rest = rest + select((rest != zero) & ((y < zero) != (rest < zero)), y, zero)
    return select(rest == zero, math.copysign(zero, y), rest)


for _price, _module, _names in (
    (30, _bessel, _bessel.__all__),
    (30, _gaussian, _gaussian.__all__),
    (100, _special, _special.__all__),
    (200, _incomplete, _incomplete.__all__),
    (30, _power, ("power_slope",)),
):
    for _name in _names:
        _function = getattr(_module, _name)
        declare(_name, getattr(_function, "twin", _function), _price)
for _module, _name, _far in (
    (_loggamma, "digamma", "is_negative"), (_loggamma, "lgamma", "is_negative"),
    (_bessel_j, "bessel_j0", "is_far"), (_bessel_j, "bessel_j1", "is_far"),
):  # fmt: skip
    _function = getattr(_module, _name)
    declare(_name, getattr(_function, "twin", _function), 60, near=f"near_{_name}", far=_far)
