"""R-hat and effective sample sizes of chains.

Vehtari, Gelman, Simpson, Carpenter and Bürkner: Rank-normalization, folding, and localization: an
improved R-hat for assessing convergence of MCMC (Bayesian Analysis 16, 2021). All functions take
arrays whose first two axes are chains and draws, and treat the other axes one by one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.fft import next_fast_len
from scipy.special import ndtri
from scipy.stats import rankdata

from ..errors import DimensionMismatch

_FEWEST = 4
"""Fewer draws have no halves to compare."""


def rhat(draws: Any) -> Any:
    """Return the rank-normalised split R-hat: near 1 if the chains agree with each other and each
    with itself over time; above 1.01 they have not mixed.

    Arguments:
        draws: array of shape (chains, draws, ...).

    Returns an array of shape (...), or a number: the larger one of the R-hat of the ranks and that
    of the distances from the median, which compares spreads. nan for less than 4 draws and for
    draws that are not finite or all equal. Raises ValueError for arrays of less than two axes.

    >>> rng = np.random.default_rng(0)
    >>> chains = rng.normal(size=(4, 500))
    >>> bool(nbgrad.sample.rhat(chains) < 1.01 < nbgrad.sample.rhat(chains + np.arange(4)[:, None]))
    True
    """
    return _each(_rhat, draws, "rhat")


def ess_bulk(draws: Any) -> Any:
    """Return the effective number of draws for the middle of the distribution, such as the mean.

    It is that of the rank-normalised split chains. At least 100 for each chain are recommended.

    Arguments:
        draws: array of shape (chains, draws, ...).

    Returns an array of shape (...), or a number; nan as for `rhat`. Raises ValueError for arrays
    of less than two axes.

    >>> rng = np.random.default_rng(0)
    >>> bool(3000 < nbgrad.sample.ess_bulk(rng.normal(size=(4, 1000))) < 5000)
    True
    """
    return _each(lambda x: _effective(_normalised(_split(x))), draws, "ess_bulk")


def ess_tail(draws: Any) -> Any:
    """Return the effective number of draws for the 5 % and 95 % quantiles, the smaller one.

    Arguments:
        draws: array of shape (chains, draws, ...).

    Returns an array of shape (...), or a number; nan as for `rhat`. Raises ValueError for arrays
    of less than two axes.

    >>> rng = np.random.default_rng(0)
    >>> bool(2000 < nbgrad.sample.ess_tail(rng.normal(size=(4, 1000))) < 6000)
    True
    """
    return _each(_tail, draws, "ess_tail")


def ess_mean(draws: Any) -> Any:
    """Return the effective number of draws for the mean itself, without ranks; as `ess_bulk`."""
    return _each(lambda x: _effective(_split(x)), draws, "ess_mean")


def _each(of_one: Callable[[np.ndarray], float], draws: Any, name: str) -> Any:
    draws = np.asarray(draws, np.float64)
    if draws.ndim < 2:
        raise DimensionMismatch(
            f"nbgrad.sample.{name}: draws of shape {draws.shape}: the first two axes must be "
            "chains and draws; add one, x[None], for a single chain"
        )
    columns = draws.reshape(*draws.shape[:2], -1)
    found = np.array([_of(of_one, columns[..., i]) for i in range(columns.shape[2])])
    return found.reshape(draws.shape[2:])[()]


def _of(of_one: Callable[[np.ndarray], float], x: np.ndarray) -> float:
    if x.size == 0 or x.shape[1] < _FEWEST or not np.isfinite(x).all() or np.ptp(x) == 0.0:
        return np.nan
    return of_one(x)


def _split(x: np.ndarray) -> np.ndarray:
    """Halves of chains as chains, without the middle draw of an odd number."""
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def _normalised(x: np.ndarray) -> np.ndarray:
    """Normal scores of the ranks, by Blom's fractions."""
    return ndtri((rankdata(x).reshape(x.shape) - 0.375) / (x.size + 0.25))


def _rhat(x: np.ndarray) -> float:
    halves = _split(x)
    folded = np.abs(halves - np.median(halves))
    return max(_ratio(_normalised(halves)), _ratio(_normalised(folded)))


def _ratio(x: np.ndarray) -> float:
    """The square root of the pooled variance over the mean variance within chains."""
    n = x.shape[1]
    within = x.var(axis=1, ddof=1).mean()
    between = x.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return np.nan
    return float(np.sqrt((n - 1) / n + between / within))


def _tail(x: np.ndarray) -> float:
    low, high = (x <= np.quantile(x, q) for q in (0.05, 0.95))
    return min(_effective(_split(low.astype(float))), _effective(_split(high.astype(float))))


def _effective(x: np.ndarray) -> float:
    """The number of draws over the autocorrelation time, whose sum ends by Geyer's initial monotone
    sequence of sums of pairs."""
    chains, n = x.shape
    if np.ptp(x) == 0.0:
        return float(x.size)
    covariance = _autocovariance(x).mean(axis=0)
    within = covariance[0] * n / (n - 1)
    pooled = covariance[0] + (x.mean(axis=1).var(ddof=1) if chains > 1 else 0.0)
    correlation = 1.0 - (within - covariance) / pooled
    correlation[0] = 1.0
    pairs = correlation[: (n - 1) // 2 * 2].reshape(-1, 2)
    sums = pairs.sum(axis=1)
    negative = np.flatnonzero(sums[1:] <= 0.0)
    last = int(negative[0]) + 1 if len(negative) else max(len(sums) - 1, 0)
    sums = np.minimum.accumulate(sums[:last])
    # The first term of the next pair reduces the variance of the estimate for antithetic chains.
    beyond = max(pairs[last, 0], 0.0) if last < len(pairs) else 0.0
    time = max(2.0 * sums.sum() - 1.0 + beyond, 1.0 / np.log10(x.size))
    return x.size / time


def _autocovariance(x: np.ndarray) -> np.ndarray:
    n = x.shape[1]
    centred = x - x.mean(axis=1, keepdims=True)
    length = next_fast_len(2 * n, real=True)
    spectrum = np.fft.rfft(centred, length)
    return np.fft.irfft(np.abs(spectrum) ** 2, length)[:, :n] / n
