"""W13: the price of an Asian option by Monte Carlo, and how it changes with what is assumed.

The function for every library, what it is differentiated at, and its gradient by hand in NumPy and
in Numba: the slope of a path in a step is that path times how many steps are left, so that no sum
runs backwards.
"""

from collections.abc import Callable
from math import sqrt

import numpy as np

from .hand_loops import summing
from .sizes import DATES, PATHS, STRIKE

_STEP = 1 / DATES


def asian(lib, price, rate, spread, draws):
    np = lib.np
    steps = (rate - 0.5 * spread * spread) * _STEP + spread * sqrt(_STEP) * draws
    paths = price * np.exp(np.cumsum(steps, 1))
    payoff = lib.relu(np.mean(paths, 1) - STRIKE)
    return np.exp(-rate) * np.mean(payoff)


def parameters(dtype: type = np.float64) -> list:
    return [np.array(number, dtype) for number in (100.0, 0.05, 0.2)]


def data(dtype: type = np.float64) -> list:
    return [np.random.default_rng(7).normal(size=(PATHS, DATES)).astype(dtype)]


def by_hand(parameters, data):
    (price, rate, spread), (draws,) = map(float, parameters), data
    sums, paths = np.empty_like(draws), np.empty_like(draws)
    dates = np.arange(1, DATES + 1, dtype=draws.dtype)
    drift = ((rate - 0.5 * spread * spread) * _STEP * dates).astype(draws.dtype)

    def run():
        np.cumsum(draws, axis=1, out=sums)
        np.multiply(sums, draws.dtype.type(spread * sqrt(_STEP)), out=paths)
        np.add(paths, drift, out=paths)
        np.exp(paths, out=paths)
        means = paths.mean(1)
        live = price * means > STRIKE
        discount = np.exp(-rate) / PATHS
        value = discount * np.sum(price * means[live] - STRIKE)
        share = np.where(live, draws.dtype.type(discount * price / DATES), draws.dtype.type(0.0))
        times = np.dot(share @ paths, dates) * _STEP
        np.multiply(paths, sums, out=paths)
        moved = np.sum(share @ paths) * sqrt(_STEP)
        slopes = [discount * np.sum(means[live]), times - value, moved - spread * times]
        return value, slopes

    return run


def by_numba(exp: Callable) -> Callable:
    """The same as compiled code, with this exponential."""

    @summing
    def run(price, rate, spread, draws):
        drift, width = (rate - 0.5 * spread * spread) * _STEP, spread * sqrt(_STEP)
        sums, path = np.empty(DATES), np.empty(DATES)
        value = price_bar = times = moved = 0.0
        for i in range(PATHS):
            total = 0.0
            for j in range(DATES):
                total += draws[i, j]
                sums[j] = total
            mean = 0.0
            for j in range(DATES):
                path[j] = exp(drift * (j + 1) + width * sums[j])
                mean += path[j]
            mean /= DATES
            if price * mean > STRIKE:
                value += price * mean - STRIKE
                price_bar += mean
                for j in range(DATES):
                    times += (j + 1) * path[j]
                    moved += sums[j] * path[j]
        discount = np.exp(-rate) / PATHS
        value *= discount
        times *= discount * price / DATES * _STEP
        moved *= discount * price / DATES * sqrt(_STEP)
        return value, discount * price_bar, times - value, moved - spread * times

    return run
