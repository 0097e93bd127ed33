"""Arguments for the tests of rows: intervals to draw from, and sample calls."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Interval(NamedTuple):
    """The interval from which tests draw an argument uniformly."""

    low: float
    high: float


class Dominant(Interval):
    """Square matrices of such elements plus 2 on the diagonal, far from singular."""


reals = Interval(-2.5, 2.5)
positive = Interval(0.3, 2.5)
above_one = Interval(1.3, 3.5)
definite = Dominant(-0.4, 0.4)


class Sample(NamedTuple):
    """A call in tests: arguments (shapes of arrays drawn from `domain`, or arrays) and
    parameters."""

    args: tuple[Any, ...]
    params: dict[str, Any]
    domain: Interval = reals


def sample(*args, domain: Interval = reals, **params) -> Sample:
    """A sample call: a tuple of ints is the shape of a random array, other arguments are values."""
    return Sample(args, params, domain)


def in_doubles(name: str) -> Callable:
    """A function of `scipy.special` as a reference, computed in float64 and rounded to the promoted
    dtype. Some of SciPy's loops lose digits in float32 and, up to 1.17, take Python numbers as
    float64."""

    def reference(*args):
        from scipy import special  # imported by tests only

        wide = getattr(special, name)(*(np.asarray(arg, np.float64) for arg in args))
        return wide.astype(np.result_type(*args))

    return reference
