"""Learning-rate schedules: functions of the number of previous updates.

Any such function is a schedule. In a compiled step it must consist of NumPy functions.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ..errors import ArgumentError

Schedule: TypeAlias = Callable[[Any], Any]
Rate: TypeAlias = float | Schedule


def rate_at(rate: Rate, step: Any) -> Any:
    """Return the rate of an update."""
    return rate(step) if callable(rate) else rate


def constant(rate: float) -> Schedule:
    """Return a constant schedule.

    >>> nbgrad.optim.constant(0.1)(7)
    0.1
    """
    return lambda step: rate


def stepwise(rate: float, factor: float, every: int) -> Schedule:
    """Return the schedule rate * factor**k, where k is the integer part of step / every.

    >>> [float(nbgrad.optim.stepwise(1.0, 0.1, 2)(step)) for step in range(4)]
    [1.0, 1.0, 0.1, 0.1]
    """
    _positive("stepwise", every)
    return lambda step: rate * factor ** np.floor(step / every)


def exponential(rate: float, factor: float, every: int = 1) -> Schedule:
    """Return the schedule rate * factor**(step / every).

    >>> round(float(nbgrad.optim.exponential(1.0, 0.5, every=10)(20)), 6)
    0.25
    """
    _positive("exponential", every)
    return lambda step: rate * factor ** (step / every)


def cosine(rate: float, steps: int, final: float = 0.0) -> Schedule:
    """Return a schedule that decreases from `rate` to `final` along half a cosine in `steps`.

    >>> [round(float(nbgrad.optim.cosine(1.0, 4)(step)), 3) for step in (0, 2, 4, 9)]
    [1.0, 0.5, 0.0, 0.0]
    """
    _positive("cosine", steps)
    half = 0.5 * (rate - final)
    return lambda step: final + half * (1.0 + np.cos(np.pi * np.minimum(step / steps, 1.0)))


def warmup(rate: Rate, steps: int) -> Schedule:
    """Return a schedule that increases linearly to `rate`, a number or schedule, in `steps`.

    >>> [float(nbgrad.optim.warmup(1.0, 4)(step)) for step in (0, 1, 3, 9)]
    [0.25, 0.5, 1.0, 1.0]
    """
    _positive("warmup", steps)
    return lambda step: rate_at(rate, step) * np.minimum((step + 1.0) / steps, 1.0)


def _positive(name: str, steps: int) -> None:
    if not steps > 0:
        raise ArgumentError(f"{name}: {steps} updates; there must be at least one")
