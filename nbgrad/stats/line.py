"""Distributions on the whole line."""

import math
from typing import Any

import numpy as np

from ..rules.activation import softplus
from ..special import betaln, expit, log_ndtr, ndtr, stdtr
from .densities import Continuous, chosen, operand, plain

__all__ = ["Cauchy", "Laplace", "Logistic", "Norm", "T"]

_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)


class Norm(Continuous):
    """The normal distribution of mean `loc` and standard deviation `scale`."""

    def standard(self, y):
        return -0.5 * np.square(y) - _LOG_ROOT_2PI

    def logpdf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """-y**2 / 2 - log(sqrt(2 pi) scale), where y = (x - loc) / scale.

        >>> float(nbgrad.stats.norm.logpdf(0.0))
        -0.9189385332046727
        """
        return self.located(x, (), loc, scale)

    def cdf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The probability of at most x.

        >>> float(nbgrad.stats.norm.cdf(0.0))
        0.5
        """
        return self._integral(ndtr, x, loc, scale, 1.0)

    def logcdf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The logarithm of the probability of at most x, also where that is 0 to rounding.

        >>> round(float(nbgrad.stats.norm.logcdf(-40.0)), 9)
        -804.608442014
        """
        return self._integral(log_ndtr, x, loc, scale, 1.0)

    def sf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The probability of more than x, also where `cdf` is 1 to rounding."""
        return self._integral(ndtr, x, loc, scale, -1.0)

    def logsf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The logarithm of the probability of more than x."""
        return self._integral(log_ndtr, x, loc, scale, -1.0)

    def _integral(self, function, x, loc, scale, sign):
        x, loc, scale = operand(x), operand(loc), operand(scale)
        with np.errstate(all="ignore"):
            out = function(sign * (x - loc) / scale)
        return plain(chosen(np.greater(scale, 0), out, np.nan))


class T(Continuous):
    """Student's t distribution of `df` degrees of freedom; the normal one for df = inf."""

    shapes = ("df",)

    def standard(self, y, df):
        normal = np.equal(df, np.inf)
        df = np.where(normal, 1.0, df)
        powers = 0.5 * (df + 1) * np.log1p(np.square(y) / df)
        out = -betaln(0.5 * df, 0.5) - 0.5 * np.log(df) - powers
        return np.where(normal, norm.standard(y), out)

    def below(self, y, df):
        return stdtr(df, y)

    def valid(self, df):
        return np.greater(df, 0)

    def logcdf(self, x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """The logarithm of `cdf`."""
        return np.log(self.cdf(x, df, loc, scale))

    def logpdf(self, x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """-(df + 1) / 2 * log(1 + y**2 / df) - log(B(df / 2, 1 / 2) sqrt(df) scale), where
        y = (x - loc) / scale and B is the beta function.

        >>> round(float(nbgrad.stats.t.logpdf(0.0, 1.0)), 12)  # log(1 / pi)
        -1.144729885849
        """
        return self.located(x, (df,), loc, scale)


class Cauchy(Continuous):
    """The Cauchy distribution around `loc`, of which one half lies within `scale`."""

    def standard(self, y):
        return -math.log(math.pi) - 2.0 * np.log(np.hypot(1.0, y))

    def below(self, y):
        return np.arctan2(1.0, -y) / math.pi

    def logpdf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """-log(pi (1 + y**2) scale), where y = (x - loc) / scale.

        >>> float(nbgrad.stats.cauchy.logpdf(0.0))
        -1.1447298858494002
        """
        return self.located(x, (), loc, scale)


class Laplace(Continuous):
    """The Laplace distribution, of mean deviation `scale` from `loc`."""

    def standard(self, y):
        return -np.abs(y) - math.log(2.0)

    def below(self, y):
        tail = 0.5 * np.exp(-np.abs(y))
        return np.where(np.greater(y, 0), 1.0 - tail, tail)

    def logpdf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """-abs(y) - log(2 scale), where y = (x - loc) / scale; its derivative at y = 0 is 0.

        >>> float(nbgrad.stats.laplace.logpdf(1.0))
        -1.6931471805599454
        """
        return self.located(x, (), loc, scale)


class Logistic(Continuous):
    """The logistic distribution, whose distribution function is the sigmoid of
    (x - loc) / scale."""

    def standard(self, y):
        return -softplus(y) - softplus(-y)

    def below(self, y):
        return expit(y)

    def logpdf(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any:
        """-y - 2 log(1 + exp(-y)) - log(scale), where y = (x - loc) / scale.

        >>> float(nbgrad.stats.logistic.logpdf(0.0))
        -1.3862943611198906
        """
        return self.located(x, (), loc, scale)


norm = Norm()
