"""The transformations of Box and Cox, and their inverses."""

import numpy as np

from ...core.array import implements
from ...core.primitive import bind
from ..families import Interval, elementwise, positive

# The power, at and around 0.
powers = Interval(-0.4, 0.7)


def _series(t, terms):
    total = 0.0
    for number in reversed(terms):
        total = number + t * total
    return total


def _transformed(log, power, out):
    """The slope of expm1(power * log) / power in the power; near 0 by its series."""
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
    """The slope of grown = (1 + power * y)**(1 / power) in the power; near 0 by its series."""
    t = power * y
    near = abs(t) < 0.2
    series = -y * y * _series(np.where(near, -t, 0.0), [(k + 1) / (k + 2) for k in range(24)])
    safe = np.where(near, 1.0, power)
    slope = (y / (1 + t) - np.log1p(np.where(t > -1, t, 0.0)) / safe) / safe
    return grown * np.where(near, series, slope)


boxcox_row = elementwise(
    None, "boxcox(x, y)",
    [lambda x, power, out: x ** (power - 1),
     lambda x, power, out: _transformed(np.log(x), power, out)],
    domains=[positive, powers], name="boxcox", reference="scipy.special.boxcox",
    notes="(x**power - 1) / power, and log(x) for a power of 0, with the limit of its slope",
)  # fmt: skip
boxcox1p_row = elementwise(
    None, "boxcox1p(x, y)",
    [lambda x, power, out: np.exp((power - 1) * np.log1p(x)),
     lambda x, power, out: _transformed(np.log1p(x), power, out)],
    domains=[Interval(-0.6, 2.0), powers], name="boxcox1p", reference="scipy.special.boxcox1p",
    notes="boxcox of 1 + x, accurate near 0",
)  # fmt: skip
inv_boxcox_row = elementwise(
    None, "inv_boxcox(x, y)",
    [lambda x, power, out: out / (1 + power * x),
     lambda x, power, out: _inverted(x, power, out)],
    domains=[Interval(-1.0, 1.2), powers], name="inv_boxcox", reference="scipy.special.inv_boxcox",
    notes="(1 + power * x)**(1 / power), and exp(x) for a power of 0",
)  # fmt: skip
inv_boxcox1p_row = elementwise(
    None, "inv_boxcox1p(x, y)",
    [lambda x, power, out: (1 + out) / (1 + power * x),
     lambda x, power, out: _inverted(x, power, 1 + out)],
    domains=[Interval(-1.0, 1.2), powers], name="inv_boxcox1p",
    reference="scipy.special.inv_boxcox1p", notes="inv_boxcox less 1, accurate near 0",
)  # fmt: skip


@implements("scipy.special.boxcox")
def boxcox(x, lmbda):
    """(x**lmbda - 1) / lmbda, elementwise, and log(x) where lmbda is 0.

    >>> float(nbgrad.special.boxcox(3.0, 1.0))
    2.0
    """
    return bind(boxcox_row, x, lmbda)


@implements("scipy.special.boxcox1p")
def boxcox1p(x, lmbda):
    """boxcox(1 + x, lmbda), elementwise, accurate near 0."""
    return bind(boxcox1p_row, x, lmbda)


@implements("scipy.special.inv_boxcox")
def inv_boxcox(y, lmbda):
    """The x of which boxcox(x, lmbda) is y, elementwise."""
    return bind(inv_boxcox_row, y, lmbda)


@implements("scipy.special.inv_boxcox1p")
def inv_boxcox1p(y, lmbda):
    """The x of which boxcox1p(x, lmbda) is y, elementwise."""
    return bind(inv_boxcox1p_row, y, lmbda)
