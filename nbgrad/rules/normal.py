"""The normal distribution function and scaled error functions."""

import math

import numpy as np

from ..core.array import apply, implements
from .families import elementwise, reals

_ROOT_HALF = math.sqrt(0.5)
_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
_ONE_OVER_ROOT_2PI = 1 / math.sqrt(2 * math.pi)


def _erfcx_slope(x, out):
    """2 x erfcx(x) - 2 / sqrt(pi); where that cancels, the asymptotic series (DLMF 7.12.1)."""
    far = np.where(x > 25.0, x, np.inf)
    t = 0.5 / far / far
    series = 1.0
    for k in range(17, 1, -2):
        series = 1 - k * t * series
    series = -0.5 * _TWO_OVER_ROOT_PI * series * (t + t)
    return np.where(x > 25.0, series, 2 * x * out - _TWO_OVER_ROOT_PI)


erfcx_row = elementwise(
    None, "erfcx(x)", [_erfcx_slope], domains=[reals], name="erfcx",
    reference="scipy.special.erfcx", notes="exp(x * x) * erfc(x)",
)  # fmt: skip
ndtr_row = elementwise(
    None, "ndtr(x)", [lambda x, out: _ONE_OVER_ROOT_2PI * np.exp(-0.5 * x * x)], domains=[reals],
    name="ndtr", reference="scipy.special.ndtr",
)  # fmt: skip
log_ndtr_row = elementwise(
    None, "log_ndtr(x)", [lambda x, out: _ROOT_TWO_OVER_PI / erfcx(-_ROOT_HALF * x)],
    domains=[reals], name="log_ndtr", reference="scipy.special.log_ndtr",
)  # fmt: skip


@implements("scipy.special.erfcx")
def erfcx(x):
    """exp(x * x) * erfc(x), elementwise, where the factors overflow and vanish.

    >>> float(nbgrad.special.erfcx(0.0))
    1.0
    """
    return apply(erfcx_row, x)


@implements("scipy.special.ndtr")
def ndtr(x):
    """The distribution function of the standard normal, elementwise."""
    return apply(ndtr_row, x)


@implements("scipy.special.log_ndtr")
def log_ndtr(x):
    """log(ndtr(x)), elementwise, also where ndtr(x) is 0; its derivative is the inverse
    of Mills' ratio at -x.

    >>> float(nbgrad.special.log_ndtr(0.0))  # log(1 / 2)
    -0.6931471805599453
    """
    return apply(log_ndtr_row, x)
