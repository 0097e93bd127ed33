"""Box-Cox transformations and their inverses."""

from typing import Any

import numpy as np

from ..families import Interval, positive, scipy_function

powers = Interval(-0.4, 0.7)  # around 0
values = Interval(-1.0, 1.2)


def _series(t, terms):
    total = 0.0
    for number in reversed(terms):
        total = number + t * total
    return total


def _transformed(log, power, out):
    """The derivative of expm1(power * log) / power in the power; a series for small powers."""
    u = power * log
    near = np.where(u == u, abs(u) < 0.5, False)
    numbers, number = [], 0.5
    for k in range(15):
        numbers.append(number)
        number *= (k + 2) / ((k + 1) * (k + 3))
    series = log * log * _series(np.where(near, u, 0.0), numbers)
    shrunk = np.where(log == -np.inf, 0.0, np.exp(u) * np.where(log == -np.inf, 0.0, log))
    return np.where(near, series, (shrunk - out) / np.where(power == 0, 1.0, power))


def _inverted(y, power, grown):
    """The derivative of grown = (1 + power * y)**(1 / power) in the power; a series for small
    powers."""
    t = power * y
    near = abs(t) < 0.2
    series = -y * y * _series(np.where(near, -t, 0.0), [(k + 1) / (k + 2) for k in range(24)])
    safe = np.where(near, 1.0, power)
    slope = (y / (1 + t) - np.log1p(np.where(t > -1, t, 0.0)) / safe) / safe
    return grown * np.where(near, series, slope)


@scipy_function(
    "boxcox(x, y)", [positive, powers],
    lambda x, power, out: x ** (power - 1),
    lambda x, power, out: _transformed(np.log(x), power, out),
    notes="(x**power - 1) / power, and log(x) for a power of 0, with the limit of its slope",
)  # fmt: skip
def boxcox(x, lmbda) -> Any:
    """(x**lmbda - 1) / lmbda, elementwise, and log(x) where lmbda is 0.

    >>> float(nbgrad.special.boxcox(3.0, 1.0))
    2.0
    """


@scipy_function(
    "boxcox1p(x, y)", [Interval(-0.6, 2.0), powers],
    lambda x, power, out: np.exp((power - 1) * np.log1p(x)),
    lambda x, power, out: _transformed(np.log1p(x), power, out),
    notes="boxcox of 1 + x, accurate near 0",
)  # fmt: skip
def boxcox1p(x, lmbda) -> Any:
    """boxcox(1 + x, lmbda), elementwise, accurate near 0.

    >>> round(float(nbgrad.special.boxcox1p(1.0, 0.5)), 6)
    0.828427
    """


@scipy_function(
    "inv_boxcox(x, y)", [values, powers],
    lambda x, power, out: out / (1 + power * x),
    lambda x, power, out: _inverted(x, power, out),
    notes="(1 + power * x)**(1 / power), and exp(x) for a power of 0",
)  # fmt: skip
def inv_boxcox(y, lmbda) -> Any:
    """The inverse of `boxcox` in its first argument, elementwise.

    >>> round(float(nbgrad.special.inv_boxcox(1.0, 0.5)), 6)
    2.25
    """


@scipy_function(
    "inv_boxcox1p(x, y)", [values, powers],
    lambda x, power, out: (1 + out) / (1 + power * x),
    lambda x, power, out: _inverted(x, power, 1 + out),
    notes="inv_boxcox minus 1, accurate near 0",
)  # fmt: skip
def inv_boxcox1p(y, lmbda) -> Any:
    """The inverse of `boxcox1p` in its first argument, elementwise.

    >>> round(float(nbgrad.special.inv_boxcox1p(1.0, 0.5)), 6)
    1.25
    """
