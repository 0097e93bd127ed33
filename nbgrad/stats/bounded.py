"""Distributions on the half line, and on the unit interval."""

import math
from typing import Any

import numpy as np

from ..special import betainc, betaln, gammainc, gammaln, ndtr, xlog1py, xlogy
from .densities import Continuous
from .line import norm

__all__ = ["Beta", "Chi2", "Expon", "Gamma", "Lognorm"]


class _Positive(Continuous):
    """Distributions on y >= 0, with positive shape parameters."""

    def outside(self, y, *shapes):
        return np.less(y, 0)

    def valid(self, *shapes):
        return np.greater(shapes[0], 0) if shapes else True


class Expon(_Positive):
    """The exponential distribution from `loc` on, of rate 1 / scale."""

    def standard(self, y):
        return -y

    def below(self, y):
        return -np.expm1(-y)

    def logpdf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """-y - log(scale), where y = (x - loc) / scale; -inf for y < 0.

        >>> float(nbgrad.stats.expon.logpdf(2.0, scale=0.5))  # log(2) - 4
        -3.3068528194400546
        """
        return self.located(x, (), loc, scale)


class Gamma(_Positive):
    """The gamma distribution of shape `a`, from `loc` on."""

    shapes = ("a",)

    def standard(self, y, a):
        return xlogy(a - 1.0, y) - y - gammaln(a)

    def below(self, y, a):
        return gammainc(a, y)

    def logpdf(self, x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """(a - 1) log(y) - y - log(gamma(a) scale), where y = (x - loc) / scale; -inf for y < 0.

        >>> float(nbgrad.stats.gamma.logpdf(2.0, 1.0))
        -2.0
        """
        return self.located(x, (a,), loc, scale)


class Chi2(_Positive):
    """The chi-squared distribution of `df` degrees of freedom."""

    shapes = ("df",)

    def standard(self, y, df):
        half = 0.5 * df
        return xlogy(half - 1.0, y) - 0.5 * y - gammaln(half) - math.log(2.0) * half

    def below(self, y, df):
        return gammainc(0.5 * df, 0.5 * y)

    def logpdf(self, x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """(df / 2 - 1) log(y) - y / 2 - log(gamma(df / 2) 2**(df / 2) scale), where
        y = (x - loc) / scale; -inf for y < 0.

        >>> float(nbgrad.stats.chi2.logpdf(2.0, 2.0))  # log(1 / 2) - 1
        -1.6931471805599454
        """
        return self.located(x, (df,), loc, scale)


class Lognorm(_Positive):
    """The distribution of exp(s * z), where z is standard normal."""

    shapes = ("s",)

    def standard(self, y, s):
        logarithm = np.log(y)
        return norm.standard(logarithm / s) - np.log(s) - logarithm

    def below(self, y, s):
        return ndtr(np.log(y) / s)

    def outside(self, y, *shapes):
        return np.less_equal(y, 0)

    def logpdf(self, x: Any, s: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """-(log(y) / s)**2 / 2 - log(sqrt(2 pi) s y scale), where y = (x - loc) / scale; -inf for
        y <= 0.

        >>> float(nbgrad.stats.lognorm.logpdf(1.0, 1.0))
        -0.9189385332046727
        """
        return self.located(x, (s,), loc, scale)


class Beta(Continuous):
    """The beta distribution of shapes `a` and `b`, on the interval from `loc` to loc + scale."""

    shapes = "a", "b"

    def standard(self, y, a, b):
        return xlogy(a - 1.0, y) + xlog1py(b - 1.0, -y) - betaln(a, b)

    def below(self, y, a, b):
        return betainc(a, b, y)

    def outside(self, y, *shapes):
        return np.logical_or(np.less(y, 0), np.greater(y, 1))

    def valid(self, a, b):
        return np.logical_and(np.greater(a, 0), np.greater(b, 0))

    def logpdf(self, x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """(a - 1) log(y) + (b - 1) log(1 - y) - log(B(a, b) scale), where y = (x - loc) / scale
        and B is the beta function; -inf outside of [0, 1].

        >>> round(float(nbgrad.stats.beta.logpdf(0.5, 2.0, 2.0)), 12)  # log(6 / 4)
        0.405465108108
        """
        return self.located(x, (a, b), loc, scale)
