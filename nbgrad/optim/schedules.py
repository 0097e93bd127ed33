"""Rates that change: functions of how many updates were made before, 0 at the first one.

They are made of NumPy functions, so that a compiled step takes them too. Any function of that kind
is a schedule.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Schedule: TypeAlias = Callable[[Any], Any]
Rate: TypeAlias = float | Schedule


def rate_at(rate: Rate, step: Any) -> Any:
    """The rate of an update."""
    return rate(step) if callable(rate) else rate


def constant(rate: float) -> Schedule:
    """The same rate always."""
    return lambda step: rate


def stepwise(rate: float, factor: float, every: int) -> Schedule:
    """rate * factor**k after k times `every` updates.

    >>> [float(nbgrad.optim.stepwise(1.0, 0.1, 2)(step)) for step in range(4)]
    [1.0, 1.0, 0.1, 0.1]
    """
    _positive("stepwise", every)
    return lambda step: rate * factor ** np.floor(step / every)


def exponential(rate: float, factor: float, every: int = 1) -> Schedule:
    """rate * factor**(step / every)."""
    _positive("exponential", every)
    return lambda step: rate * factor ** (step / every)


def cosine(rate: float, steps: int, final: float = 0.0) -> Schedule:
    """From `rate` down to `final` in `steps` updates along half a cosine, and `final` then.

    >>> [round(float(nbgrad.optim.cosine(1.0, 4)(step)), 3) for step in (0, 2, 4, 9)]
    [1.0, 0.5, 0.0, 0.0]
    """
    _positive("cosine", steps)
    half = 0.5 * (rate - final)
    return lambda step: final + half * (1.0 + np.cos(np.pi * np.minimum(step / steps, 1.0)))


def warmup(rate: Rate, steps: int) -> Schedule:
    """A rate or schedule, of which the first `steps` updates take a share that grows evenly:
    1 / steps of it first, all of it from the last of them on.

    >>> [float(nbgrad.optim.warmup(1.0, 4)(step)) for step in (0, 1, 3, 9)]
    [0.25, 0.5, 1.0, 1.0]
    """
    _positive("warmup", steps)
    return lambda step: rate_at(rate, step) * np.minimum((step + 1.0) / steps, 1.0)


def _positive(name: str, steps: int) -> None:
    if not steps > 0:
        raise ValueError(f"{name}: {steps} updates; give one or more")
