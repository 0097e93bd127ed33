"""Distributions of counts."""

from typing import Any

import numpy as np

from ..rules.nondiff import stopped
from ..special import gammaincc, gammaln, xlog1py, xlogy
from .densities import Discrete, operand, plain, whole

__all__ = ["Bernoulli", "Binom", "Poisson"]


def _is_share(p: Any) -> Any:
    return np.logical_and(np.greater_equal(p, 0), np.less_equal(p, 1))


class Poisson(Discrete):
    """The Poisson distribution of mean `mu`."""

    def logarithm(self, k, mu):
        return xlogy(k, mu) - gammaln(k + 1.0) - mu

    def valid(self, mu):
        return np.greater_equal(mu, 0)

    def logpmf(self, k: Any, mu: Any, loc: Any = 0) -> Any:
        """k log(mu) - mu - log(k!), of k - loc; -inf if that is not a count. It has a derivative
        in mu only.

        >>> float(nbgrad.stats.poisson.logpmf(0, 2.0))
        -2.0
        """
        return self.located(k, (mu,), loc)

    def cdf(self, k: Any, mu: Any, loc: Any = 0) -> Any:
        """The probability of at most k - loc. It has a derivative in mu only.

        >>> round(float(nbgrad.stats.poisson.cdf(0, 2.0)), 12)  # exp(-2)
        0.135335283237
        """
        k, mu = np.floor(stopped(operand(k)) - stopped(operand(loc))), operand(mu)
        none = np.less(k, 0)
        with np.errstate(all="ignore"):
            out = np.where(none, 0.0, gammaincc(np.where(none, 0.0, k) + 1.0, mu))
        return plain(np.where(self.valid(mu), out, np.nan))


class Binom(Discrete):
    """The binomial distribution of `n` draws with probability `p`."""

    def logarithm(self, k, n, p):
        choices = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
        return choices + xlogy(k, p) + xlog1py(n - k, -p)

    def highest(self, n, p):
        return n

    def valid(self, n, p):
        return np.logical_and(np.logical_and(np.greater_equal(n, 0), whole(n)), _is_share(p))

    def logpmf(self, k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
        """k log(p) + (n - k) log(1 - p) + log(n! / k! / (n - k)!), of k - loc; -inf if that is
        not a count up to n. It has a derivative in p; n is an integer.

        >>> float(nbgrad.stats.binom.logpmf(1, 2, 0.5))
        -0.6931471805599453
        """
        return self.located(k, (n, p), loc)


class Bernoulli(Discrete):
    """The distribution of one draw, which is 1 with probability `p`, else 0."""

    def logarithm(self, k, p):
        return xlogy(k, p) + xlog1py(1.0 - k, -p)

    def highest(self, p):
        return 1.0

    def valid(self, p):
        return _is_share(p)

    def logpmf(self, k: Any, p: Any, loc: Any = 0) -> Any:
        """log(p) for k - loc = 1 and log(1 - p) for 0, else -inf. It has a derivative in p only.

        >>> float(nbgrad.stats.bernoulli.logpmf(1, 0.25))
        -1.3862943611198906
        """
        return self.located(k, (p,), loc)
